package entity

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/keywrighttest"
)

func stored(t *testing.T, form string) [][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/forms.json")
	must(t, err)
	var forms map[string][][]string
	must(t, json.Unmarshal(data, &forms))
	return forms[form]
}

// TestStoredForms: what a program of today has stored is read, listed, changed, built,
// swept and deleted.
func TestStoredForms(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		for _, words := range stored(t, "1") {
			s.Do(words...)
		}
		ctx := t.Context()
		same(t, "of a kind", idsOf(t, notes, "kind", "k%|=x"), []string{"0"})
		if _, incomplete := lists(t, notes, 1); !incomplete {
			t.Error("an index with gaps is complete")
		}
		_, err := notes.Update(ctx, "1", setPriority.Set(3))
		must(t, err)
		_, err = notes.Update(ctx, "0", setKind.Set("k2"))
		must(t, err)
		swept, err := notes.Sweep(ctx, SweepOptions{})
		must(t, err)
		r, err := notes.Indexes(ctx, IndexOptions{Apply: true, Remove: []string{"gone"}})
		must(t, err)
		if swept.Gone != 1 || r.Interrupted || s.Do("EXISTS", "n:idx:gone:g:x|") != int64(0) {
			t.Errorf("%+v, %+v", swept, r)
		}
		same(t, "of a kind", idsOf(t, notes, "kind", "k2"), []string{"0", "1"})
		everywhere(t, notes)
		sound(t, notes)
		n, err := notes.DeleteAll(ctx, "0", "1")
		if must(t, err); n != 2 || s.Do("DBSIZE") != int64(0) {
			t.Errorf("%d deleted, %d keys are left", n, s.Do("DBSIZE"))
		}
	})
}

func idsOf(t *testing.T, s *Store[string, note], index, value string) []string {
	t.Helper()
	p, err := s.List(t.Context(), Query[note]{Of: s.By(index, value)})
	must(t, err)
	return ids(p)
}

// TestStoredFormsApart: the same where the keys are in several slots, with an intent of
// a process that died.
func TestStoredFormsApart(t *testing.T) {
	t.Parallel()
	c := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 0)
	notes, ctx := spread(t, c.URL(), "n"), t.Context()
	for _, words := range stored(t, "1, in several slots") {
		serverOf(c, words[1]).Do(words...)
	}
	same(t, "of a kind", idsOf(t, notes, "kind", "k"), []string{"0"})
	swept, err := notes.Sweep(ctx, SweepOptions{})
	if must(t, err); swept.Lives != 1 {
		t.Errorf("%+v", swept)
	}
	same(t, "of another kind", idsOf(t, notes, "kind", "other"), []string{"1"})
	_, err = notes.Update(ctx, "0", setPriority.Set(3))
	must(t, err)
	everywhere(t, notes)
	sound(t, notes)
	n, err := notes.DeleteAll(ctx, "0", "1")
	must(t, err)
	if left := keysLeft(c, "n"); n != 2 || left != 0 {
		t.Errorf("%d deleted, %d keys are left", n, left)
	}
}

// newerForms say what a newer program may write as index record of an item, or as marks.
var newerForms = map[string]func(id, said string) (field, text string){
	"an item":              func(id, _ string) (string, string) { return id, "2 anything at all" },
	"the marks":            func(_, said string) (string, string) { return "", "\x02" + said[1:] },
	"a state of one":       func(_, said string) (string, string) { return "", said + "*other|n:idx:other\n" },
	"nothing that is ours": func(string, string) (string, string) { return "", "2" },
}

// newerForm forges what a newer program keeps, does everything that writes, and gives what
// was changed or not refused. do sends a command to the server of a key.
func newerForm(t *testing.T, notes *Store[string, note], what string, do func(key string, words ...string) any,
	contents func() string) (wrong []string) {
	t.Helper()
	ctx, records := t.Context(), notes.core.Spec.Records
	for _, id := range []string{"1", "gone"} {
		_, err := notes.Create(ctx, id, a("k", 1))
		must(t, err)
	}
	read, err := notes.Get(ctx, "1")
	must(t, err)
	do(notes.core.Key("gone"), "DEL", notes.core.Key("gone"))
	for _, id := range []string{"1", "gone"} {
		field, text := newerForms[what](id, do(records, "HGET", records, "").(string))
		do(records, "HSET", records, field, text)
	}
	do(notes.core.Spec.Expires, "ZADD", notes.core.Spec.Expires, "1", "gone")
	notes.core.AgreedTo(strings.Repeat(" ", indexrecord.TokenSize)) // it has agreed to nothing yet
	before := contents()
	for name, act := range map[string]func() error{
		"create":  func() error { _, err := notes.Create(ctx, "gone", a("k", 1)); return err },
		"put":     func() error { _, err := notes.Put(ctx, "1", a("k2", 1)); return err },
		"replace": func() error { _, err := notes.Replace(ctx, "1", a("k2", 1)); return err },
		"save":    func() error { read.Value.Kind = "k3"; _, err := notes.Save(ctx, read); return err },
		"update":  func() error { _, err := notes.Update(ctx, "1", setText.Set("x")); return err },
		"move":    func() error { _, err := notes.Update(ctx, "1", setKind.Set("x")); return err },
		"delete":  func() error { _, err := notes.Delete(ctx, "1"); return err },
		"remove":  func() error { _, err := notes.DeleteItem(ctx, read); return err },
		"many": func() error {
			_, err := notes.PutAll(ctx, []Item[string, note]{{ID: "1", Value: a("k2", 1)}, {ID: "gone", Value: a("k2", 1)}})
			return err
		},
		"shorten":         func() error { _, err := notes.Shorten(ctx, "1", time.Minute); return err },
		"sweep":           func() error { _, err := notes.Sweep(ctx, SweepOptions{}); return err },
		"build":           func() error { _, err := notes.Indexes(ctx, IndexOptions{Apply: true}); return err },
		"remove an index": func() error { _, err := notes.Indexes(ctx, IndexOptions{Remove: []string{"other"}}); return err },
		"repair": func() error {
			var found []Problem
			_, err := notes.Check(ctx, CheckOptions{Apply: true, Found: func(p Problem) { found = append(found, p) }})
			if what == "an item" && len(found) > 0 && found[0].What == "form" {
				return notes.core.NewerForm("")
			}
			return errors.Join(err, fmt.Errorf("%+v", found))
		},
	} {
		if what == "a state of one" && (name == "shorten" || name == "sweep") {
			continue // which look at no state of an index
		}
		err := act()
		if class, _ := keywright.ClassOf(err); !errors.Is(err, ErrForm) ||
			class != keywright.Refused && name != "many" && name != "sweep" || !strings.Contains(err.Error(), records) {
			wrong = append(wrong, fmt.Sprintf("%s of %s: %v", name, what, err))
		}
		if after := contents(); after != before {
			wrong = append(wrong, fmt.Sprintf("%s of %s has changed\n%s\nto\n%s", name, what, before, after))
			before = after
		}
	}
	return wrong
}

// TestNewerForms: what a newer program keeps stays as it is, and the error says so.
func TestNewerForms(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		for what := range newerForms {
			s.Do("FLUSHALL")
			do := func(_ string, words ...string) any { return s.Do(words...) }
			for _, w := range newerForm(t, notes, what, do, func() string { return fmt.Sprint(contents(s, "n:")) }) {
				t.Error(w)
			}
		}
	})
}

// newerFormsApart returns the same where the keys are in several slots.
func newerFormsApart(s *scene) (wrong []string) {
	n := 0
	for what := range newerForms {
		n++
		one := *s
		one.prefix = fmt.Sprint(s.prefix, "f", n)
		do := func(key string, words ...string) any { return serverOf(s.cluster, key).Do(words...) }
		all := func() (text string) {
			for _, node := range s.cluster.Nodes[:s.cluster.Primaries] {
				text += fmt.Sprint(contents(node, one.prefix+":"), contents(node, "{"+one.prefix+"}:"))
			}
			return text
		}
		wrong = append(wrong, newerForm(s.t, one.process(), what, do, all)...)
		s.found = s.found || one.found
	}
	return wrong
}

// TestASweepGoesPastNewerForms: items of a newer form do not keep others from being swept.
func TestASweepGoesPastNewerForms(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		for i := range 50 {
			s.Do("ZADD", notes.core.Spec.Expires, fmt.Sprint(1+i), fmt.Sprint(i))
			s.Do("HSET", notes.core.Spec.Records, fmt.Sprint(i), map[bool]string{true: "2", false: "="}[i%5 < 3])
		}
		swept, err := notes.Sweep(t.Context(), SweepOptions{Batch: 4})
		if left := s.Do("ZCARD", notes.core.Spec.Expires); swept.Gone != 20 || left != int64(30) || !errors.Is(err,
			ErrForm) ||
			!strings.Contains(err.Error(), "30 items were not swept") {
			t.Errorf("%+v, %d are left, %v", swept, left, err)
		}
	})
}
