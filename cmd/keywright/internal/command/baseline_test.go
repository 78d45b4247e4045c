package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

const baselineKeyspace = `keywright: 1
package: p
owner: shop
owns: ["app:*"]
keys:
  user: {doc: A user., key: "app:user:{id}", type: string, ttl: 1h}
  page: {doc: A page., key: "app:page:{id}", type: string, ttl: none, value: int}
  list: {doc: A list., key: "app:list:{id}", type: list, ttl: none, member: int}
`

// TestABaselineKeepsWhatWasNotLookedFor: an audit that leaves keys or values out says nothing of what
// is accepted of these: it is not gone, and --update-baseline leaves it in.
func TestABaselineKeepsWhatWasNotLookedFor(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("keyspace.yaml", baselineKeyspace)
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("SET", "app:user:1", "x")       // KW505, in database 0
	s.Do("SET", "app:page:1", "not int") // KW508, with --values
	s.Do("SET", "app:stray", "x")        // KW501
	list := []string{"RPUSH", "app:list:1"}
	for i := range 200 {
		element := "1"
		if i == 100 { // a sample takes the ends
			element = "not int"
		}
		list = append(list, element)
	}
	s.Do(list...) // KW511, with --values=all
	for i := range 500 {
		s.Do("SET", fmt.Sprint("app:page:1", i), "1")
	}
	code, out, errs := runLine(t, "audit --values=all --baseline b.json --update-baseline --progress none -u "+s.URL())
	if code != 0 || strings.Contains(out, "Clean") || !strings.Contains(out, "4 findings accepted by the baseline") {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errs)
	}
	whole, err := os.ReadFile("b.json")
	if err != nil {
		t.Fatal(err)
	}
	s.Do("SAVE")
	copyFile(t, filepath.Join(s.Dir, "dump.rdb"), "dump.rdb")
	for _, c := range []struct {
		args   string
		unseen string
	}{
		{"--values=all -u " + s.URL() + "/1 --min-keys 0", "4 findings"},
		{"--values=all --db 1 --min-keys 0 -u " + s.URL(), "4 findings"},
		{"-u " + s.URL(), "2 findings"},
		{"--values -u " + s.URL(), "1 finding"},
		{"--values=all --include user -u " + s.URL(), "3 findings"},
		{"--values=all --exclude user -u " + s.URL(), "1 finding"},
		{"--values=all --sample 1 -u " + s.URL(), ""},
		{"dump.rdb", "2 findings"},
	} {
		write("copy.json", string(whole))
		code, out, errs := runLine(t, "audit --baseline copy.json --progress none "+c.args)
		if code != 0 || strings.Contains(errs, "gone (") || !strings.Contains(errs, c.unseen) ||
			!strings.Contains(errs, " of the baseline not looked for") {
			t.Errorf("%s: exit code %d\n%s\n%s", c.args, code, out, errs)
		}
		if _, json, _ := runLine(t, "audit -o json --baseline copy.json --progress none "+c.args); !strings.Contains(json,
			`"not_looked_at": `) || !strings.Contains(json, `"gone": 0`) {
			t.Errorf("%s: %s", c.args, json)
		}
		if code, _, errs := runLine(t, "audit --baseline copy.json --update-baseline --progress none "+c.args); code != 0 {
			t.Errorf("%s: exit code %d\n%s", c.args, code, errs)
		}
		if after, _ := os.ReadFile("copy.json"); string(after) != string(whole) {
			t.Errorf("%s: the baseline has lost what was not looked for:\n%s\n%s", c.args, whole, after)
		}
	}
	if code, _, errs := runLine(t, "lint --baseline b.json"); code != 0 || strings.Contains(errs, "gone (") ||
		!strings.Contains(errs, "4 findings of the baseline not looked for") {
		t.Errorf("lint: exit code %d\n%s", code, errs)
	}
	s.Do("DEL", "app:user:1")
	if code, _, errs := runLine(t, "audit --values=all --baseline b.json --progress none -u "+s.URL()); code != 0 ||
		!strings.Contains(errs, "1 finding of the baseline gone") || strings.Contains(errs, "not looked for") {
		t.Errorf("what was looked for is gone: exit code %d\n%s", code, errs)
	}
}

// TestABaselineOfTwoDeclarations: lint of one of them says nothing of the other.
func TestABaselineOfTwoDeclarations(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"a", "b"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		text := "keywright: 1\npackage: " + dir + "\nowner: o\nowns: [\"x:*\"]\nkeys:\n  user: {key: \"" + dir + ":{id}\", type: string, ttl: 1h}\n"
		if err := os.WriteFile(filepath.Join(dir, "keyspace.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errs := runLine(t, "lint . --fail-on note --baseline b.json --update-baseline")
	if code != 0 || !strings.Contains(out, "in 2 declarations, 2 accepted by the baseline") {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errs)
	}
	whole, _ := os.ReadFile("b.json")
	if code, _, errs := runLine(t, "lint a --fail-on note --baseline b.json"); code != 0 ||
		strings.Contains(errs, "gone (") || !strings.Contains(errs, "1 finding of the baseline not looked for") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	if code, _, errs := runLine(t, "lint a --baseline b.json --update-baseline"); code != 0 {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	if after, _ := os.ReadFile("b.json"); string(after) != string(whole) {
		t.Errorf("the baseline has lost what was not looked for:\n%s\n%s", whole, after)
	}
	if err := os.RemoveAll("b"); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := runLine(t, "lint a --fail-on note --baseline b.json"); code != 0 ||
		!strings.Contains(errs, "1 finding of the baseline gone") {
		t.Errorf("a declaration that is deleted: exit code %d\n%s", code, errs)
	}
}
