package selection

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/source"
)

func read(t *testing.T, text string) *keyspace.Keyspace {
	t.Helper()
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte("keywright: 1\nowner: core\n" + text)}}, "k.yaml")
	for _, f := range found {
		if f.Severity.String() == "error" {
			t.Fatal(f.Message)
		}
	}
	return ks
}

// TestGlob: what a server is asked for is the only glob that is meant, or the longest beginning of all of them with what
// is special in it escaped; nothing where that would not help.
func TestGlob(t *testing.T) {
	plain := read(t, `vars: {id: int}
keys:
  a: {key: "app:a:{id}", type: string, ttl: none, was: ["old:a:{id}"]}
  b: {key: "app:b:{id}", type: string, ttl: none, owner: two}
  s: {key: "app:b*[s]", type: string, ttl: none, owner: two}
  z: {key: "z", type: string, ttl: none, owner: three}
`)
	spaced := read(t, `namespace: shop
keys:
  a: {key: "shop:a:{x}", type: string, ttl: none}
  b: {key: "shop:b:{x}", type: string, ttl: none, was: ["former:{x}"]}
`)
	inside := read(t, "namespace: shop\nkeys:\n  a: {key: \"shop:a:{x}\", type: string, ttl: none}\n")
	for _, c := range []struct {
		ks   *keyspace.Keyspace
		r    Request
		want string
	}{
		{plain, Request{}, ""}, {nil, Request{}, ""}, {nil, Request{Globs: []string{"x:*"}}, "x:*"},
		{plain, Request{Globs: []string{"x:?[a]*"}}, "x:?[a]*"}, {plain, Request{Globs: []string{"x:*", "y:*"}}, ""},
		{plain, Request{Entries: []string{"a"}}, "app:a:*"}, {plain, Request{Entries: []string{"a", "b"}}, "app:*"},
		{plain, Request{Entries: []string{"a"}, Globs: []string{"app:*"}}, "app:a:*"},
		{plain, Request{Owners: []string{"two"}}, "app:b*"}, {plain, Request{Entries: []string{"s"}}, `app:b\*\[s\]`},
		{plain, Request{Owners: []string{"three"}}, "z"}, {plain, Request{Entries: []string{"a", "z"}}, ""},
		{plain, Request{Where: []Condition{{"id", "1"}}}, "app:*"},
		{plain, Request{Entries: []string{"z"}, Where: []Condition{{"id", "1"}}}, ""},
		{plain, Request{Within: []string{"app:*"}}, ""}, {plain, Request{Undeclared: true}, ""},
		{plain, Request{Undeclared: true, Within: []string{"app:*"}}, "app:*"},
		{plain, Request{Undeclared: true, Within: []string{"app:x*", "app:y*"}}, "app:*"},
		{spaced, Request{Undeclared: true}, `shop[^\-A-Za-z0-9_]*`},
		{spaced, Request{Undeclared: true, Within: []string{"shop:x*"}}, "shop:x*"},
		{inside, Request{Within: []string{`shop[^\-A-Za-z0-9_]*`}}, `shop[^\-A-Za-z0-9_]*`},
		{spaced, Request{Within: []string{`shop[^\-A-Za-z0-9_]*`}}, ""},
	} {
		s, err := Compile(c.ks, c.r)
		if err != nil {
			t.Fatal(err)
		}
		if s.Glob() != c.want {
			t.Errorf("%+v: %q, not %q", c.r, s.Glob(), c.want)
		}
	}
}

// TestEscape: a text that is escaped is a glob for this text only, and its beginning without special characters is the
// text.
func TestEscape(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		text := rapid.StringMatching(`[a*?\[\]\\^é:-]{0,8}`).Draw(t, "text")
		if got := literal(escape(text)); got != text || !source.Glob([]byte(escape(text)), []byte(text)) {
			t.Fatalf("%q is escaped as %q, which begins with %q", text, escape(text), got)
		}
		if text != "" && source.Glob([]byte(escape(text)), []byte(text+"x")) {
			t.Fatalf("%q matches more than %q", escape(text), text)
		}
	})
	for glob, want := range map[string]string{"": "", "a*": "a", "a?b": "a", "a[b]": "a", `a\*b*`: "a*b", `a\`: "a", "*": ""} {
		if got := literal(glob); got != want {
			t.Errorf("%q begins with %q, not %q", glob, got, want)
		}
	}
}

// TestWhatIsRefused: what a declaration does not have is refused by its kind and name, with what was probably meant.
func TestWhatIsRefused(t *testing.T) {
	ks := read(t, "keys:\n  album: {key: \"a:{artist}\", type: string, ttl: none}\n")
	const list = "`keywright explain` lists what it declares"
	for _, c := range []struct {
		r    Request
		want string
	}{
		{Request{Entries: []string{"album", "albun"}}, `the declaration has no entry "albun" / did you mean album?`},
		{Request{Owners: []string{"cor"}}, `the declaration has no owner "cor" / did you mean core?`},
		{Request{Where: []Condition{{"artis", "1"}}}, `the declaration has no placeholder "artis" / did you mean artist?`},
		{Request{Entries: []string{"quite_other"}}, `the declaration has no entry "quite_other" / ` + list},
		{Request{Globs: []string{""}}, `"" is no glob: a glob has 1 to 1024 bytes, not 0 / write a glob as SCAN MATCH takes it: user:*`},
		{Request{Within: []string{"a", ""}}, `"" is no glob: a glob has 1 to 1024 bytes, not 0 / write a glob as SCAN MATCH takes it: user:*`},
	} {
		s, err := Compile(ks, c.r)
		var refused *Error
		if !errors.As(err, &refused) || s != nil || refused.Error()+" / "+refused.Hint != c.want {
			t.Errorf("%+v: %v %+v", c.r, err, refused)
		}
	}
	for text, want := range map[string]Condition{"a=b": {"a", "b"}, "a=": {"a", ""}, "a=b=c": {"a", "b=c"}} {
		if got, err := ParseCondition(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a", "=b", "="} {
		var refused *Error
		if _, err := ParseCondition(text); !errors.As(err, &refused) ||
			refused.What+" / "+refused.Hint != `"`+text+`" is no condition / write placeholder=value, as in issue=123` {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestWhatIsFound: a key has its entry and its declared key whether it is meant or not; keys with which keywright works
// are never moved, and those of other programs are foreign.
func TestWhatIsFound(t *testing.T) {
	ks := read(t, "owns: [\"a:*\"]\nforeign: [\"f:*\"]\nkeys:\n  x: {key: \"a:x:{id}\", type: string, ttl: none}\n"+
		"  l: {key: \"a:l:{id}\", type: lock, ttl: 1m}\n")
	s, err := Compile(ks, Request{Entries: []string{"l"}})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"a:x:1": "x no", "a:l:1": "l yes", "{a:l:1}:fence": "l.fence yes", "a:y": " no",
		"f:1": " no foreign", "": " no", strings.Repeat("a", 70000): " no"} {
		entry, k, ok := s.Find([]byte(key))
		name := ""
		if k != nil {
			name = k.Name
			if s.Names()[entry] != k.Entry.Name {
				t.Errorf("%q is of %d", key, entry)
			}
		} else if entry != Undeclared {
			t.Errorf("%q is of %d", key, entry)
		}
		got := name + map[bool]string{true: " yes", false: " no"}[ok]
		if s.Foreign([]byte(key)) {
			got += " foreign"
		}
		if got != want {
			t.Errorf("%.20q: %q, not %q", key, got, want)
		}
	}
	all, err := Compile(nil, Request{})
	if err != nil {
		t.Fatal(err)
	}
	for key, works := range map[string]bool{ActingKey: true, ActingKey + "x": false, TemporaryPrefix: true,
		RenamingPrefix + "1": true, keyspace.JanitorKeys + "a": true, "keywright:migrate:a": false, "": false, "a": false} {
		if _, moved := all.Moves([]byte(key)); moved == works || Working([]byte(key)) != works {
			t.Errorf("%q: %t", key, moved)
		}
	}
}
