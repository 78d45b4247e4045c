package keyspace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// helperTTL bounds the keys that a construct keeps beside the main one and that
// may expire without harm: a fencing token is never below the server's clock,
// so a fence that starts anew still grows.
const helperTTL = 24 * time.Hour

// fillTTL bounds the lease of somebody who loads a cached value.
const fillTTL = time.Minute

func atMost(d time.Duration) TTL {
	return TTL{Policy: TTLExpires, Default: d, Min: d, Max: d, Text: FormatDuration(d)}
}

// gate is the newest fencing token that a gate of package lock has seen, beside the key that it
// protects.
func (b *builder) gate() {
	if b.e.Gate = b.d.duration(b.props, "gate"); b.e.Gate > 0 {
		b.addRole(&Key{Role: "seen", Kind: String, TTL: atMost(b.e.Gate), Value: &scalar.Type{Kind: scalar.Int},
			Doc: "The newest fencing token with which " + b.e.Name + " was written."}, b.main, "seen")
	}
}

// plainString has one value: a scalar type, or a mapping of fields for a JSON
// object written out.
func (b *builder) plainString() {
	k := b.addMain(&Key{})
	p, ok := b.props["value"]
	if !ok {
		return
	}
	if p.value.Kind != yaml.MappingNode {
		k.Value = b.optionalType("value")
		return
	}
	if p.value.Style&yaml.FlowStyle != 0 && len(p.value.Content) == 2 && p.value.Content[1].Tag == "!!null" {
		b.d.report("KW009", b.d.at(p.value), "put quotes around the whole value, or write the name of a type without braces", "value begins with {, which YAML reads as a mapping")
		return
	}
	k.Value = &scalar.Type{Kind: scalar.JSON}
	k.JSON = b.fields(b.d, b.props, "value", b.e.Name)
}

// plainHash has fixed fields, or open ones of a name type and a value type.
func (b *builder) plainHash() {
	k := b.addMain(&Key{Fields: b.fields(b.d, b.props, "fields", b.e.Name)})
	k.Field, k.Item = b.optionalType("field"), b.optionalType("value")
	if k.Fields != nil && (k.Field != nil || k.Item != nil) {
		b.d.report("KW302", b.e.At["fields"], "keep one of the two", "%s has fixed fields and open ones", b.e.Name)
	}
	if k.Item != nil && k.Field == nil {
		k.Field = &scalar.Type{}
	}
}

func (b *builder) plainCollection() {
	b.addMain(&Key{Member: b.optionalType("member"), Score: b.optionalType("score")})
	b.numeric("score", b.e.Keys[0].Score)
}

// numeric reports a score type that is not a number.
func (b *builder) numeric(name string, t *scalar.Type) {
	if t != nil && !isNumber(*t) {
		b.d.report("KW304", b.e.At[name], "as in score: unix_ms", "a score is a number, and %s is not", t)
	}
}

func isNumber(t scalar.Type) bool {
	return slices.Contains([]scalar.Kind{scalar.Int, scalar.Float, scalar.UnixS, scalar.UnixMS}, t.Kind) && !t.Encrypted
}

func (b *builder) plainStream() {
	b.addMain(&Key{Fields: b.fields(b.d, b.props, "fields", b.e.Name)})
	b.e.MaxLen = b.d.number(b.props, "maxlen", 1)
	if p, ok := b.props["groups"]; ok {
		b.e.Groups = b.d.texts(p.value, "groups")
	}
}

// cache is a string; beside it, while there is no value, who loads it, or that
// there is none.
func (b *builder) cache() {
	b.plainString()
	b.e.Fresh, b.e.Absent = b.d.duration(b.props, "fresh"), b.d.duration(b.props, "absent")
	if max := b.e.TTL.Min; b.e.TTL.Policy == TTLExpires && b.e.Fresh >= max && b.e.Fresh > 0 {
		b.d.report("KW307", b.e.At["fresh"], "shorter than the ttl", "%s is fresh for %s, but lives for %s only", b.e.Name, FormatDuration(b.e.Fresh), FormatDuration(max))
	}
	b.addRole(&Key{Role: "fill", Kind: String, TTL: atMost(max(b.e.Absent, fillTTL)), Value: &scalar.Type{}, Doc: "Who is loading " + b.e.Name + ", or that there is none."}, b.main, "fill")
}

// ranking is a zset. With `cached`, the sum over several of its periods is a key
// of its own, without the period.
func (b *builder) ranking() {
	b.plainCollection()
	b.ties()
	b.e.Cached = b.d.duration(b.props, "cached")
	if b.e.Cached == 0 {
		if p, ok := b.props["window"]; ok {
			b.d.report("KW006", b.d.at(p.value), "add cached: 5m", "%s names its windows, but does not keep them", b.e.Name)
		}
		return
	}
	base := b.without(func(p pattern.Placeholder) bool { return p.Type.Kind == scalar.Date })
	main := b.e.Keys[0]
	b.addRole(&Key{Role: "window", Kind: ZSet, TTL: atMost(b.e.Cached), Member: main.Member, Score: &scalar.Type{Kind: scalar.Float}, Doc: "The sum of " + b.e.Name + " over several periods."}, base, "window:{window}")
}

// ties reads the rule for equal scores. Who was first is kept in the fraction of
// the score, so that must be a whole number to those who read it.
func (b *builder) ties() {
	b.e.Ties = ByMember
	p, ok := b.props["ties"]
	if !ok {
		return
	}
	if word := b.d.choice(p.value, "ties", []string{string(ByMember), string(FirstToReach)}); word != "" {
		b.e.Ties = Ties(word)
	}
	main := b.e.Keys[0]
	if b.e.Ties != FirstToReach {
		return
	}
	if main.Score == nil || main.Score.Kind != scalar.Int {
		b.d.report("KW304", b.d.at(p.value), "score: int", "%s orders ties by who was first, which needs whole scores", b.e.Name)
	}
	main.Score = &scalar.Type{Kind: scalar.Float} // as it is stored
}

func (b *builder) counter() {
	b.addMain(&Key{Value: &scalar.Type{Kind: scalar.Int}})
}

func (b *builder) rateLimit() {
	b.addMain(&Key{})
	b.e.Method = GCRA
	if p, ok := b.props["algorithm"]; ok {
		if word := b.d.choice(p.value, "algorithm", []string{string(GCRA), string(Sliding), string(Fixed)}); word != "" {
			b.e.Method = Method(word)
		}
	}
	p, ok := b.props["rate"]
	if !ok {
		return
	}
	text, _ := b.d.word(p.value, "rate")
	words := strings.Fields(text)
	fail := func() {
		b.d.report("KW307", b.d.at(p.value), "as in 100 per 1m, or 100 per 1m burst 20", "%q is not a rate", text)
	}
	if len(words) != 3 && len(words) != 5 || words[1] != "per" || len(words) == 5 && words[3] != "burst" {
		fail()
		return
	}
	var err1, err2, err3 error
	b.e.Rate.Count, err1 = strconv.ParseInt(words[0], 10, 64)
	b.e.Rate.Per, err2 = ParseDuration(words[2])
	if len(words) == 5 {
		b.e.Rate.Burst, err3 = strconv.ParseInt(words[4], 10, 64)
	}
	if err1 != nil || err2 != nil || err3 != nil || b.e.Rate.Count < 1 || b.e.Rate.Burst < 0 {
		fail()
	}
}

// lock is a string with the holder's token; beside it the last fencing token,
// the waiters in order, and the channel on which a release is announced.
func (b *builder) lock() {
	b.addMain(&Key{Value: &scalar.Type{}})
	b.addRole(&Key{Role: "fence", Kind: String, TTL: atMost(helperTTL), Value: &scalar.Type{Kind: scalar.Int}, Doc: "The last fencing token of " + b.e.Name + "."}, b.main, "fence")
	b.addRole(&Key{Role: "waiters", Kind: ZSet, TTL: atMost(helperTTL), Member: &scalar.Type{}, Score: &scalar.Type{Kind: scalar.Int}, Doc: "Who waits for " + b.e.Name + ", scored by when they came, in µs."}, b.main, "waiters")
	b.addRole(&Key{Role: "shared", Kind: ZSet, TTL: atMost(helperTTL), Member: &scalar.Type{}, Score: &scalar.Type{Kind: scalar.UnixMS}, Doc: "Who holds " + b.e.Name + " together with others, scored by the end of the lease."}, b.main, "shared")
	b.notify(b.main, "released", "Tells the next waiter that "+b.e.Name+" is free.")
}

// notify is the channel of a construct.
func (b *builder) notify(base *pattern.Pattern, role, doc string) {
	c := &Channel{Name: b.e.Name + "_" + role, Namespace: b.d.space, Owner: b.e.Owner, Readers: b.e.Readers, Doc: doc, Pos: b.e.Pos}
	if p, ok := b.props["notify"]; ok {
		c.Pattern, c.Pos = b.pattern(b.d, p.value, "the notify channel of "+b.e.Name, nil), b.d.at(p.value)
	} else {
		c.Derived = true
		c.Pattern, _ = base.DeriveIn(b.d.space.name(), role)
	}
	if c.Pattern != nil {
		b.e.Notify = c
		b.ks.Channels = append(b.ks.Channels, c)
	}
}

// queue is a list of job ids per lane; beside the lanes one string per job, its
// result, and for all lanes together one zset of leases, one of delayed jobs, one
// of dead ones, one hash of what is known of jobs that have begun, who works,
// what the queue is told to do, and who has asked for a job to be there once.
func (b *builder) queue() {
	id := b.jobID()
	b.addMain(&Key{Member: &id})
	b.e.Lease, b.e.Retry = b.d.duration(b.props, "lease"), int(b.d.number(b.props, "retry", 0))
	base := b.main
	if p, ok := b.props["order"]; ok {
		var ok bool
		if b.e.Order, ok = b.d.text(p.value, "order"); ok {
			base = b.withoutOrder(p)
		}
	}
	job := "{job}"
	if slices.ContainsFunc(base.Placeholders(), func(p pattern.Placeholder) bool { return p.Name == "job" }) {
		job = "{job_id}"
	}
	unique := "{unique}"
	if slices.ContainsFunc(base.Placeholders(), func(p pattern.Placeholder) bool { return p.Name == "unique" }) {
		unique = "{unique_name}"
	}
	ttl := b.e.TTL
	payload := b.payload()
	of := " of " + b.e.Name + "."
	b.addRole(&Key{Role: "job", Kind: String, TTL: ttl, Value: payload, Headed: true, Doc: "One job" + strings.TrimSuffix(of, ".") + ": a line of the queue's, and behind it the payload."}, base, "job:"+job)
	b.addRole(&Key{Role: "result", Kind: String, TTL: TTL{Policy: TTLAny, Text: "any"}, Doc: "The result of one job" + of}, base, "result:"+job)
	b.addRole(&Key{Role: "leases", Kind: ZSet, TTL: ttl, Member: &id, Score: &scalar.Type{Kind: scalar.UnixMS}, Doc: "Jobs being worked on, scored by the end of their lease" + of}, base, "leases")
	b.addRole(&Key{Role: "delayed", Kind: ZSet, TTL: ttl, Member: &id, Score: &scalar.Type{Kind: scalar.UnixMS}, Doc: "Jobs not yet due, scored by when they are" + of}, base, "delayed")
	b.addRole(&Key{Role: "dead", Kind: ZSet, TTL: ttl, Member: &id, Score: &scalar.Type{Kind: scalar.UnixMS}, Doc: "Jobs given up after their last attempt, by time," + of}, base, "dead")
	b.addRole(&Key{Role: "workers", Kind: ZSet, TTL: atMost(helperTTL), Member: &scalar.Type{}, Score: &scalar.Type{Kind: scalar.UnixMS}, Doc: "Processes that work, scored by when they count as dead" + of}, base, "workers")
	b.addRole(&Key{Role: "state", Kind: Hash, TTL: unlessForever(ttl), Field: &scalar.Type{}, Item: &scalar.Type{}, Doc: "Whether it is paused, its rate, and its counters" + of}, base, "state")
	b.addRole(&Key{Role: "runs", Kind: Hash, TTL: ttl, Field: &id, Item: &scalar.Type{}, Doc: "What is known of the jobs" + strings.TrimSuffix(of, ".") + " that have begun: whose they are, attempts, last error."}, base, "runs")
	b.addRole(&Key{Role: "unique", Kind: String, TTL: TTL{Policy: TTLAny, Text: "any"}, Value: &id, Doc: "Which job is there for a name that may be there once" + of}, base, "unique:"+unique)
	b.notify(base, "ready", "Tells workers that there is a job"+of)
}

// unlessForever is the TTL of what tells a queue to pause, which may outlive all
// else of the queue.
func unlessForever(ttl TTL) TTL {
	if ttl.Policy == TTLNone {
		return ttl
	}
	return TTL{Policy: TTLAny, Text: "any"}
}

// payload is the type of a job's payload: a scalar type, or a mapping of fields
// for a JSON object.
func (b *builder) payload() *scalar.Type {
	if p, ok := b.props["value"]; ok && p.value.Kind == yaml.MappingNode {
		b.e.Shape = b.fields(b.d, b.props, "value", b.e.Name)
		return &scalar.Type{Kind: scalar.JSON}
	}
	return cmp.Or(b.optionalType("value"), &scalar.Type{})
}

// jobID is the type of the last placeholder of the job key, text if that is
// derived.
func (b *builder) jobID() scalar.Type {
	if p, ok := b.props["job"]; ok && p.value.Kind == yaml.ScalarNode {
		if job, err := pattern.Parse(p.value.Value, b.useVar); err == nil && len(job.Placeholders()) > 0 {
			places := job.Placeholders()
			return places[len(places)-1].Type
		}
	}
	return scalar.Type{}
}

// withoutOrder is the pattern of a queue without its lane.
func (b *builder) withoutOrder(p property) *pattern.Pattern {
	i := slices.IndexFunc(b.main.Placeholders(), func(place pattern.Placeholder) bool { return place.Name == b.e.Order })
	if i < 0 {
		var names []string
		for _, place := range b.main.Placeholders() {
			names = append(names, place.Name)
		}
		fix := cmp.Or(b.d.near(b.e.Order, names), "add {"+b.e.Order+"} to the key")
		b.d.report("KW303", b.d.at(p.value), fix, "%s is ordered by %q, which is no placeholder of its key", b.e.Name, b.e.Order)
		return b.main
	}
	if t := b.main.Placeholders()[i].Type; t.Kind != scalar.Enum {
		b.d.report("KW303", b.d.at(p.value), fmt.Sprintf("vars: %s: high|normal|low", b.e.Order), "%s is ordered by {%s}, which is %s; the order of an enum's values is the order lanes are drained in", b.e.Name, b.e.Order, t.Definition())
	}
	return b.without(func(p pattern.Placeholder) bool { return p.Name == b.e.Order })
}

// without is the main pattern with the placeholders that leave cut out.
func (b *builder) without(leave func(pattern.Placeholder) bool) *pattern.Pattern {
	base := b.main
	for _, p := range b.main.Placeholders() {
		if leave(p) {
			base = cutOut(base, "{"+p.Name+"}")
		}
	}
	return base
}

// cutOut is a pattern without a placeholder and one separator beside it.
func cutOut(p *pattern.Pattern, place string) *pattern.Pattern {
	text := p.String()
	for _, cut := range []string{":" + place, place + ":", place} {
		if strings.Contains(text, cut) && text != cut {
			if base, err := pattern.Parse(strings.Replace(text, cut, "", 1), p.Types()); err == nil {
				return base
			}
		}
	}
	return p
}
