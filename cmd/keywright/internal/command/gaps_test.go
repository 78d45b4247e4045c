package command

import (
	"os"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/keywrighttest"
)

// TestOneEntryDoesNotHideTheOthers: in a cluster a queue whose keys are in several
// slots cannot be read. It is named, and the others are listed.
func TestOneEntryDoesNotHideTheOthers(t *testing.T) {
	t.Chdir(t.TempDir())
	text := `keywright: 1
package: p
vars: {prio: high|low}
keys:
  apart: {key: "work:{prio}", type: queue, order: prio, ttl: none}
  together: {key: "{#jobs}:{prio}", type: queue, order: prio, ttl: none}
`
	if err := os.WriteFile("keyspace.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 0)
	for _, form := range []string{"json", "table"} {
		var out, errs strings.Builder
		code := Main(t.Context(), []string{"queues", "-u", cluster.URL(), "-o", form},
			cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
		if code != cli.ExitPartial || !strings.Contains(errs.String(), "not all queues are listed: apart") ||
			!strings.Contains(out.String(), "apart") || !strings.Contains(out.String(), "together") {
			t.Errorf("%s: exit code %d\n%s%s", form, code, out.String(), errs.String())
		}
	}
}
