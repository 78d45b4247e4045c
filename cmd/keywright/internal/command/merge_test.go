package command

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/keywrighttest"
)

const mergeKeyspace = `keywright: 1
package: p
owner: o
owns: ["app:*"]
vars: {n: int}
keys:
  album: {doc: An album., key: "app:album:{n}", type: hash, ttl: none, fields: {title: text}}
`

// merges runs commands in a folder with mergeKeyspace.
type merges struct{ *testing.T }

func newMerges(t *testing.T) *merges {
	t.Chdir(t.TempDir())
	m := &merges{t}
	m.write("keyspace.yaml", mergeKeyspace)
	return m
}

func (m *merges) write(path, text string) {
	m.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.Fatal(err)
	}
}

// run runs a command, whose output may go to a file: "audit -o partial > a.part".
func (m *merges) run(code int, line string) (out, errs string) {
	m.Helper()
	line, to, _ := strings.Cut(line, " > ")
	var o, e strings.Builder
	if got := Main(m.Context(), strings.Fields(line),
		cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e, Getenv: func(string) string { return "" }}); got != code {
		m.Fatalf("%s: exit code %d, not %d\n%s%s", line, got, code, o.String(), e.String())
	}
	if to != "" {
		m.write(to, o.String())
	}
	return o.String(), e.String()
}

// report returns the JSON of a report without what cannot be alike.
func (m *merges) report(text string) string {
	m.Helper()
	var r map[string]any
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		m.Fatal(err)
	}
	for _, name := range []string{"server", "endpoint", "seconds", "notes"} {
		delete(r, name)
	}
	out, _ := json.MarshalIndent(r, "", " ")
	return string(out)
}

// TestMergedClusterIsWhole: the parts of a cluster, each audited alone, make the report of
// the cluster; parts that are there twice or not at all are found out, and slots that have
// moved between two audits.
func TestMergedClusterIsWhole(t *testing.T) {
	m := newMerges(t)
	c := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 0)
	for i := range 900 {
		key := fmt.Sprintf([]string{"app:album:%d", "app:albun:%d", "tmp:%d:x"}[i%3], i)
		for _, n := range c.Nodes {
			if _, err := n.Try("HSET", key, "title", strings.Repeat("x", i)); err == nil {
				break
			}
		}
	}
	audit := func(part string) {
		m.run(0, fmt.Sprintf("audit -u %s --values=all --part %s -o partial > %s.part", c.URL(), part,
			strings.ReplaceAll(part, "/", "-")))
	}
	whole, _ := m.run(1, "audit -u "+c.URL()+" --values=all -o json")
	for _, part := range []string{"1/3", "2/3", "3/3"} {
		audit(part)
	}
	merged, _ := m.run(1, "merge 3-3.part 1-3.part 2-3.part -o json")
	if a, b := m.report(whole), m.report(merged); a != b || !strings.Contains(a, `"keys": 900`) {
		t.Errorf("whole:\n%s\nmerged:\n%s", a, b)
	}
	m.run(0, "merge 2-3.part 3-3.part -o partial > larger.part")
	merged, _ = m.run(1, "merge larger.part 1-3.part -o json")
	if a, b := m.report(whole), m.report(merged); a != b {
		t.Errorf("whole:\n%s\nmerged by way of a larger part:\n%s", a, b)
	}
	out, _ := m.run(5, "merge 3-3.part 1-3.part")
	m.says(out, "INCOMPLETE: part 2 of 3 is missing")
	_, errs := m.run(2, "merge larger.part 2-3.part 1-3.part")
	m.says(errs, "2-3.part has a part that was there before: part 2 of 3")
	audit("1/2")
	audit("2/2")
	_, errs = m.run(2, "merge 1-3.part 1-2.part")
	m.says(errs, "1-2.part is part 1 of 2, and 1-3.part has part 1 of 3")
	merged, _ = m.run(1, "merge 1-2.part 2-2.part -o json")
	if a, b := m.report(whole), m.report(merged); a != b {
		t.Errorf("whole:\n%s\nmerged of two parts:\n%s", a, b)
	}
	_, errs = m.run(3, "audit -u "+c.URL()+" --part 4/4 -o partial")
	m.says(errs, "the cluster has 3 shards, which cannot be read in 4 parts")

	m.run(0, "audit -u "+c.URL()+" --values=all -o partial > all.part") // a part without a number has slots, too
	merged, _ = m.run(1, "merge all.part --parts 1 -o json")
	if a, b := m.report(whole), m.report(merged); a != b {
		t.Errorf("whole:\n%s\nmerged of the whole:\n%s", a, b)
	}
	all, err := os.ReadFile("all.part")
	if err != nil || strings.Count(string(all), `"Last":16383`) != 1 {
		t.Fatalf("%v: the last slot is not in it", err)
	}
	m.write("less.part", strings.Replace(string(all), `"Last":16383`, `"Last":16381`, 1))
	out, _ = m.run(5, "merge less.part --parts 1")
	m.says(out, "slot 16382, 16383 of the cluster is in no part")

	c.MoveSlots(1, 0, 2)
	audit("2/3")
	out, _ = m.run(5, "merge 1-3.part 2-3.part 3-3.part")
	m.says(out, "slot 5461, 5462 of the cluster is in no part")
	c.MoveSlots(2, 1, 2)
	audit("2/3")
	_, errs = m.run(2, "merge 1-3.part 2-3.part 3-3.part")
	m.says(errs, "it has moved between the audits of the parts")
}

func (m *merges) says(text, words string) {
	m.Helper()
	if !strings.Contains(text, words) {
		m.Errorf("it does not say %q:\n%s", words, text)
	}
}

// TestPartsThatDoNotFit: of other flags, another declaration, another version, cut, the same
// server or file twice, or of a number that is not known.
func TestPartsThatDoNotFit(t *testing.T) {
	m := newMerges(t)
	one, other := keywrighttest.Start(t, keywrighttest.Redis), keywrighttest.Start(t, keywrighttest.Redis)
	for i, s := range []*keywrighttest.Server{one, other} {
		s.Do("HSET", fmt.Sprintf("app:album:%d", i), "title", "x")
	}
	one.Do("SAVE")
	copyFile(t, one.Dir+"/dump.rdb", "dump.rdb")
	m.run(0, "audit -u "+one.URL()+" -o partial > one.part")
	m.run(0, "audit -u "+other.URL()+" -o partial > other.part")
	out, _ := m.run(0, "merge one.part other.part --parts 2")
	m.says(out, "Clean: 2 keys")
	out, _ = m.run(5, "merge one.part other.part --parts 3")
	m.says(out, "1 of 3 parts are missing")
	out, _ = m.run(0, "merge one.part other.part --parts 2 -o html")
	m.says(out, "<title>p on ")
	m.run(0, "audit dump.rdb -o partial > file.part")
	m.run(0, "audit dump.rdb --part 1/2 -o partial > 1.part")
	m.run(0, "audit dump.rdb --part 2/2 -o partial > 2.part")
	m.run(0, "audit -u "+one.URL()+" --top 3 -o partial > top.part")
	m.run(0, "audit -u "+one.URL()+"/1 -o partial > db.part")
	text, err := os.ReadFile("one.part")
	if err != nil {
		t.Fatal(err)
	}
	m.write("newer.part", strings.Replace(string(text), `"keywright_partial":1`, `"keywright_partial":2`, 1))
	m.write("program.part", strings.Replace(string(text), `"program":"`, `"program":"x`, 1))
	m.write("cut.part", string(text[:len(text)-20]))
	m.write("other.yaml", strings.Replace(mergeKeyspace, "ttl: none", "ttl: any", 1))
	for _, c := range []struct{ line, says string }{
		{"merge", "merge needs the files of the parts"},
		{"merge one.part other.part", "the parts have no numbers"},
		{"merge one.part other.part --parts 1", "there are 2 parts, not 1"},
		{"merge one.part one.part --parts 2", "a part that was there before: the server "},
		{"merge file.part file.part --parts 2", "a part that was there before: dump.rdb"},
		{"merge 1.part 2.part", "a part that was there before: dump.rdb"},
		{"merge 1.part --parts 3", "there are 2 of them, not 3"},
		{"merge one.part top.part --parts 2",
			"top.part is of an audit with another declaration or other flags than one.part"},
		{"merge one.part db.part --parts 2", "db.part is of database 1 and one.part of -1 (-1: all)"},
		{"merge one.part --parts 1 -f other.yaml", "one.part is of another declaration"},
		{"merge newer.part --parts 1", "newer.part is of another version of keywright"},
		{"merge program.part --parts 1", "program.part is of another version of keywright"},
		{"merge cut.part --parts 1", "cut.part is no partial report, or not all of one"},
		{"merge keyspace.yaml --parts 1", "keyspace.yaml is no partial report"},
		{"merge none.part --parts 1", "none.part"},
		{"audit dump.rdb --part 1/2", "--part is for partial reports"},
		{"audit dump.rdb --part 3/2 -o partial", `--part "3/2" is no part`},
		{"audit dump.rdb --part 01/2 -o partial", `--part "01/2" is no part`},
		{"audit dump.rdb -o partial --baseline x", "--baseline says nothing about a partial report"},
	} {
		if _, errs := m.run(2, c.line); !strings.Contains(errs, c.says) {
			t.Errorf("%s: %s", c.line, errs)
		}
	}
	other.Do("FLUSHALL")
	m.run(0, "audit -u "+other.URL()+" -o partial > other.part")
	out, _ = m.run(0, "merge one.part other.part --parts 2") // MinKeys is of the whole
	m.says(out, "Clean: 1 key as declared")
	m.write("dump.rdb", "REDIS0011")
	m.run(5, "audit dump.rdb -o partial > damaged.part")
	out, _ = m.run(5, "merge one.part damaged.part --parts 2")
	m.says(out, "INCOMPLETE: dump.rdb: ")
	_, errs := m.run(5, "merge one.part damaged.part -o partial > larger.part")
	m.says(errs, "the part is incomplete: dump.rdb: ")
	out, _ = m.run(5, "merge larger.part --parts 2")
	m.says(out, "INCOMPLETE: dump.rdb: ")
}
