package indexrecord_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/entity/indexrecord"
)

// Index records and marks name the keys of indexes: each name becomes that of the other
// namespace, and nothing else changes.
func TestMovedEntries(t *testing.T) {
	t.Parallel()
	to := func(p indexrecord.Place) (indexrecord.Place, bool) {
		rest, ok := strings.CutPrefix(p.Prefix, "a:")
		p.Prefix = "b-long:" + rest
		return p, ok
	}
	kind := indexrecord.Place{Index: "kind", Prefix: "a:k=|%:", Suffix: ":x", Value: "a:k:1"}
	all := indexrecord.Place{Index: "all", Prefix: "a:all", All: true}
	gone := indexrecord.Place{Index: "kind", Prefix: "z:", Value: "1"}
	moved := func(places ...indexrecord.Place) string {
		for i := range places {
			places[i], _ = to(places[i])
		}
		return string(indexrecord.Encode(places...))
	}
	doubted := func(record string) string { return "=?" + record[1:] }
	nested := func(name string, depth int) string { // of segments in each other: text of any size is copied once
		text := string(indexrecord.Encode(kind))[1:]
		for range depth {
			text = name + "=" + strconv.Itoa(len(text)) + ":" + text
		}
		return "=" + text
	}
	inner := func(record string) string {
		m := "m=" + strconv.Itoa(len(record)-1) + ":" + record[1:]
		intent := "t=1:t" + "o=1:1" + "k=1:w" + m
		return "=#=1:0@=0:~=1:x" + "!=" + strconv.Itoa(len(intent)) + ":" + intent
	}
	for what, c := range map[string]struct{ id, entry, want string }{
		"a record":               {"1", string(indexrecord.Encode(kind, all)), moved(kind, all)},
		"a doubted place":        {"1", doubted(string(indexrecord.Encode(kind))), doubted(moved(kind))},
		"an unknown index":       {"1", string(indexrecord.Encode(gone, all)), moved(all)},
		"no index":               {"1", "=", "="},
		"an open intent":         {"1", inner(string(indexrecord.Encode(kind))), inner(moved(kind))},
		"an intent in an intent": {"1", nested("!", 2_000), nested("!", 2_000)},
		"no intent has it":       {"1", nested("m", 2_000), nested("m", 2_000)},
		"what is said of all": {"", string(indexrecord.Complete(kind, gone, all)),
			string(indexrecord.Complete(must1(to(kind)), must1(to(all))))},
		"an index that is built": {"", "0000000000000000~12345678all|a:all\n-kind|z:|\n",
			"0000000000000000~12345678all|b-long:all\n"},
	} {
		if got, err := indexrecord.Moved(c.id, c.entry, to); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", what, got, err, c.want)
		}
	}
	for what, c := range map[string]struct {
		id, entry string
		form      bool
	}{
		"an entry of a newer form":       {"1", "+x", true},
		"marks of a newer form":          {"", "x", true},
		"an entry that is cut":           {"1", string(indexrecord.Encode(kind))[:12], false},
		"an intent that is cut":          {"1", "=!=3:m=9", false},
		"a length that is written oddly": {"1", "=all|a:all=00:", false},
	} {
		if got, err := indexrecord.Moved(c.id, c.entry, to); err == nil || errors.Is(err, indexrecord.ErrForm) != c.form {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
}

func must1(p indexrecord.Place, _ bool) indexrecord.Place { return p }
