// Package reseal walks over everything on a server that a declaration calls
// encrypted: it counts what is sealed with which key, seals again what is not
// sealed with the active one, and seals what is there as plain text.
//
// Every text is replaced by a comparison on the server: what another has
// written meanwhile stays. It may be stopped at any time, also by kill -9: each
// text opens with the old key or with the new one, or is plain still. To go on, run it again: what is
// done is passed over.
//
// It does not change key rings, and does not know which processes have which
// ring: see docs/encryption.md for the order of things.
//
// API: may change until 1.0.
package reseal

import (
	"context"
	"errors"
	"slices"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/value/seal"
)

var script = keywright.NewScript("reseal", parts.Later("reseal"))

// Walk describes what to walk over, and with what.
type Walk struct {
	Keyspace *keyspace.Keyspace
	Entries  []string // only these; nil: all that hold something sealed
	Client   *keywright.Client
	Ring     *seal.Ring
	// Source finds the keys, in the client's database and on primaries: a replica
	// may lag. It throttles.
	Source  source.Source
	Request source.Request // its Progress; the rest is the walk's

	// Before is asked before texts are replaced, with how many by entry. An error ends
	// the walk, and they are not replaced. nil: it is not asked.
	Before func(ctx context.Context, texts map[string]int64) error
	// After gets how many of them were replaced; the others were written meanwhile,
	// and the next pass looks at them again. nil: nothing is.
	After func(resealed map[string]int64)
}

// ErrNothing says that the declaration calls nothing encrypted.
var ErrNothing = errors.New("nothing is declared encrypted")

// maxPasses bounds how often Rotate and Adopt walk.
const maxPasses = 5

// Status counts. A round trip reads about a hundred keys.
func (w *Walk) Status(ctx context.Context) (*Report, error) { return w.pass(ctx, counts) }

// Rotate seals again what is not sealed with the active key, and then walks again
// until there is nothing more to do, at most five times: the report is what the
// last walk has found. Two round trips for about a hundred keys.
func (w *Walk) Rotate(ctx context.Context) (*Report, error) { return w.passes(ctx, rotates) }

// Adopt seals what is there as plain text, as Rotate does with what is sealed with
// other keys, and leaves that. Every process must be able to open sealed texts
// before (seal.Adopting).
func (w *Walk) Adopt(ctx context.Context) (*Report, error) { return w.passes(ctx, adopts) }

func (w *Walk) passes(ctx context.Context, do action) (*Report, error) {
	var resealed, raced int64
	for n := 1; ; n++ {
		r, err := w.pass(ctx, do)
		did, lost := r.sums()
		resealed, raced = resealed+did, raced+lost
		if err != nil || did+lost == 0 || n == maxPasses {
			r.Passes, r.Resealed, r.Raced = n, resealed, raced
			return r, err
		}
	}
}

// action describes what a walk does with what it finds.
type action uint8

const (
	counts action = iota
	rotates
	adopts
)

// pass represents one walk over all keys.
type pass struct {
	*Walk
	do      action
	active  string
	report  *Report
	targets map[*keyspace.Key]*target
	matcher *match.Matcher
	places  []keyspace.Target
	moving  source.Reasons // what could not be read whole
}

// target represents a declared key with sealed parts.
type target struct {
	entry *keywright.Entry
	kind  keyspace.Kind
	lined bool // a line that is not sealed is before the value
	parts []*Part
}

func (w *Walk) pass(ctx context.Context, do action) (*Report, error) {
	p := &pass{Walk: w, do: do, active: w.Ring.Active(), targets: map[*keyspace.Key]*target{}}
	p.report = &Report{Active: p.active, Parts: []*Part{}, All: true, Passes: 1, known: w.Ring.IDs()}
	if p.active == "" {
		return p.report, errors.New("there is no key ring")
	}
	if err := p.prepare(); err != nil {
		return p.report, err
	}
	if len(p.targets) == 0 {
		return p.report, ErrNothing
	}
	req := source.Request{Progress: w.Request.Progress}
	sum, err := w.Source.Scan(ctx, req, func(keys []source.Key) error { return p.batch(ctx, keys) })
	p.report.Server, p.report.Endpoint, p.report.Incomplete = sum.Server, sum.Endpoint, sum.Incomplete.Add(p.moving...)
	if err != nil {
		p.report.Incomplete = p.report.Incomplete.Add(source.Why(source.Failed, "", err))
	}
	return p.report, err
}

// prepare finds the declared keys with sealed parts.
func (p *pass) prepare() (err error) {
	items, places := p.Keyspace.Items()
	p.places = places
	if p.matcher, _, err = match.Compile(items); err != nil {
		return err
	}
	for _, k := range p.Keyspace.Keys {
		parts := k.Sealed()
		if len(parts) == 0 {
			continue
		}
		if len(p.Entries) > 0 && !slices.Contains(p.Entries, k.Entry.Name) {
			p.report.All = false
			continue
		}
		t := &target{entry: bind.Entry(p.Keyspace, k), kind: k.Kind, lined: k.Headed}
		for _, s := range parts {
			part := &Part{Entry: k.Name, Name: s.Name(), Type: string(k.Kind), Keys: map[string]int64{},
				Unknown: map[string]int64{}, Forged: map[string]int64{}, at: s}
			t.parts = append(t.parts, part)
			p.report.Parts = append(p.report.Parts, part)
		}
		p.targets[k] = t
	}
	return nil
}

// chunk says how many keys are read in a round trip.
const chunk = 100

// batch deals with keys that the source has found.
func (p *pass) batch(ctx context.Context, keys []source.Key) error {
	var captures match.Captures
	var simple []job
	for _, k := range keys {
		t := p.of(k.Name, &captures)
		if t == nil || k.Kind != source.Unknown && k.Kind.String() != string(t.kind) {
			continue // of another type: an audit says so
		}
		j := job{target: t, key: string(k.Name)}
		if t.walks() {
			if err := p.walk(ctx, j); err != nil {
				return err
			}
			continue
		}
		if simple = append(simple, j); len(simple) == chunk {
			if err := p.read(ctx, simple); err != nil {
				return err
			}
			simple = simple[:0]
		}
	}
	return p.read(ctx, simple)
}

// of returns what a key holds, nil for nothing sealed. Under a former name it is the
// same.
func (p *pass) of(key []byte, c *match.Captures) *target {
	i := p.matcher.Match(key, c)
	if i < 0 {
		return nil
	}
	if was := p.places[i].Was; was != nil {
		return p.targets[was]
	}
	return p.targets[p.places[i].Key]
}
