package restore

import (
	"context"

	"github.com/keywright/keywright/apply/wait"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/compare"
)

// compares says that a key that is there may count as the same: with Different, and with
// Live unless all is to be replaced.
func (r *restore) compares() bool {
	return r.Existing == Different || r.Live != nil && r.Existing != Replace
}

// busy sorts records whose keys were there when they were written: those that have the
// value and the expiry that they should have are the same, the others were left.
func (w *writer) busy(ctx context.Context, t *target, records []*record) error {
	if len(records) == 0 {
		return nil
	}
	equal := make([]bool, len(records))
	if w.Live != nil {
		var err error
		if _, equal, err = w.presentLive(ctx, t, records); err != nil {
			return err
		}
	}
	for i, rec := range records {
		if equal[i] {
			w.count(rec, same, "")
			continue
		}
		w.count(rec, existing, map[Existing]string{Fail: "it is there already"}[w.Existing])
	}
	return nil
}

// needed leaves out what is there already with the same value and expiry, where that
// must be known before it is written: with Different, in a plan, and where a reply was
// lost.
func (w *writer) needed(ctx context.Context, t *target, records []*record) (out []*record, err error) {
	var asked []*record
	for _, rec := range records {
		if w.Existing == Different || rec.doubt || w.Plan && w.compares() {
			asked = append(asked, rec)
		} else {
			out = append(out, rec)
		}
	}
	if len(asked) == 0 {
		return out, nil
	}
	there, equal, err := w.present(ctx, t, asked)
	if err != nil {
		return nil, err
	}
	for i, rec := range asked {
		switch {
		case equal[i]:
			w.count(rec, map[bool]outcome{true: restored, false: same}[rec.doubt], "")
		case there[i] && rec.doubt && (w.Existing == Skip || w.Existing == Fail):
			w.count(rec, existing, map[Existing]string{Fail: "it is there already"}[w.Existing])
		default:
			rec.doubt = false
			out = append(out, rec)
		}
	}
	return out, nil
}

// present tells which records have their keys there, and which of those have the value
// and the expiry that they should have.
func (w *writer) present(ctx context.Context, t *target, records []*record) (there, equal []bool, err error) {
	if w.Live != nil {
		return w.presentLive(ctx, t, records)
	}
	there, equal = make([]bool, len(records)), make([]bool, len(records))
	var commands kernel.Commands
	b := t.client.Raw().B()
	for _, rec := range records {
		key := string(rec.Place.Key)
		commands = append(commands, b.Dump().Key(key).Build(), b.Pexpiretime().Key(key).Build())
	}
	replies := t.client.Raw().DoMulti(ctx, commands...)
	for i, rec := range records {
		dump, err := replies[2*i].ToString()
		if err != nil && !kernel.IsNil(err) {
			return nil, nil, err
		}
		expires, err := replies[2*i+1].AsInt64()
		if err != nil {
			return nil, nil, err
		}
		there[i] = len(dump) > footer
		if there[i] && rec.ExpiryHolds(max(expires, 0)) {
			value, version := dump[:len(dump)-footer], int(dump[len(dump)-footer])|int(dump[len(dump)-footer+1])<<8
			equal[i] = compare.Equal(&source.Content{Payload: []byte(value), RDB: version},
				&source.Content{Payload: rec.Payload, RDB: rec.RDB})
		}
	}
	return there, equal, nil
}

// presentLive tells the same, and reads large values in parts.
func (w *writer) presentLive(ctx context.Context, t *target, records []*record) (there, equal []bool, err error) {
	facts, err := w.live(ctx, t, records)
	if err != nil {
		return nil, nil, err
	}
	there, equal = make([]bool, len(records)), make([]bool, len(records))
	for i, rec := range records {
		f := facts[string(rec.Place.Key)]
		if there[i] = f.There; !f.There || !rec.ExpiryHolds(f.Expires) {
			continue
		}
		own := rec.fact
		if rec.Whole() {
			c, err := compare.ContentOf(&rec.Record)
			if err != nil {
				continue
			}
			var facts compare.Facts
			if own, _, err = facts.Take(&c, ""); err != nil {
				continue
			}
		}
		equal[i] = own.SameValue(&f)
	}
	return there, equal, nil
}

// live reads what the target has of the keys of records now. What cannot be read there
// is as if it were another value.
func (w *writer) live(ctx context.Context, t *target, records []*record) (map[string]compare.Fact, error) {
	w.asking.Lock()
	defer w.asking.Unlock()
	names, out := make([][]byte, len(records)), map[string]compare.Fact{}
	for i, rec := range records {
		names[i] = rec.Place.Key
	}
	var facts compare.Facts
	err := w.Live.Ask(ctx, t.db, names, func(batch []source.Content) error {
		wait.Answered(ctx)
		for i := range batch {
			f, done, err := facts.Take(&batch[i], string(batch[i].Name))
			if done && err == nil {
				out[string(batch[i].Name)] = f
			} else if done {
				out[string(batch[i].Name)] = compare.Fact{There: true, Torn: true}
			}
		}
		return nil
	})
	return out, err
}
