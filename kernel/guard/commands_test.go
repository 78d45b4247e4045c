package guard

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

var update = flag.Bool("update", false, "write commands.txt")

// TestTheTableIsWhatTheServersSay makes the table of both servers. Where they
// differ, what Valkey says counts: it is the newer one.
func TestTheTableIsWhatTheServersSay(t *testing.T) {
	lines := map[string]string{}
	for _, brand := range keywrighttest.Brands() {
		s := keywrighttest.Start(t, brand)
		groups := map[string]string{}
		for name, doc := range pairs(s.Do("COMMAND", "DOCS")) {
			groups[name] = fmt.Sprint(pairs(doc)["group"])
		}
		for _, c := range s.Do("COMMAND").([]any) {
			describe(lines, groups, "", c.([]any))
		}
	}
	var b strings.Builder
	b.WriteString("# name, group, read or write, key specifications; of COMMAND and COMMAND DOCS\n")
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		b.WriteString(lines[name] + "\n")
	}
	if *update {
		if err := os.WriteFile("commands.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if b.String() != commandsText {
		t.Error("the table is not what these servers say; run go test ./kernel/guard -run TheTable -update and look at " +
			"the difference")
	}
	if len(lines) < 300 {
		t.Errorf("only %d commands", len(lines))
	}
}

// pairs makes a map of a reply, in RESP2 or RESP3.
func pairs(v any) map[string]any {
	out := map[string]any{}
	switch v := v.(type) {
	case map[any]any:
		for k, x := range v {
			out[fmt.Sprint(k)] = x
		}
	case []any:
		for i := 0; i+1 < len(v); i += 2 {
			out[fmt.Sprint(v[i])] = v[i+1]
		}
	}
	return out
}

// describe writes a command and its subcommands as lines.
func describe(lines, groups map[string]string, group string, c []any) {
	name := strings.ToLower(fmt.Sprint(c[0]))
	group = cmp.Or(groups[name], group)
	access := "read"
	if slices.Contains(texts(c[2]), "write") {
		access = "write"
	}
	line := []string{name, group, access}
	for _, s := range c[8].([]any) {
		line = append(line, specification(pairs(s)))
	}
	if group == "scripting" && strings.Contains(name, "eval") || name == "fcall" || name == "fcall_ro" {
		line[2] = map[bool]string{true: "read", false: "write"}[strings.HasSuffix(name, "_ro")]
	}
	lines[name] = strings.Join(line, "\t")
	for _, sub := range c[9].([]any) {
		describe(lines, groups, group, sub.([]any))
	}
}

func texts(v any) []string {
	var out []string
	if list, ok := v.([]any); ok {
		for _, x := range list {
			out = append(out, strings.ToLower(fmt.Sprint(x)))
		}
	}
	return out
}

func specification(s map[string]any) string {
	var words []string
	for _, flag := range texts(s["flags"]) {
		if slices.Contains([]string{"ro", "rw", "ow", "rm"}, flag) {
			flag = strings.ToUpper(flag)
		}
		words = append(words, flag)
	}
	begin, find := pairs(s["begin_search"]), pairs(s["find_keys"])
	b, f := pairs(begin["spec"]), pairs(find["spec"])
	switch begin["type"] {
	case "index":
		words = append(words, fmt.Sprintf("@%v", b["index"]))
	case "keyword":
		words = append(words, fmt.Sprintf("@%v,%v", b["startfrom"], b["keyword"]))
	default:
		words = append(words, "?")
	}
	switch find["type"] {
	case "range":
		words = append(words, fmt.Sprintf("range:%v,%v,%v", f["lastkey"], f["keystep"], f["limit"]))
	case "keynum":
		words = append(words, fmt.Sprintf("keynum:%v,%v,%v", f["keynumidx"], f["firstkey"], f["keystep"]))
	default:
		words = append(words, "?")
	}
	return strings.Join(words, " ")
}

// TestKeysAreThoseOfTheServer asks COMMAND GETKEYS for commands of every form.
func TestKeysAreThoseOfTheServer(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	for _, line := range []string{
		"GET a", "SET a v", "MSET a 1 b 2 c 3", "DEL a b c", "ZUNIONSTORE d 2 a b WEIGHTS 1 2", "ZUNION 2 a b",
		"EVAL x 2 a b c", "EVALSHA x 0 c", "FCALL f 1 a b",
		"XREAD COUNT 2 STREAMS a b 0 0", "XREADGROUP GROUP g c COUNT 1 STREAMS a b > >", "SORT a STORE b", "SORT_RO a",
		"GEORADIUS a 1 2 3 m STORE b", "GEOSEARCHSTORE a b FROMLONLAT 1 2 BYRADIUS 3 m",
		"BITOP AND d a b", "PFMERGE d a b", "BLPOP a b 0", "LMPOP 2 a b LEFT", "BLMPOP 0 2 a b LEFT", "RENAME a b",
		"COPY a b", "MIGRATE h 1 a 0 1", "MIGRATE h 1 \"\" 0 1 KEYS a b", "OBJECT ENCODING a", "XGROUP CREATE a g $",
		"XINFO STREAM a", "MEMORY USAGE a", "SINTERCARD 2 a b", "BITFIELD a GET u8 0", "ZADD a 1 m", "HSET a f v",
		"XADD a * f v", "SMOVE a b m", "LMOVE a b LEFT LEFT", "RPOPLPUSH a b", "EXPIRE a 5", "TOUCH a b", "WATCH a b",
		"DUMP a", "RESTORE a 0 x", "PUBLISH c m", "PING", "GETEX a EX 5", "LCS a b",
	} {
		args := strings.Fields(strings.ReplaceAll(line, `""`, "\x00"))
		for i, a := range args {
			if a == "\x00" {
				args[i] = ""
			}
		}
		reply, _ := s.Try(append([]string{"COMMAND", "GETKEYS"}, args...)...)
		var got []string
		if c := lookup(args); c != nil {
			for i := range c.specs {
				c.specs[i].keys(args, func(at int) { got = append(got, args[at]) })
			}
		}
		want := []string{}
		if list, ok := reply.([]any); ok {
			for _, k := range list {
				want = append(want, fmt.Sprint(k))
			}
		}
		got = slices.DeleteFunc(got, func(k string) bool { return k == "" })
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(slices.Compact(got), slices.Compact(want)) {
			t.Errorf("%s: keys %q, the server says %q", line, got, want)
		}
	}
}
