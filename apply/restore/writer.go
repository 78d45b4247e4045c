package restore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/apply/wait"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/compare"
	"github.com/keywright/keywright/source/rdb/dump"
)

// writer writes the records of its keys, one batch after the other.
type writer struct {
	*restore
	in        chan *job
	temporary map[string]*partial // by database and key
	begun     int                 // bytes of their names
	turn      int                 // parts so far
	facts     compare.Facts       // of values in parts, of a plan
	sizes     map[string]int64    // of values in parts, what came so far, by database and key
}

// run works until the jobs end. After an error that ends the run it only counts.
func (w *writer) run(ctx context.Context) {
	for j := range w.in {
		if err := w.take(ctx, j); err != nil {
			w.stop(err)
		}
		w.flight.free(j.bytes)
	}
	for _, p := range w.temporary {
		if !wait.IsOver(ctx) { // else they go by themselves
			p.abandon(w)
		}
	}
}

// take writes a batch if it may still be written. An error ends the run.
func (w *writer) take(ctx context.Context, j *job) error {
	if ctx.Err() != nil {
		w.lost(j.records)
		return nil
	}
	if w.StillHeld != nil {
		if err := w.StillHeld(); err != nil {
			w.lost(j.records)
			return err
		}
	}
	defer wait.Ask(ctx)()
	err := w.job(ctx, j)
	if err == nil && !w.Plan {
		err = w.evictions(ctx)
	}
	return err
}

// job writes a batch: whole values together, parts one after the other.
func (w *writer) job(ctx context.Context, j *job) error {
	var whole []*record
	for i := range j.records {
		rec := &j.records[i]
		rec.bytes = w.sized(j.target, rec)
		if rec.Form == archive.Dump && rec.Whole() {
			whole = append(whole, rec)
			continue
		}
		// Records of one key come in order: what is before a part is written before it.
		if err := w.whole(ctx, j.target, whole); err != nil {
			w.lost(j.records[i:])
			return err
		}
		whole = nil
		if w.Plan {
			if w.Live != nil && w.compares() {
				known(&w.facts, strconv.Itoa(j.target.db)+":"+string(rec.Place.Key), rec)
			}
			if !rec.More {
				if err := w.whole(ctx, j.target, []*record{rec}); err != nil {
					w.lost(j.records[i+1:])
					return err
				}
			}
			continue
		}
		if err := w.part(ctx, j.target, rec); err != nil {
			w.lost(j.records[i+1:])
			return err
		}
	}
	return w.whole(ctx, j.target, whole)
}

// sized returns how many bytes the value of a record has: of one in parts, up to this one.
func (w *writer) sized(t *target, rec *record) int64 {
	n := int64(len(rec.Payload))
	if rec.Whole() {
		return n
	}
	id := strconv.Itoa(t.db) + ":" + string(rec.Place.Key)
	if rec.Part > 0 {
		n += w.sizes[id]
	}
	delete(w.sizes, id)
	if rec.More {
		if w.sizes == nil || len(w.sizes) >= maxBegun {
			w.sizes = map[string]int64{}
		}
		w.sizes[id] = n
	}
	return n
}

// Attempts says how often a batch is sent before it is given up, with a growing pause:
// about half a minute, longer than a failover.
const Attempts = 12

// whole restores values in one pipeline, and again those whose replies were lost or
// that say that the server was not ready.
func (w *writer) whole(ctx context.Context, t *target, records []*record) error {
	var err error
	for attempt := 0; len(records) > 0; attempt++ {
		if attempt > 0 {
			if attempt == Attempts || !Pause(ctx, attempt, err) {
				break
			}
		}
		records, err = w.attempt(ctx, t, records)
		if errors.Is(err, errFull) {
			break
		}
	}
	for _, rec := range records {
		w.count(rec, Unknown, "")
	}
	if len(records) > 0 {
		return errors.Join(err, ctx.Err())
	}
	return nil
}

// nonsense says how often something is sent to what answers by other bytes than a server's:
// a proxy that starts does so for a moment, anything else will not stop.
const nonsense = 3

// Pause waits before another attempt, if there is to be one after that error.
func Pause(ctx context.Context, attempt int, last error) bool {
	wait.Failed(ctx, last)
	var garbled interface{ Garbled() } // what came was no reply
	if attempt >= nonsense && errors.As(last, &garbled) {
		return false
	}
	timer := time.NewTimer(min(50*time.Millisecond<<attempt, 4*time.Second))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// attempt sends a batch once. It returns what must be sent again, and the last reason.
func (w *writer) attempt(ctx context.Context, t *target, records []*record) (again []*record, last error) {
	send, err := w.needed(ctx, t, records)
	if err == nil {
		err = t.versions.learn(ctx, t.client.Raw(), w.id, send)
	}
	if w.Plan && (err == nil || isAnswer(err)) { // a plan is also made for a server that takes no writes now
		err = w.there(ctx, t, send)
	}
	if full(err) {
		err = fmt.Errorf("%w: %w", errFull, err)
	}
	if err != nil {
		return records, err
	}
	commands := make(kernel.Commands, 0, len(send))
	now := t.now()
	kept := send[:0]
	for _, rec := range send {
		payload, reason := t.payload(rec)
		switch {
		case rec.Place.Expires > 0 && rec.Place.Expires <= now:
			w.count(rec, expired, "")
		case reason != "":
			w.count(rec, Refused, reason)
		case w.Plan:
			w.planned(rec)
		default:
			kept = append(kept, rec)
			commands = append(commands, w.command(t, rec, payload))
		}
	}
	var busy []*record
	for i, reply := range t.client.Raw().DoMulti(ctx, commands...) {
		rec := kept[i]
		err := reply.Error()
		what, reason := Judge(err)
		if what != Unknown {
			wait.Answered(ctx)
		}
		switch {
		case what == existing && rec.doubt: // perhaps it is what the lost attempt wrote
			again = append(again, rec)
		case what == existing:
			busy = append(busy, rec)
		case what == Unknown:
			rec.doubt = true
			again, last = append(again, rec), err
			if full(err) {
				last = fmt.Errorf("%w: %w", errFull, err)
			}
		default:
			w.count(rec, what, reason)
		}
	}
	if err := w.busy(ctx, t, busy); err != nil {
		return append(again, busy...), err
	}
	return again, last
}

// there marks the records whose keys are there, for a plan.
func (w *writer) there(ctx context.Context, t *target, records []*record) error {
	commands := make(kernel.Commands, len(records))
	for i, rec := range records {
		commands[i] = t.client.Raw().B().Exists().Key(string(rec.Place.Key)).Build()
	}
	for i, reply := range t.client.Raw().DoMulti(ctx, commands...) {
		n, err := reply.AsInt64()
		if err != nil {
			return err
		}
		records[i].replaces = n > 0
	}
	return nil
}

// planned counts what would become of a record.
func (w *writer) planned(rec *record) {
	switch {
	case rec.replaces && w.Existing == Fail:
		rec.replaces = false
		w.count(rec, existing, "it is there already")
	case rec.replaces && w.Existing == Skip:
		rec.replaces = false
		w.count(rec, existing, "")
	default:
		w.count(rec, restored, "")
	}
}

// command returns the RESTORE of a record.
func (w *writer) command(t *target, rec *record, payload string) kernel.Command {
	b := t.client.Raw().B().Restore().Key(string(rec.Place.Key)).Ttl(rec.Place.Expires).SerializedValue(payload)
	if w.Existing == Replace || w.Existing == Different {
		return b.Replace().Absttl().Build()
	}
	return b.Absttl().Build()
}

// footer is the length of version and checksum after the value in a payload.
const footer = 10

// payload returns what RESTORE takes for a record, or why the server cannot take it.
func (t *target) payload(rec *record) (payload, reason string) {
	if rec.Form != archive.Dump {
		return "", rec.problem
	}
	body, version, err := dump.Rewrite(rec.Payload, rec.RDB, t.versions.of(rec.RDB))
	if err != nil {
		return "", err.Error()
	}
	return withFooter(body, version), "" // after the end of what is kept
}

var errFull = errors.New("the server's memory is full: nothing more can be written")

func full(err error) bool {
	answer, ok := kernel.IsServerError(err)
	return ok && strings.HasPrefix(answer.Error(), "OOM")
}

// Judge says what a reply to a write means. unknown: it must be sent again.
func Judge(err error) (outcome, string) {
	answer, said := kernel.IsServerError(err)
	switch {
	case err == nil:
		return restored, ""
	case !said:
		return Unknown, ""
	}
	switch word, _, _ := strings.Cut(answer.Error(), " "); word {
	case "BUSYKEY":
		return existing, ""
	case "OOM", "LOADING", "READONLY", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "MOVED", "ASK", "MISCONF", "NOREPLICAS",
		"BUSY":
		return Unknown, ""
	}
	return Refused, answer.Error()
}
