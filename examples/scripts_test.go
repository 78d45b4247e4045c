package examples

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/keywright/keywright/keyspace"
)

// TestScriptHeaders: what a script says in its header about KEYS and ARGV is
// what its entry declares, and the script uses exactly those.
func TestScriptHeaders(t *testing.T) {
	found := 0
	for _, team := range teams {
		for _, e := range load(t, team).ks.Entries {
			if e.Script == nil {
				continue
			}
			found++
			text, err := os.ReadFile(e.Script.File)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range headerProblems(e, string(text)) {
				t.Errorf("%s: %s", e.Script.File, problem)
			}
		}
	}
	if found == 0 {
		t.Error("no scripts: a test over nothing proves nothing")
	}
}

func headerProblems(e *keyspace.Entry, text string) []string {
	var args, problems []string
	for _, a := range e.Script.Args {
		args = append(args, a.Name)
	}
	for list, names := range map[string][]string{"KEYS": e.Script.Keys, "ARGV": args} {
		if want := fmt.Sprintf("-- %s: %s\n", list, numbered(names)); !strings.Contains(text, want) {
			problems = append(problems, "the header lacks "+want)
		}
		if n := highest(list, text); n != len(names) {
			problems = append(problems, fmt.Sprintf("it uses %s[%d]; %d are declared", list, n, len(names)))
		}
	}
	for _, line := range []string{"-- " + e.Name + ": ", "-- Returns: ", "-- Round trips: "} {
		if !strings.Contains(text, line) {
			problems = append(problems, "the header lacks "+line)
		}
	}
	return problems
}

// numbered is "1 a  2 b".
func numbered(names []string) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = fmt.Sprintf("%d %s", i+1, n)
	}
	return strings.Join(parts, "  ")
}

// highest is the largest index of list that the script uses.
func highest(list, text string) int {
	top := 0
	for _, m := range regexp.MustCompile(list+`\[(\d+)\]`).FindAllStringSubmatch(text, -1) {
		var n int
		fmt.Sscan(m[1], &n)
		top = max(top, n)
	}
	return top
}
