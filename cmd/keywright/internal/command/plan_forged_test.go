package command

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/keywrighttest"
)

// TestPlansThatSayNothing: a plan is a file, and anyone can seal one. Of each verb one that says nothing of what is
// asked for, or says it in another form, is refused or changes nothing, and is no fault of the program.
func TestPlansThatSayNothing(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("SET", "user:1", "x")
	forged := []map[string]string{nil, {}}
	for _, text := range []string{"", "x", "[]", `[""]`, "{", "-1"} {
		options := map[string]string{}
		for _, name := range []string{"files", "identities", "from", "to", "existing", "ttl", "map", "rule", "entry",
			"queues",
			"ids", "keys", "users", "items", "index"} {
			options[name] = text
		}
		forged = append(forged, options)
	}
	for _, verb := range append(slices.Sorted(maps.Keys(verbs())), "copy", "restore", "undo", "", "no verb") {
		for _, options := range forged {
			p := plan.Plan{Format: plan.Format, Verb: verb, Made: time.Now(), Entries: []plan.Part{},
				Request: plan.Request{Options: options}}
			if err := p.Seal(); err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := p.Write(&text); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "plan")
			if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out, said := ran(t, "keywright: 1\nkeys:\n  user: {key: \"user:{id}\", type: string, ttl: none}\n", "",
				"apply", path, "-u", s.URL())
			if strings.Contains(said, "bug in keywright") || code != 0 && said == "" {
				t.Errorf("a plan of %q with %q: %d, %s%s", verb, options, code, out, said)
			}
		}
	}
	if n := s.Do("EXISTS", "user:1"); n != int64(1) {
		t.Error("a plan that says nothing has deleted a key")
	}
}
