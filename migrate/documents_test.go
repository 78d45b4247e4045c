package migrate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/record"
)

// plain holds documents without a declaration: a file is an object whose members are
// "key|sub" and whose values are lists of texts. The first part of a key is its kind, the
// second the file: "field:a:7" is in a.json.
type plain struct{ parts map[string]string } // kind → part

var kinds = map[string]keyspace.RecordKind{"string": keyspace.StringRecord, "field": keyspace.FieldRecord,
	"hash":   keyspace.HashRecord,
	"member": keyspace.MemberRecord, "scored": keyspace.ScoredRecord, "list": keyspace.ElementRecord,
	"stream": keyspace.EntryRecord}

func (p plain) Parts() (out []migrate.PartOf) {
	byPart := map[string][]migrate.MoveOf{}
	for kind, part := range p.parts {
		byPart[part] = append(byPart[part], migrate.MoveOf{Name: kind,
			Move: &record.Move{Move: &keyspace.Move{Name: kind}}, Kind: kinds[kind],
			Match: kind + ":*", Of: func(key, sub string) (record.ID, bool) {
				return record.ID{Move: kind, Key: key, Sub: sub}, strings.HasPrefix(key, kind+":")
			}, Same: same})
	}
	for _, name := range slices.Sorted(maps.Keys(byPart)) {
		out = append(out, migrate.PartOf{Name: name, Moves: byPart[name]})
	}
	return out
}

func same(a, b *record.Record) []record.Difference {
	kind := record.DiffValue
	switch {
	case a == nil && b == nil:
		return nil
	case a == nil:
		return []record.Difference{{ID: b.ID(), Kind: record.DiffExtra}}
	case b == nil:
		kind = record.DiffMissing
	case text(a) == text(b):
		return nil
	}
	return []record.Difference{{ID: a.ID(), Kind: kind}}
}

func text(r *record.Record) string {
	var out strings.Builder
	fmt.Fprint(&out, string(r.Value), r.Score)
	for _, f := range r.Fields {
		fmt.Fprint(&out, f.Name, f.Value)
	}
	return out.String()
}

func (p plain) File(_ context.Context, id record.ID) (string, error) {
	words := strings.Split(id.Key, ":")
	if len(words) != 3 {
		return "", fmt.Errorf("%d words", len(words))
	}
	return words[1] + ".json", nil
}

func (p plain) Files(_ context.Context, root, _ string, each func(string) error) error {
	names, err := filepath.Glob(filepath.Join(root, "*.json"))
	for _, name := range names {
		if err := each(filepath.Base(name)); err != nil {
			return err
		}
	}
	return err
}

type document map[string][]string

func loaded(in io.Reader) (document, error) {
	text, err := io.ReadAll(in)
	d := document{}
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, &d)
	}
	return d, err
}

func (p plain) Read(in io.Reader, _ string, _ record.Coverages, each func(*record.Record) error,
	_ func(*record.Reject) error) error {
	d, err := loaded(in)
	for _, name := range slices.Sorted(maps.Keys(d)) {
		key, sub, _ := strings.Cut(name, "|")
		for _, r := range records(record.ID{Key: key, Sub: sub}, d[name]...) {
			if err := each(r); err != nil {
				return err
			}
		}
	}
	return err
}

func (p plain) Rewrite(_ context.Context, out io.Writer, in io.Reader, _ string, edits []record.Edit,
	_ func(*record.Reject) error) (bool, error) {
	d, err := loaded(in)
	if err != nil {
		return false, err
	}
	before, _ := json.Marshal(d)
	begun := map[string]bool{}
	for _, e := range edits {
		name := e.Record.Key + "|" + e.Record.Sub
		if !begun[name] {
			begun[name] = true
			delete(d, name)
		}
		if !e.Delete {
			d[name] = append(d[name], values(e.Record)...)
		}
	}
	after, _ := json.Marshal(d)
	_, err = out.Write(after)
	return string(before) != string(after), err
}

func values(r *record.Record) []string {
	switch kind, _, _ := strings.Cut(r.Key, ":"); kind {
	case "hash":
		var out []string
		for _, f := range r.Fields {
			out = append(out, f.Name+"="+f.Value)
		}
		slices.Sort(out)
		return out
	case "member":
		return []string{"1"}
	case "scored":
		return []string{r.Score}
	case "stream":
		return []string{r.Fields[0].Value}
	}
	return []string{string(r.Value)}
}

// records returns those of one ID with these values.
func records(id record.ID, values ...string) (out []*record.Record) {
	kind, _, _ := strings.Cut(id.Key, ":")
	r := record.Record{Move: &record.Move{Move: &keyspace.Move{Name: kind}}, Key: id.Key, Sub: id.Sub}
	for i, v := range values {
		one := r
		switch kind {
		case "hash":
			name, value, _ := strings.Cut(v, "=")
			r.Fields = append(r.Fields, record.Field{Name: name, Value: value})
			if i < len(values)-1 {
				continue
			}
			one = r
			slices.SortFunc(one.Fields, func(a, b record.Field) int { return strings.Compare(a.Name, b.Name) })
		case "member":
		case "scored":
			one.Score = v
		case "stream":
			one.Fields, one.Place = []record.Field{{Name: "f", Value: v}}, int64(i)
		default:
			one.Value, one.Place = []byte(v), int64(i)
		}
		out = append(out, &one)
	}
	return out
}

func id(key string, sub ...string) record.ID {
	kind, _, _ := strings.Cut(key, ":")
	return record.ID{Move: kind, Key: key, Sub: strings.Join(sub, "")}
}

func change(i record.ID, values ...string) migrate.Change {
	return migrate.Change{ID: i, Records: records(i, values...)}
}

func shown(rs []*record.Record) (out []string) {
	for _, r := range rs {
		out = append(out, values(r)...)
	}
	return out
}

// fileHas returns what a file has of a record.
func fileHas(root string, i record.ID) []string {
	file, _ := plain{}.File(context.Background(), i)
	f, err := os.Open(filepath.Join(root, file))
	if err != nil {
		return nil
	}
	defer f.Close()
	d, err := loaded(f)
	if err != nil {
		return []string{err.Error()}
	}
	return d[i.Key+"|"+i.Sub]
}

func (p plain) Back(_ context.Context, in io.Reader, file string, _ record.Coverages, each func(*record.Record) (*record.Record, error),
	fault func(*record.Record, error) error, reject func(*record.Reject) error) error {
	return p.Read(in, file, nil, func(r *record.Record) error {
		back, err := each(r)
		if err == nil && back != nil && text(back) != text(r) {
			return fault(r, fmt.Errorf("%s does not come back", r.Key))
		}
		return err
	}, reject)
}

func (p plain) Holds(in io.Reader, file string, edits []record.Edit, _ func(record.ID) bool) error {
	d, err := loaded(in)
	for _, e := range edits {
		if !e.Delete && len(d[e.Record.Key+"|"+e.Record.Sub]) == 0 {
			err = errors.Join(err, fmt.Errorf("%s: %s is not there", file, e.Record.Key))
		}
	}
	return err
}

func (p plain) Fits(*record.Record) error { return nil }
