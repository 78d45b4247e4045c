package infer

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/internal/tree"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/source"
)

// exactly counts a draft of more keys than are kept once more, with all keys read again: what each entry has is then
// what an audit finds. A source that cannot be read twice, or not to its end, leaves the draft as it is, with counts
// that are near the truth.
func (in *Infer) exactly(ctx context.Context, src source.Source, req source.Request, d *Draft) {
	ks, _, _ := d.load()
	items, targets := ks.Items()
	m, _, err := match.Compile(items)
	if err != nil {
		return
	}
	t, seen, covered, long, wrong := d.tally(targets), Count{}, Count{}, Count{}, slips(nil)
	req.Values, req.Expect = nil, nil
	sum, err := src.Scan(ctx, req, func(keys []source.Key) error {
		for i := range keys {
			k := &keys[i]
			one := Count{1, max(k.Bytes, 0)}
			seen.add(one)
			switch {
			case in.knows(k.Name):
				covered.add(one)
			case len(k.Name) > tree.MaxKeptName:
				long.add(one)
			case wrong.take(k.Name, one):
			default:
				t.count(m.Match(k.Name, nil), k, in)
			}
		}
		return ctx.Err()
	})
	if err != nil || len(sum.Incomplete) > 0 {
		return
	}
	d.All, d.Known, d.About = seen, covered, sum.MaxRepeats > 0
	for _, e := range d.Entries {
		if b := t.entries[e]; b != nil {
			e.Count, e.NoTTL, e.Example = b.all, b.noTTL, b.Example
		} else {
			e.Count, e.NoTTL = Count{}, 0
		}
	}
	d.foreignCounts(t)
	d.leftCounts(t)
	d.Entries = slices.DeleteFunc(d.Entries, func(e *Entry) bool { return e.Keys == 0 })
	d.Left = slices.DeleteFunc(d.Left, func(l Left) bool {
		return l.Why == tooLong || strings.HasPrefix(l.Why, byMistake)
	})
	d.leftApart(long, wrong)
}

// count counts one key of a second reading.
func (t *tally) count(item int, k *source.Key, in *Infer) {
	var b *belonging
	if item != match.None {
		b = t.byItem[item]
	}
	if b == nil { // nothing has it: it is with those of its shape
		shape := in.tree.Insert(k.Name, &in.words)
		if b = t.rest[shape]; b == nil {
			b = newBelonging()
			t.rest[shape] = b
		}
	}
	b.all.add(Count{1, max(k.Bytes, 0)})
	if k.TTL == source.NoTTL {
		b.noTTL++
	}
	if item != match.None && t.targets[item].Key != nil && t.targets[item].Key.Derived {
		return
	}
	if b.Keys++; int(k.Kind) < len(b.Kinds) {
		b.Kinds[k.Kind]++
	}
	if b.Example == nil || bytes.Compare(k.Name, b.Example) < 0 {
		b.Example = bytes.Clone(k.Name)
	}
}
