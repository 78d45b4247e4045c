package selection_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
	"pgregory.net/rapid"
)

const declaration = `keywright: 1
owner: core
owns: ["app:*"]
foreign: ["bull:*"]
vars: {issue: int, user: text}
keys:
  issue: {key: "app:issue:{issue}", type: string, ttl: none, was: ["old:issue:{issue}"]}
  comment: {key: "app:issue:{issue}:comment:{user}", type: string, ttl: none}
  guard: {key: "app:lock:{issue}", type: lock, ttl: 10s, owner: worker}
  flags: {key: "app:fl*gs", type: hash, ttl: none}
`

func loaded(t interface{ Fatal(...any) }) *keyspace.Keyspace {
	ks, findings := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(declaration)}}, "keyspace.yaml")
	if len(findings) > 0 {
		t.Fatal(fmt.Sprint(findings))
	}
	return ks
}

var keys = []string{"app:issue:1", "app:issue:123", "app:issue:1234", "app:issue:123:comment:bob",
	"app:issue:1:comment:123", "app:lock:123", "{app:lock:123}:fence", "app:fl*gs", "app:flags",
	"app:other", "bull:x", "old:issue:123", "elsewhere", ""}

// Each request means exactly these keys.
func TestMeant(t *testing.T) {
	ks := loaded(t)
	for _, c := range []struct {
		what    string
		request selection.Request
		want    []string
	}{
		{"everything", selection.Request{}, keys},
		{"an entry", selection.Request{Entries: []string{"issue"}}, keys[0:3]},
		{"an entry with derived keys", selection.Request{Entries: []string{"guard"}}, keys[5:7]},
		{"an owner", selection.Request{Owners: []string{"worker"}}, keys[5:7]},
		{"a value, exactly", selection.Request{Where: []selection.Condition{{"issue", "123"}}},
			[]string{keys[1], keys[3], keys[5], keys[6]}},
		{"a value and an entry",
			selection.Request{Where: []selection.Condition{{"issue", "123"}}, Entries: []string{"comment"}}, []string{keys[3]}},
		{"two values", selection.Request{Where: []selection.Condition{{"issue", "1"}, {"user", "123"}}}, []string{keys[4]}},
		{"a glob", selection.Request{Globs: []string{"app:issue:1*"}}, keys[0:5]},
		{"a glob and an owner", selection.Request{Globs: []string{"app:*"}, Owners: []string{"worker"}}, keys[5:6]},
		{"undeclared within a glob", selection.Request{Undeclared: true, Within: []string{"app:*"}},
			[]string{"app:flags", "app:other"}},
		{"within a glob, and what is declared", selection.Request{Within: []string{"x:*"}},
			[]string{"app:issue:1", "app:issue:123", "app:issue:1234",
				"app:issue:123:comment:bob", "app:issue:1:comment:123", "app:lock:123", "{app:lock:123}:fence", "app:fl*gs",
				"old:issue:123"}},
		{"undeclared", selection.Request{Undeclared: true}, []string{"app:flags", "app:other", "elsewhere", ""}},
	} {
		s, err := selection.Compile(ks, c.request)
		if err != nil {
			t.Fatal(c.what, err)
		}
		want := map[string]bool{}
		for _, k := range c.want {
			want[k] = true
		}
		for _, k := range keys {
			if _, ok := s.Of([]byte(k)); ok != want[k] {
				t.Errorf("%s: %q: %v", c.what, k, ok)
			}
		}
	}
}

// What the declaration does not have is refused, with what was probably meant.
func TestRefused(t *testing.T) {
	ks := loaded(t)
	for _, r := range []selection.Request{{Entries: []string{"isue"}}, {Owners: []string{"wroker"}},
		{Where: []selection.Condition{{"isue", "1"}}}, {Globs: []string{""}}} {
		_, err := selection.Compile(ks, r)
		var refused *selection.Error
		if !errors.As(err, &refused) || refused.Hint == "" {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := selection.ParseCondition("issue"); err == nil {
		t.Error("a condition without = is taken")
	}
}

// The glob that a server is given matches each key that is meant.
func TestTheGlobMatchesWhatIsMeant(t *testing.T) {
	ks := loaded(t)
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		r := selection.Request{
			Entries: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"issue", "comment", "guard", "flags"}), 0, 3, rapid.ID).
				Draw(t, "entries"),
			Owners: rapid.SliceOfN(rapid.SampledFrom([]string{"core", "worker"}), 0, 1).Draw(t, "owners"),
			Within: rapid.SliceOfN(rapid.SampledFrom([]string{"app:*", "b[^a]ll*"}), 0, 2).Draw(t, "within"),
			Globs:  rapid.SliceOfN(rapid.SampledFrom([]string{"app:*", "*1*", "old:?*"}), 0, 2).Draw(t, "globs"),
		}
		s, err := selection.Compile(ks, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			if _, ok := s.Of([]byte(k)); ok && s.Glob() != "" && !source.Glob([]byte(s.Glob()), []byte(k)) {
				t.Fatalf("%+v: the glob %q does not match %q", r, s.Glob(), k)
			}
		}
	})
	if s, _ := selection.Compile(ks, selection.Request{Entries: []string{"issue", "comment"}}); s.Glob() != "app:issue:*" {
		t.Errorf("the glob is %q", s.Glob())
	}
}
