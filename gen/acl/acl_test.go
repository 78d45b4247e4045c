package acl_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/gen/acl"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/keywrighttest"
)

var loaded = declared.Keyspace[string]

func users(t testing.TB, ks *keyspace.Keyspace) []acl.User {
	t.Helper()
	u, err := acl.Users(ks)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// team is a declaration with everything that makes a difference to an ACL.
const team = `keywright: 1
owner: api
vars: {id: uuid, day: date, n: int 0.., one: int 1..7, color: red|green, h: hex 4}
keys:
  profile: {key: "user:{name}", type: hash, fields: {a: text}, ttl: 1d, readers: [mail]}
  private: {key: "user:{name}:private", type: string, ttl: 1d, owner: vault}
  item: {key: "item:{id}:{color}", type: string, ttl: 1d, readers: [mail, web]}
  odd: {key: 'odd key\{"{h}[*', type: set, ttl: 1d, owner: web}
  days: {key: "days:{day}:{one}", type: ranking, ttl: 7d, readers: [web]}
  bytes: {key: 'b\xff\xfe:{n}', type: string, ttl: 1d}
  job: {key: "job:{n}", type: lock, ttl: 1m, owner: worker}
  q: {key: q, type: queue, ttl: none, owner: worker, readers: [mail]}
  memo: {key: "memo:{id}", type: entity, ttl: 1h, owner: worker, fields: {color: color}, index: {color: "memoidx:{color}"}, emits: {create: made, delete: unmade}}
  count: {type: script, file: s.lua, keys: [days], owner: mail, readers: [web], effect: idempotent}
  look: {type: script, file: s.lua, keys: [private], owner: web, effect: reads}
channels:
  made: "memo:made"
  sold: {channel: "sold:{n}", readers: [web]}
  unmade: {channel: "memo:unmade", durable: {age: 1d}, owner: mail, readers: [web]}
  ask: {channel: "ask:{n}", owner: web, readers: [mail], reply: {a: int}}
`

// declarations returns the keyspaces that the proofs run over.
func declarations(t *testing.T) map[string]*keyspace.Keyspace {
	t.Helper()
	out := map[string]*keyspace.Keyspace{"team": loaded(t, team)}
	files, err := filepath.Glob("../../examples/*/keyspace.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("%v %v", files, err)
	}
	for _, file := range files {
		ks, found := load.File(os.DirFS(filepath.Dir(file)), "keyspace.yaml")
		if c := finding.Count(found); c.Errors > 0 {
			t.Fatal(found[0].Message)
		}
		out[filepath.Base(filepath.Dir(file))] = ks
	}
	return out
}

// TestFilesLoad: both servers start with the file, and have the users as they
// should be.
func TestFilesLoad(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		for name, ks := range declarations(t) {
			t.Run(string(brand)+"/"+name, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "users.acl")
				if err := os.WriteFile(file, []byte("user default on nopass ~* &* +@all\n"+acl.File(users(t, ks))),
					0o600); err != nil {
					t.Fatal(err)
				}
				s := keywrighttest.Start(t, brand, keywrighttest.Config("aclfile", file))
				if got := s.Do("ACL", "USERS").([]any); len(got) != len(users(t, ks))+1 {
					t.Errorf("%v", got)
				}
			})
		}
	}
}

// TestReadersHearAllOfAPattern: a server compares the glob of PSUBSCRIBE with its rules byte
// by byte, so the rule of a reader is the one that generated code asks for.
func TestReadersHearAllOfAPattern(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		for name, ks := range declarations(t) {
			t.Run(string(brand)+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := keywrighttest.Start(t, brand)
				for _, u := range users(t, ks) {
					s.Do(append([]string{"ACL", "SETUSER"}, u.SetUser()...)...)
				}
				for _, c := range ks.PubSub() {
					own := slices.ContainsFunc(ks.Entries, func(e *keyspace.Entry) bool { return e.Notify == c })
					if c.Sharded || len(c.Pattern.Placeholders()) == 0 || own || c.Answers != nil {
						continue
					}
					for _, r := range c.Readers {
						if said := s.Do("ACL", "DRYRUN", r, "PSUBSCRIBE", c.Pattern.ScanGlob()); said != "OK" {
							t.Errorf("%s cannot hear %s: %v", r, c.Pattern, said)
						}
					}
				}
			})
		}
	}
}

// TestGlobsCoverTheirPattern, and are no wider than the plain glob.
func TestGlobsCoverTheirPattern(t *testing.T) {
	for name, ks := range declarations(t) {
		for _, k := range ks.Keys {
			plain, err := pattern.Glob(k.Pattern.ScanGlob())
			if err != nil {
				t.Fatal(err)
			}
			var parts []*pattern.Pattern
			for _, g := range acl.Globs(k.Pattern) {
				p, err := pattern.Glob(g)
				if err != nil {
					t.Fatalf("%s: %q: %v", k.Name, g, err)
				}
				if key, ok := pattern.Contains(plain, p); !ok && !strings.Contains(g, "?") {
					t.Errorf("%s %s: the glob %s also matches %q", name, k.Name, g, key)
				}
				parts = append(parts, p)
			}
			all, err := pattern.Join(parts...)
			if err != nil {
				t.Fatal(err)
			}
			if key, ok := all.Contains(k.Pattern); !ok {
				t.Errorf("%s %s: %q is a key and no glob of %q matches it", name, k.Name, key, acl.Globs(k.Pattern))
			}
		}
	}
	for _, text := range []string{"text", "text rest", "int", "int -5..5", "int 0..", "int 3..8", "float", "bool", "bytes",
		"uuid", "ulid", "hex", "hex 3", "slug", "date", "date HH[mm]", "timestamp", "unix_s", "a|b*|c?", "/[x-z]+/"} {
		typ, err := scalar.Parse(text, nil)
		if err != nil {
			continue
		}
		p, err := pattern.Parse(`a*{x}`, func(string) (scalar.Type, bool) { return typ, true })
		if err != nil {
			t.Fatal(err)
		}
		var parts []*pattern.Pattern
		for _, g := range acl.Globs(p) {
			part, err := pattern.Glob(g)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, part)
		}
		all, err := pattern.Join(parts...)
		if err != nil {
			t.Fatal(err)
		}
		if key, ok := all.Contains(p); !ok {
			t.Errorf("%s: %q is a key and no glob of %q matches it", text, key, acl.Globs(p))
		}
	}
}

// TestDiffOnServers: whatever way a server writes its users, one that was set as
// declared does not differ, and what is changed by hand is found.
func TestDiffOnServers(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s := keywrighttest.Start(t, brand)
		categories := map[string][]string{}
		for _, name := range s.Do("ACL", "CAT").([]any) {
			for _, c := range s.Do("ACL", "CAT", fmt.Sprint(name)).([]any) {
				categories[fmt.Sprint(name)] = append(categories[fmt.Sprint(name)], fmt.Sprint(c))
			}
		}
		fieldsOf := func(name string) map[string]string {
			fields := map[string]string{}
			reply := s.Do("ACL", "GETUSER", name)
			if list, ok := reply.([]any); ok {
				for i := 0; i+1 < len(list); i += 2 {
					fields[fmt.Sprint(list[i])] = fmt.Sprint(list[i+1])
				}
			} else {
				for k, v := range reply.(map[any]any) {
					fields[fmt.Sprint(k)] = fmt.Sprint(v)
				}
			}
			return fields
		}
		actual := func(name string) acl.Actual {
			fields := fieldsOf(name)
			return acl.Actual{Name: name, Commands: fields["commands"], Keys: fields["keys"], Channels: fields["channels"]}
		}
		selectors := func(name string) string { return fieldsOf(name)["selectors"] }
		for name, ks := range declarations(t) {
			for _, u := range users(t, ks) {
				s.Do(append([]string{"ACL", "SETUSER"}, u.SetUser()...)...)
				one := []acl.User{u}
				if d := acl.Diff(one, []acl.Actual{actual(u.Name)}, categories); len(d) > 0 {
					t.Errorf("%s %s %s: %v", brand, name, u.Name, d)
				}
				s.Do("ACL", "SETUSER", u.Name, "+flushall", "-ping", "~other:*")
				var got []string
				for _, c := range acl.Diff(one, []acl.Actual{actual(u.Name)}, categories) {
					got = append(got, c.String())
				}
				if want := []string{"- " + u.Name + " +flushall", "+ " + u.Name + " +ping",
					"- " + u.Name + " ~other:*"}; !slices.Equal(got, want) {
					t.Errorf("%s %s: %q", brand, u.Name, got)
				}
				s.Do("ACL", "SETUSER", u.Name, "(+get ~other:*)") // whatever it had, SetUser makes it what is declared
				s.Do(append([]string{"ACL", "SETUSER"}, u.SetUser()...)...)
				if d := acl.Diff(one, []acl.Actual{actual(u.Name)}, categories); len(d) > 0 || selectors(u.Name) != "[]" {
					t.Errorf("%s %s after SetUser: %v, selectors %s", brand, u.Name, d, selectors(u.Name))
				}
				s.Do("ACL", "DELUSER", u.Name)
			}
		}
		if d := acl.Diff([]acl.User{{Name: "x"}}, nil, categories); len(d) != 1 || d[0].Rule != acl.Whole {
			t.Errorf("%v", d)
		}
	}
}

// TestDiffBeyondRights: a user that needs no password, is off, restores what was not
// checked, or has selectors, is not as declared.
func TestDiffBeyondRights(t *testing.T) {
	u := acl.User{Name: "u", Commands: []string{"get"}}
	for flag, want := range map[string]string{"nopass": "- u nopass", "off": "+ u on",
		"skip-sanitize-payload": "- u skip-sanitize-payload"} {
		if d := acl.Diff([]acl.User{u}, []acl.Actual{{Name: "u", Commands: "-@all +get", Flags: []string{flag}}},
			nil); len(d) != 1 || d[0].String() != want {
			t.Errorf("%s: %v", flag, d)
		}
	}
	if d := acl.Diff([]acl.User{u}, []acl.Actual{{Name: "u", Commands: "-@all +get", Selectors: 2}}, nil); len(d) != 1 ||
		d[0].String() != "- u (2 selectors)" {
		t.Errorf("selectors: %v", d)
	}
	if d := acl.Diff([]acl.User{u}, []acl.Actual{{Name: "u", Commands: "-@all +get", Flags: []string{"on"}}},
		nil); len(d) != 0 {
		t.Errorf("as declared: %v", d)
	}
}

// TestHostileNames: a name is one word of a line, or an error.
func TestHostileNames(t *testing.T) {
	for _, name := range []string{"a b", "x\\ny", "a'b", `a\"b`, "\u00a0x"} {
		ks := loaded(t, "keywright: 1\nowner: \""+name+"\"\nkeys: {k: {key: k, type: string, ttl: 1d}}\n")
		if _, err := acl.Users(ks); err == nil {
			t.Errorf("%q is the name of a user", name)
		}
	}
}

// TestReservedNames: no component is a user that a server or an operator has, under its own name.
func TestReservedNames(t *testing.T) {
	for _, text := range []string{"owner: default\nkeys: {k: {key: k, type: string, ttl: 1d}}\n",
		"owner: o\nkeys: {k: {key: k, type: string, ttl: 1d, readers: [keywright-repair]}}\n",
		"keys: {}\nchannels: {c: {channel: c, owner: o, readers: [sentinel-user]}}\n"} {
		users, err := acl.Users(loaded(t, "keywright: 1\n"+text))
		if bad, ok := errors.AsType[*acl.NameError](err); !ok || bad.Name == "o" {
			t.Errorf("%s: %v %v", text, users, err)
		}
	}
	ks := loaded(t, "keywright: 1\nowner: o\nkeys: {k: {key: k, type: lock, ttl: 1m}}\n")
	if _, err := acl.Repair(ks, "keywright-repair"); err != nil {
		t.Error(err)
	}
	ks = loaded(t, "keywright: 1\nowner: o\nkeys: {k: {key: k, type: queue, ttl: none, readers: [a, z]}}\n")
	if u, err := acl.Repair(ks, "m"); err != nil || u.Name != "m" || !slices.Contains(u.Commands, "scan") {
		t.Errorf("the user for repairs is %s, %v, %v", u.Name, u.Commands, err)
	}
}

func FuzzFile(f *testing.F) {
	f.Add("api", "user:{id}", "mail")
	f.Add("a", "x y\"{#{id}}:[*?]\\xff", "b")
	f.Fuzz(func(t *testing.T, owner, key, reader string) {
		text := fmt.Sprintf("keywright: 1\nowner: %q\nkeys: {k: {key: %q, type: string, ttl: 1d, readers: [%q]}}\n", owner, key, reader)
		ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(text)}}, "k.yaml")
		if c := finding.Count(found); c.Errors > 0 {
			return
		}
		list, err := acl.Users(ks)
		if err != nil {
			return
		}
		lines := strings.Split(strings.TrimSuffix(acl.File(list), "\n"), "\n")
		if len(lines) != len(list) && len(list) > 0 {
			t.Fatalf("%d users are %d lines", len(list), len(lines))
		}
		for i, u := range list {
			words := strings.Split(lines[i], " ")
			if words[0] != "user" || words[1] != u.Name || words[2] != "on" || !slices.Equal(words[3:], u.Rules()) {
				t.Fatalf("%q is not its words", lines[i])
			}
		}
	})
}
