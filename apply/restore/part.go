package restore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/keywright/keywright/apply/wait"
	"github.com/keywright/keywright/apply/writelease"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/compare"
)

// partial represents a value that is being put together under a temporary name.
type partial struct {
	target  *target
	name    string
	kind    source.Kind
	next    int    // number of the part that comes next
	grown   int64  // what a list, a string or a stream has by now
	broken  bool   // a part was refused
	problem string // why
	facts   compare.Facts
	state   *source.StreamState // of a stream, known with its last part
	turn    int                 // when its last part came
	first   int64               // number of the record of its first part
}

// Bounds of the values that one writer has begun: how many, and the bytes of their names.
// What a server's shards have in work is far below them.
var maxBegun = 1000

const maxBegunBytes = 64 << 20

// begin notes a value that is put together. If there are too many, that whose last part
// came longest ago is given up.
func (w *writer) begin(id string, p *partial) {
	w.forget(id)
	for len(w.temporary) > 0 && (len(w.temporary) >= maxBegun || w.begun+len(id) > maxBegunBytes) {
		oldest := ""
		for other, q := range w.temporary {
			if oldest == "" || q.turn < w.temporary[oldest].turn {
				oldest = other
			}
		}
		w.temporary[oldest].abandon(w)
		w.passed(w.temporary[oldest].first) // its last part is refused
		w.forget(oldest)
	}
	w.temporary[id] = p
	w.begun += len(id)
}

// forget ends what begin noted.
func (w *writer) forget(id string) {
	if w.temporary[id] != nil {
		delete(w.temporary, id)
		w.begun -= len(id)
	}
}

// keeps says how long a temporary key lives after its last part.
const keeps = time.Hour

// tags are, for each slot, a hash tag that is in it.
var tags = sync.OnceValue(func() *[16384]string {
	var all [16384]string
	for n, left := 0, len(all); left > 0; n++ {
		tag := strconv.Itoa(n)
		if at := &all[slot.Of([]byte("{"+tag+"}"))]; *at == "" {
			*at = tag
			left--
		}
	}
	return &all
})

// temporaryName returns a name in the slot of a key. Each run has names of its own: two runs
// that write the same key would mix their parts under one name.
func temporaryName(run string, key []byte) string {
	sum := sha256.Sum256(append([]byte(run), key...))
	return writelease.TemporaryPrefix + "{" + tags()[slot.Of(key)] + "}:" + hex.EncodeToString(sum[:16])
}

// part writes a part of a value, and with the last one gives the value its name.
func (w *writer) part(ctx context.Context, t *target, rec *record) error {
	id := strconv.Itoa(t.db) + ":" + string(rec.Place.Key)
	p := w.temporary[id]
	if rec.Part == 0 || p == nil {
		if p != nil { // it comes again
			w.passed(p.first)
		}
		p = &partial{target: t, name: temporaryName(w.id, rec.Place.Key), first: rec.seq}
		w.begin(id, p)
	} else if rec.first = p.first; rec.More && rec.seq != p.first { // one record may have become several parts
		w.passed(rec.seq)
	}
	w.turn++
	p.turn = w.turn
	done := func(what outcome, reason string) {
		if !rec.More {
			w.forget(id)
			p.abandon(w)
			w.count(rec, what, reason)
		}
	}
	if p.broken || rec.Part != p.next || rec.problem != "" {
		p.broken, p.problem = true, cmp.Or(p.problem, rec.problem)
		done(Refused, cmp.Or(p.problem, "its parts do not follow one another"))
		return nil
	}
	p.next++
	p.kind = rec.Kind
	if w.Live != nil && w.compares() {
		known(&p.facts, "", rec)
	}
	commands, grows, err := p.commands(rec)
	if err != nil {
		p.broken = true
		done(Refused, err.Error())
		return nil
	}
	err = w.steps(ctx, p, commands, grows, rec)
	switch answer, said := kernel.IsServerError(err); {
	case said && full(err):
		done(Unknown, "")
		return fmt.Errorf("%w: %w", errFull, err)
	case said:
		p.broken = true
		done(Refused, answer.Error())
		return nil
	case errors.Is(err, errGone), errors.Is(err, errTouched):
		p.broken = true
		done(Refused, err.Error())
		return nil
	case err != nil:
		done(Unknown, "")
		return err
	case rec.More:
		return nil
	}
	w.forget(id)
	if rec.fact.There && w.Existing == Different {
		_, equal, err := w.presentLive(ctx, t, []*record{rec})
		if err != nil {
			w.count(rec, Unknown, "")
			return err
		}
		if equal[0] { // what is there stays: not even its clients' copies become void
			p.abandon(w)
			w.count(rec, same, "")
			return nil
		}
	}
	what, reason, err := w.rename(ctx, p, rec)
	if what == existing && err == nil {
		if err = w.busy(ctx, t, []*record{rec}); err == nil {
			return nil
		}
		what, reason = Unknown, ""
	}
	w.count(rec, what, reason)
	return err
}

// passed notes that a record needs nothing more: the first part of its value, which stays
// open until the value is whole, brings a run that goes on back to it.
func (r *restore) passed(seq int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decide(seq, decision{})
}

// known adds a part to what is known of a value: its fact is that of the last record.
func known(facts *compare.Facts, id string, rec *record) {
	c, err := compare.ContentOf(&rec.Record)
	if err != nil {
		return
	}
	if f, done, err := facts.Take(&c, id); done && err == nil {
		rec.fact = f
	}
}

// stepCommands bounds the commands of one step: a server that runs more is held too long.
const stepCommands = 500

// steps runs the commands of a part in as few steps as may be. Only the end of a stream
// takes more than one: each of them can be run again.
func (w *writer) steps(ctx context.Context, p *partial, commands []kernel.Command, grows int64, rec *record) error {
	first := rec.Part == 0
	if rec.Kind != source.Stream || rec.More {
		return w.runAtomically(ctx, p, commands, grows, first)
	}
	if gone, err := w.deletedPending(ctx, p); err != nil {
		return err
	} else if len(gone) > 0 {
		if commands, err = w.besideGone(ctx, p, gone); err != nil {
			return err
		}
		first = false
	}
	for len(commands) > 0 {
		n := min(len(commands), stepCommands)
		if words := commands[n-1].Commands(); n > 1 && words[1] == "DESTROY" {
			n-- // a group is made in the step in which what was there of it goes
		}
		if err := w.runAtomically(ctx, p, commands[:n:n], 0, first); err != nil {
			return err
		}
		commands, first = commands[n:], false
	}
	return nil
}

// runAtomically runs the commands of a part in one step, and again where the server was not
// ready. After a lost reply the length of the value tells whether they were run.
func (w *writer) runAtomically(ctx context.Context, p *partial, commands []kernel.Command, grows int64,
	first bool) (err error) {
	raw := p.target.client.Raw()
	all := []kernel.Command{raw.B().Multi().Build().SetSlot(p.name)}
	if first {
		all = append(all, raw.B().Unlink().Key(p.name).Build())
	}
	all = append(all, commands...)
	all = append(all, raw.B().Pexpire().Key(p.name).Milliseconds(keeps.Milliseconds()).Build(),
		raw.B().Exec().Build().SetSlot(p.name))
	for i := range all {
		all[i] = all[i].Pin()
	}
	for attempt := 0; ; attempt++ {
		if attempt > 0 {
			if attempt == Attempts || !Pause(ctx, attempt, err) {
				return cmp.Or(err, ctx.Err())
			}
			if _, said := kernel.IsServerError(err); !said && !first {
				n, lost := p.length(ctx)
				if lost != nil {
					continue
				}
				if grows > 0 && n == p.grown+grows {
					break
				}
			}
		}
		_, err = step(ctx, raw, p.name, !first, all)
		if errors.Is(err, errTouched) { // by the attempt before, whose reply was lost
			continue
		}
		if errors.Is(err, errGone) {
			return err
		}
		if what, _ := Judge(err); what != Unknown || full(err) {
			break
		}
	}
	wait.Answered(ctx)
	if err == nil || !isAnswer(err) {
		p.grown += grows
		return nil
	}
	return err
}

func isAnswer(err error) bool {
	_, said := kernel.IsServerError(err)
	return said
}

// length returns how much a value that grows by each part has: elements, entries or bytes.
func (p *partial) length(ctx context.Context) (int64, error) {
	raw := p.target.client.Raw()
	verb := map[source.Kind]string{source.String: "STRLEN", source.List: "LLEN", source.Stream: "XLEN"}[p.kind]
	if verb == "" {
		return 0, nil
	}
	return raw.Do(ctx, raw.B().Arbitrary(verb).Keys(p.name).Build()).AsInt64()
}

// errGone is why a value cannot be put together: its first parts are not there any more.
var errGone = errors.New("what was written of it has gone: the server evicted it, or another client deleted it")

// errTouched is why a step was not run: its key was written to meanwhile.
var errTouched = errors.New("what was written of it is being changed by another process")

// step runs commands from MULTI to EXEC, and returns the replies of EXEC. They run only
// if nothing writes to the key meanwhile, and, where it must be there, if it is: so a
// step whose reply was lost does nothing once the attempt after it has run. Its error is
// the first refusal, if there is one.
func step(ctx context.Context, raw kernel.Raw, key string, must bool,
	all []kernel.Command) (list []kernel.Value, err error) {
	err = raw.Dedicated(func(c kernel.Dedicated) error {
		there := c.DoMulti(ctx, c.B().Watch().Key(key).Build(), c.B().Exists().Key(key).Build())
		n, err := there[1].AsInt64()
		if err = cmp.Or(there[0].Error(), err); err == nil && n == 0 && must {
			err = cmp.Or(c.Do(ctx, c.B().Unwatch().Build()).Error(), errGone)
		}
		if err != nil {
			return err
		}
		replies := c.DoMulti(ctx, all...)
		last := len(replies) - 1
		for _, reply := range replies[:last] {
			if err := reply.Error(); err != nil {
				return err
			}
		}
		if list, err = replies[last].ToArray(); kernel.IsNil(err) {
			return errTouched
		}
		for i := 0; i < len(list) && err == nil; i++ {
			if err = list[i].Error(); kernel.IsNil(err) {
				err = nil
			}
		}
		return err
	})
	return list, err
}

// rename gives a value its name in one step, as Existing says.
func (w *writer) rename(ctx context.Context, p *partial, rec *record) (outcome, string, error) {
	raw := p.target.client.Raw()
	key := string(rec.Place.Key)
	if rec.Place.Expires > 0 && rec.Place.Expires <= p.target.now() {
		return expired, "", raw.Do(ctx, raw.B().Unlink().Key(p.name).Build()).Error()
	}
	ttl := raw.B().Persist().Key(p.name).Build()
	if rec.Place.Expires > 0 {
		ttl = raw.B().Pexpireat().Key(p.name).MillisecondsTimestamp(rec.Place.Expires).Build()
	}
	all := []kernel.Command{raw.B().Multi().Build().SetSlot(key), ttl}
	if w.Existing == Replace || w.Existing == Different {
		all = append(all, raw.B().Unlink().Key(key).Build()) // RENAME would free a large value at once
	}
	// What is not renamed goes in the same step: it has no TTL any more.
	all = append(all, raw.B().Renamenx().Key(p.name).Newkey(key).Build(), raw.B().Unlink().Key(p.name).Build(),
		raw.B().Exec().Build().SetSlot(key))
	for i := range all {
		all[i] = all[i].Pin()
	}
	moved, err := int64(1), error(nil)
	for attempt := 0; attempt < Attempts; attempt++ {
		if attempt > 0 && !Pause(ctx, attempt, err) {
			break
		}
		if attempt > 0 && !isAnswer(err) { // the reply was lost: has it been renamed?
			is, lost := p.renamed(ctx, key)
			if is {
				return restored, "", nil
			}
			if lost != nil { // and so was that
				err = lost
				continue
			}
		}
		var replies []kernel.Value
		if replies, err = step(ctx, raw, p.name, true, all); err == nil && len(replies) > 1 {
			moved, err = replies[len(replies)-2].AsInt64()
		}
		if attempt > 0 && (errors.Is(err, errGone) || errors.Is(err, errTouched)) {
			is, lost := p.renamed(ctx, key)
			if is {
				return restored, "", nil // by the step whose reply was lost, after that question
			}
			if lost != nil { // what is not known is no reason
				err = lost
				continue
			}
		}
		if what, _ := Judge(err); what != Unknown || errors.Is(err, errGone) {
			break
		}
	}
	switch {
	case isAnswer(err), errors.Is(err, errGone), errors.Is(err, errTouched):
		return Refused, err.Error(), nil
	case err != nil:
		return Unknown, err.Error(), nil
	case moved == 0:
		return existing, "", nil
	}
	return restored, "", nil
}

// renamed reports whether a value has its name: there is a key, and no temporary one. An error says that it is not
// known.
func (p *partial) renamed(ctx context.Context, key string) (bool, error) {
	raw := p.target.client.Raw()
	left, err1 := raw.Do(ctx, raw.B().Exists().Key(p.name).Build()).AsInt64()
	there, err2 := raw.Do(ctx, raw.B().Exists().Key(key).Build()).AsInt64()
	return left == 0 && there == 1 && err1 == nil && err2 == nil, cmp.Or(err1, err2)
}

// abandon removes what is left of a value whose last part did not come.
func (p *partial) abandon(w *writer) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	raw := p.target.client.Raw()
	_ = raw.Do(ctx, raw.B().Unlink().Key(p.name).Build()).Error()
}
