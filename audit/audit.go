// Package audit is THE DIFFERENCE between what should be and what is: a fold
// over the facts of live keys that yields findings, figures per entry and
// suggestions for keys that are not declared.
//
// It is pure: it asks no server and no clock, and it does not know where keys
// come from. Memory is bounded whatever the number of keys: counters per entry,
// a few examples and the largest keys, a histogram of TTLs, and a sketch of
// undeclared keys with a fixed number of nodes. It never keeps or shows values.
//
// API: may change until 1.0.
package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/group"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/source"
)

// Options say what to look at and how much to keep.
type Options struct {
	Include  []string // entry names, names of an entry's keys, or key globs; none: everything
	Exclude  []string // likewise
	Examples int      // keys kept per finding; 0: 5
	Top      int      // largest keys kept; 0: 10
	Groups   int      // groups of undeclared keys kept; 0: 50
	By       Rank     // what is large; "": ByBytes
	Plain    bool     // no suggestions for undeclared keys
	Values   bool     // check values against their declared types
	Whole    bool     // with Values: all of every value, not a sample of large ones
	MinKeys  int64    // fewer keys than that, or none after Include and Exclude, are a finding; 0: neither
	// Schema answers the check of a JSON Schema file; nil: JSON is only checked
	// for being JSON.
	Schema func(file string) (func([]byte) error, error)
	// Offender gets every key that is not as declared, once with all its codes, as it
	// is met; nil: not asked for. The codes and the key are valid until it returns.
	Offender func(codes []string, entry string, k *source.Key)
	// Grace is how much longer than allowed a TTL may be, for clocks and
	// rounding; 0: one second.
	Grace time.Duration
}

// Audit represents one fold. It is not safe for concurrent use.
type Audit struct {
	ks      *keyspace.Keyspace
	opt     Options
	matcher *match.Matcher
	items   []match.Item
	targets []keyspace.Target
	stats   []*stat // per item of the matcher
	stray   stat    // undeclared keys outside of owns
	filter  filter
	sketch  *sketch
	top     topList
	total   figures
	skipped int64
	checks  map[*keyspace.Key]*valueCheck
	open    map[string]*valueReading // values of which a part has come, at most one for each shard and group
	reading valueReading
	notes   []string
	told    []string // the codes of the key at hand
}

// New prepares the audit of a keyspace.
func New(ks *keyspace.Keyspace, opt Options) (*Audit, error) {
	if opt.Examples == 0 {
		opt.Examples = 5
	}
	if opt.Top == 0 {
		opt.Top = 10
	}
	if opt.Groups == 0 {
		opt.Groups = 50
	}
	if opt.Grace == 0 {
		opt.Grace = time.Second
	}
	a := &Audit{ks: ks, opt: opt, checks: map[*keyspace.Key]*valueCheck{}, open: map[string]*valueReading{}}
	var items []match.Item
	items, a.targets = ks.Items()
	a.items = items
	var err error
	if a.matcher, _, err = match.Compile(items); err != nil {
		return nil, err
	}
	if a.filter, err = newFilter(ks, opt); err != nil {
		return nil, err
	}
	a.stats = make([]*stat, len(items))
	for i := range a.stats {
		a.stats[i] = &stat{}
		if k := a.targets[i].Key; k != nil {
			a.stats[i].kind = kinds[k.Kind]
			a.stats[i].ttl = limits(k.TTL, opt.Grace)
			a.stats[i].long = maxLength(k)
		}
	}
	a.sketch = newSketch(ks)
	a.top.size, a.top.rank = opt.Top, ranks[cmp.Or(opt.By, ByBytes)]
	if a.top.rank == nil {
		return nil, fmt.Errorf("keys cannot be ranked by %q", opt.By)
	}
	if opt.Values {
		a.prepareValues()
	}
	return a, nil
}

// kinds translates the declared type to the observed one.
var kinds = map[keyspace.Kind]source.Kind{
	keyspace.String: source.String, keyspace.Hash: source.Hash, keyspace.List: source.List,
	keyspace.Set: source.Set, keyspace.ZSet: source.ZSet, keyspace.Stream: source.Stream,
}

// Run feeds everything src yields into the audit and reports. When src fails or
// ctx ends, the report covers what was seen, and says so.
func (a *Audit) Run(ctx context.Context, src source.Source, req source.Request) (*Report, error) {
	sum, err := a.Scan(ctx, src, req)
	if sum.Endpoint == "" && err != nil {
		return nil, err
	}
	return a.Report(sum, Sampled(req, sum)), err
}

// Sampled reports whether a source was asked for a sample and has given one: of fewer keys than
// that it gives all.
func Sampled(req source.Request, sum source.Summary) bool {
	return req.Sample > 0 && (sum.Expected == 0 || req.Sample < sum.Expected)
}

// Scan feeds everything src yields into the audit.
func (a *Audit) Scan(ctx context.Context, src source.Source, req source.Request) (source.Summary, error) {
	a.request(&req)
	return src.Scan(ctx, req, func(keys []source.Key) error {
		a.Add(keys)
		return nil
	})
}

// request adds to a request what the audit needs to know of keys.
func (a *Audit) request(req *source.Request) {
	if !a.filter.all {
		req.Wants = func(name []byte) bool { return a.filter.wants(a.targets, a.matcher.Match(name, nil), name) }
		req.LeftOut = func(keys int64) { a.skipped += keys }
	}
	if a.opt.Values {
		req.Values, req.Expect = a.WantsValue, a.Expects
	}
	if a.opt.Values && a.opt.Whole {
		req.Part = a.Part
	}
	if slices.ContainsFunc(a.ks.Keys, func(k *keyspace.Key) bool { return maxLength(k) > 0 }) {
		req.Sizes = a.WantsSize
	}
}

// Add judges a batch of keys.
func (a *Audit) Add(keys []source.Key) {
	for i := range keys {
		a.add(&keys[i])
	}
}

func (a *Audit) add(k *source.Key) {
	id := a.matcher.Match(k.Name, nil)
	if !a.filter.all && !a.filter.wants(a.targets, id, k.Name) {
		a.skipped++
		return
	}
	a.total.add(k)
	a.top.offer(k, id)
	if a.opt.Offender != nil {
		defer a.tell(k, id)
	}
	if id == match.None {
		a.stray.figures.add(k)
		a.undeclared(&a.stray, undeclaredKey, id, k)
		return
	}
	s := a.stats[id]
	s.figures.add(k)
	t := &a.targets[id]
	switch {
	case t.Key != nil:
		a.judge(s, k)
		if a.opt.Values {
			a.checkValue(t.Key, s, k)
		}
	case t.Legacy != nil:
		a.example(s, legacyKey, k)
	case t.Owned != nil:
		a.undeclared(s, ownedKey, id, k)
	}
}

// undeclared counts a key that no entry declares.
func (a *Audit) undeclared(s *stat, v violation, item int, k *source.Key) {
	a.example(s, v, k)
	if group.Slip(k.Name) != "" {
		a.example(s, slipOfName, k)
	}
	if !a.opt.Plain {
		a.sketch.add(item, k)
	}
}

// stat describes what is kept per item.
type stat struct {
	figures
	kind  source.Kind
	ttl   ttlLimits
	long  int64               // entries that a stream may have; 0: any
	wrong [source.Kinds]int64 // by found kind
	marks [violations]mark
	value []valueFault

	values Coverage
}

// mark represents one kind of violation of one entry.
type mark struct {
	count    int64
	examples []finding.Example
}

// violation numbers the judgements; codes gives their codes.
type violation int

const (
	undeclaredKey violation = iota
	ownedKey
	legacyKey
	wrongType
	ttlMissing
	ttlTooLong
	ttlUnexpected
	streamTooLong
	slipOfName
	violations
)

// ttlLimits represents a TTL declaration made ready for comparing.
type ttlLimits struct {
	policy keyspace.Policy
	max    time.Duration
}

func limits(t keyspace.TTL, grace time.Duration) ttlLimits {
	return ttlLimits{t.Policy, t.LiveMax() + grace}
}

// judge compares one key with its declaration. A key of the wrong type is not
// judged further: nothing else about it means anything.
func (a *Audit) judge(s *stat, k *source.Key) {
	if k.Kind != s.kind && k.Kind != source.Unknown {
		s.wrong[k.Kind]++
		a.example(s, wrongType, k)
		return
	}
	if s.long > 0 && tooLong(k.Size, s.long) {
		a.example(s, streamTooLong, k)
	}
	switch {
	case s.ttl.policy == keyspace.TTLExpires && k.TTL == source.NoTTL:
		a.example(s, ttlMissing, k)
	case s.ttl.policy == keyspace.TTLExpires && k.TTL > s.ttl.max:
		a.example(s, ttlTooLong, k)
	case s.ttl.policy == keyspace.TTLNone && k.TTL != source.NoTTL:
		a.example(s, ttlUnexpected, k)
	}
}

// example counts a violation and keeps its smallest keys, so that the report
// does not depend on the order in which keys come.
func (a *Audit) example(s *stat, v violation, k *source.Key) {
	m := &s.marks[v]
	m.count++
	m.examples = keepSmallest(m.examples, k, a.opt.Examples)
	a.offends(codes[v])
}

// offends notes that the key at hand has a fault of this code.
func (a *Audit) offends(code string) {
	if a.opt.Offender != nil && !slices.Contains(a.told, code) {
		a.told = append(a.told, code)
	}
}

// tell tells what was noted of a key.
func (a *Audit) tell(k *source.Key, item int) {
	if len(a.told) > 0 {
		a.opt.Offender(a.told, a.itemName(item), k)
	}
	a.told = a.told[:0]
}

func keepSmallest(list []finding.Example, k *source.Key, keep int) []finding.Example {
	example := finding.Example{DB: k.DB, Key: finding.Cut(k.Name)}
	if len(list) == keep && compareExamples(example, list[keep-1]) >= 0 {
		return list
	}
	i, known := slices.BinarySearchFunc(list, example, compareExamples)
	if known {
		return list
	}
	if len(list) == keep {
		list = list[:keep-1]
	}
	example.Key = slices.Clone(example.Key)
	return slices.Insert(list, i, example)
}

func compareExamples(a, b finding.Example) int {
	return cmp.Or(slices.Compare(a.Key, b.Key), cmp.Compare(a.DB, b.DB))
}

// filter is --include and --exclude.
type filter struct {
	all              bool
	include, exclude criteria
}

type criteria struct {
	names map[string]bool
	globs *match.Matcher
	none  bool
}

func newFilter(ks *keyspace.Keyspace, opt Options) (filter, error) {
	f := filter{all: len(opt.Include)+len(opt.Exclude) == 0}
	var err error
	if f.include, err = newCriteria(ks, opt.Include); err != nil {
		return f, err
	}
	f.exclude, err = newCriteria(ks, opt.Exclude)
	return f, err
}

// newCriteria tells entry names from globs: a word that is the name of an entry
// is one, anything with a special character or a separator is a glob.
func newCriteria(ks *keyspace.Keyspace, words []string) (criteria, error) {
	c := criteria{names: map[string]bool{}, none: len(words) == 0}
	var globs []match.Item
	for _, w := range words {
		if e, k := ks.Lookup(w); e != nil {
			c.names[w] = true
			if k == nil || k.Role == "" {
				for _, k := range e.Keys {
					c.names[k.Name] = true
				}
			}
			continue
		}
		if !strings.ContainsAny(w, "*?[:\\") {
			return c, fmt.Errorf("there is no entry %q, and it is no glob; globs have a * or a : in them", w)
		}
		p, err := pattern.Glob(w)
		if err != nil {
			return c, err
		}
		globs = append(globs, match.Item{Pattern: p})
	}
	var err error
	c.globs, _, err = match.Compile(globs)
	return c, err
}

func (f *filter) wants(targets []keyspace.Target, id int, name []byte) bool {
	return (f.include.none || f.include.holds(targets, id, name)) && !f.exclude.holds(targets, id, name)
}

func (c *criteria) holds(targets []keyspace.Target, id int, name []byte) bool {
	if id != match.None {
		t := &targets[id]
		if t.Key != nil && c.names[t.Key.Name] || t.Legacy != nil && c.names[t.Legacy.Name] {
			return true
		}
	}
	return c.globs.Match(name, nil) != match.None
}

// Rules returns the findings of an audit.
func Rules() []finding.Rule { return rules }
