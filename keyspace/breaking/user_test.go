package breaking

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
)

// TestChangesOfAUser: what a change does is said where it is written, in words that are
// true, with an order of deployment of its own.
func TestChangesOfAUser(t *testing.T) {
	const old = `keywright: 1
package: p
owner: o
owns: ["a:*", "b:*"]
vars: {lane: high|low}
keys:
  jobs: {key: "a:{lane}", type: queue, order: lane, ttl: none}
  held: {key: "a:held", type: lock, ttl: 1h}
  beat:
    key: a:beat
    type: string
    value: unix_ms
    ttl: 1h
  info:
    key: a:info
    type: hash
    fields:
      n: int
      size: int 0..9
    ttl: 1h
cleanup:
  - {match: "a:temp:*", idle: 1h}
`
	for _, test := range []struct{ from, to, code, place, message, order string }{
		{"high|low", "urgent|high|low", "KW619", "7:47",
			"jobs has new lanes, urgent, and deployed workers take nothing from them",
			"all workers, then what enqueues into the new lanes"},
		{"lock, ttl: 1h", "lock, ttl: 10m", "KW622", "8:42", "held had the TTL 1h and has 10m",
			"any: each holder takes the lock with the lease of its own version"},
		{"unix_ms", "unix_s", "KW613", "12:12", "the value of beat was unix_ms and is unix_s",
			"there is none under one name"},
		{"int 0..9", "int 0..5", "KW613", "19:7", "the field size of info was int 0..9 and is int 0..5", "first rewrite"},
		{"idle: 1h", "idle: 5m", "KW630", "22:5",
			"the clean-up of a:temp:* takes keys that were not used for 5m, and took them that were not used for 1h",
			"any; the clean-up last"},
		{`["a:*", "b:*"]`, `["a:*"]`, "KW604", "4:8", "b:* was owned", "any"},
	} {
		before, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(old)}}, "k.yaml")
		after, more := load.File(fstest.MapFS{"k.yaml": {Data: []byte(strings.Replace(old, test.from, test.to, 1))}},
			"k.yaml")
		if len(found)+len(more) > 0 {
			t.Fatal(found, more)
		}
		said := false
		for _, f := range Run(before, after) {
			if f.Code != test.code {
				continue
			}
			place := strconv.Itoa(f.Pos.Line) + ":" + strconv.Itoa(f.Pos.Column)
			if said = true; place != test.place || !strings.HasPrefix(f.Message, test.message) ||
				!strings.HasPrefix(f.Order, test.order) {
				t.Errorf("%s → %s: %s %s (%s)", test.from, test.to, place, f.Message, f.Order)
			}
		}
		if !said {
			t.Errorf("%s → %s: no %s", test.from, test.to, test.code)
		}
	}
}

// TestAnIndexThatMovesIsOneFinding: its keys have no former names, so that only the
// command that builds it says what to do.
func TestAnIndexThatMovesIsOneFinding(t *testing.T) {
	found := Run(loaded(t, file("keys:\n  "+memo)),
		loaded(t, file("keys:\n  "+strings.Replace(memo, "mi:{k}", "mj:{k}", 1))))
	if len(found) != 1 || found[0].Code != "KW615" {
		t.Error(found)
	}
}

// TestAFixThatIsWrittenEndsTheFinding: what KW601 says is to be added is added, and no key of the old pattern is
// unknown then, although the types of its placeholders changed with it.
func TestAFixThatIsWrittenEndsTheFinding(t *testing.T) {
	const either = "let the var v take what is stored until no key has it; or write was: [\"a:{v_was}\"] at a, and v_was: "
	for name, c := range map[string]struct {
		oldVars, vars, old, new string
		fix                     string // what begins it
	}{
		"the pattern": {"v: hex 32", "v: hex 32", `key: "a:{v}", type: set, ttl: 1h`, `key: "b:{v}", type: set, ttl: 1h`,
			`add was: ["a:{v}"]`},
		"both": {"v: hex 32", "v: hex 40", `key: "a:{v}", type: set, ttl: 1h`, `key: "b:{v}", type: set, ttl: 1h`,
			`add was: ["a:{v_was}"], and v_was: hex 32 under vars`},
		"both, with a was that does not do": {"v: hex 32", "v: hex 40", `key: "a:{v}", type: set, ttl: 1h`,
			`key: "b:{v}", was: ["a:{v}"], type: set, ttl: 1h`, `add was: ["a:{v_was}"], and v_was: hex 32 under vars`},
		"a name that is taken": {"v: hex 32, w: date", "v: hex 40, w: date, v_was: int",
			`key: "a:{w}:{v}", type: set, ttl: 1h`, `key: "b:{w}:{v}:{v_was}", type: set, ttl: 1h`,
			`add was: ["a:{w}:{v_was_was}"], and v_was_was: hex 32 under vars`},
		"a var that is there": {"v: hex 32", "v: hex 40, v_was: hex 32", `key: "a:{v}", type: set, ttl: 1h`,
			`key: "b:{v}", type: set, ttl: 1h`, `add was: ["a:{v_was}"]`},
		"two vars": {`v: hex 32, w: "/[a-f]{3}/"`, `v: hex 40, w: "/[a-e]{3}/"`, `key: "{#a:{v}}:{w}", type: set, ttl: 1h`,
			`key: "{#b:{v}}:{w}", type: set, ttl: 1h`,
			`add was: ["{#a:{v_was}}:{w_was}"], and v_was: hex 32, w_was: "/[a-f]{3}/" under vars`},
		"a text": {"", "v: hex 8", `key: "a:{v}", type: set, ttl: 1h`, `key: "b:{v}", type: set, ttl: 1h`,
			`add was: ["a:{v_was}"], and v_was: text under vars`},
		"an entity": {"v: hex 32", "v: hex 40",
			`key: "a:{v}", type: entity, fields: {k: text}, ttl: 1h, expiry: x, ledger: y, sweep: z`,
			`key: "b:{v}", type: entity, fields: {k: text}, ttl: 1h, expiry: x, ledger: y, sweep: z`,
			`add was: ["a:{v_was}"], and v_was: hex 32 under vars`},
		"a lock": {"v: hex 32", "v: hex 40", `key: "a:{v}", type: lock, ttl: 1h`, `key: "b:{v}", type: lock, ttl: 1h`,
			`add was: ["a:{v_was}"], and v_was: hex 32 under vars`},
		"a queue": {"v: high|mid|low", "v: high|low", `key: "a:{v}", type: queue, order: v, value: text, ttl: none`,
			`key: "b:{v}", type: queue, order: v, value: text, ttl: none`, fixOfEntries},
		"the var": {"v: hex 32", "v: hex 40", `key: "a:{v}", type: set, ttl: 1h`, `key: "a:{v}", type: set, ttl: 1h`,
			either + `hex 32 under vars, and so at each entry`},
		"the var, in part": {"v: int 1..", "v: int 5..", `key: "a:{v}", type: set, ttl: 1h`,
			`key: "a:{v}", type: set, ttl: 1h`,
			either + `int 1.. under vars`},
	} {
		t.Run(name, func(t *testing.T) {
			declared := func(vars, entry string) *keyspace.Keyspace {
				return loaded(t, "keywright: 1\nowner: o\nvars: {"+vars+"}\nkeys: {a: {"+entry+"}}\n")
			}
			found := func(vars, entry string) *finding.Finding {
				out := Run(declared(c.oldVars, c.old), declared(vars, entry), Key)
				if i := slices.IndexFunc(out, func(f finding.Finding) bool { return f.Code == "KW601" }); i >= 0 {
					return &out[i]
				}
				return nil
			}
			f := found(c.vars, c.new)
			if f == nil || f.Order == "" || !strings.HasPrefix(f.Fix, c.fix) {
				t.Fatalf("want %q: %+v", c.fix, f)
			}
			parts := regexp.MustCompile(`was: (\[.*?\])(?: at a)?(?:, and (.*) under vars)?`).FindStringSubmatch(f.Fix)
			if (parts == nil) != (c.fix == fixOfEntries) {
				t.Fatalf("%+v", f)
			}
			if parts == nil {
				return
			}
			vars, entry := strings.Trim(c.vars+", "+parts[2], ", "), c.new+", was: "+parts[1]
			if strings.Contains(c.new, "was: [") {
				entry = regexp.MustCompile(`was: \[.*?\]`).ReplaceAllLiteralString(c.new, "was: "+parts[1])
			}
			if again := found(vars, entry); again != nil {
				t.Errorf("%s does not end it: %+v", f.Fix, again)
			}
		})
	}
}
