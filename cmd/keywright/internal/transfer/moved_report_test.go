package transfer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
)

// TestReasonsAreToldOnce: a thousand keys with one reason are one line and a number, and
// the keys that are named and those that are not add up.
func TestReasonsAreToldOnce(t *testing.T) {
	var all []reasonedKey
	for i := range 90 {
		all = append(all, reasonedKey{finding.JSONKey(fmt.Sprint("lock:", i)), 0, "it only made sense in its moment"})
	}
	all = append(all, reasonedKey{finding.JSONKey("\x1b[2J"), 3, "the server said\nOOM"})
	for i := range 12 {
		all = append(all, reasonedKey{finding.JSONKey("k"), 0, fmt.Sprint("reason ", i)})
	}
	var out strings.Builder
	tellReasons(&cli.App{Out: terminal.NewScreen(&out, func(string) string { return "" })}, all, 900)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for i, want := range map[int]string{
		0: "it only made sense in its moment: lock:0, lock:1, lock:2 and 87 more keys",
		2: "reason 0: k", 10: "and 4 more reasons, which -o json lists",
		11: "and 900 more keys with a reason; -o json lists the first 103",
	} {
		if len(lines) != 12 || lines[i] != want {
			t.Errorf("line %d of %d is not %q:\n%s", i, len(lines), want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") || !strings.Contains(lines[1], "(database 3)") {
		t.Errorf("%q", lines[1])
	}
}
