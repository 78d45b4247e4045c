package cunningbot_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/seed"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestDraft: what `keywright infer --migration` drafts from the seeded files, with entries of its own
// and with those that are declared, loads, passes lint, and moves every record there is: both sides are
// equal after the import.
func TestDraft(t *testing.T) {
	gate.Skip(t, "runs 40 commands")
	server := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.Config("appendonly", "yes"))
	for db, known := range []bool{false, true} {
		t.Run(map[bool]string{false: "own", true: "declared"}[known], func(t *testing.T) {
			dir, url := t.TempDir(), fmt.Sprintf("%s/%d", server.URL(), db)
			files := filepath.Join(dir, "state")
			must(t, seed.Write(files, seed.Options{Seed: 7, Now: time.Now(), Guilds: 3, Articles: 120, Items: 20, Stories: 40}))
			draft := filepath.Join(dir, "keyspace.yaml")
			args := []string{"infer", "--migration", files, "--to", draft}
			if known {
				whole, err := os.ReadFile("keyspace.yaml")
				must(t, err)
				ours, _, found := strings.Cut(string(whole), "\nmigrations:\n")
				if !found {
					t.Fatal("keyspace.yaml has no migration")
				}
				must(t, os.CopyFS(filepath.Join(dir, "scripts"), os.DirFS("scripts")))
				must(t, os.WriteFile(filepath.Join(dir, "ours.yaml"), []byte(ours+"\n"), 0o600))
				args = append(args, "--merge", filepath.Join(dir, "ours.yaml"))
			}
			sitetest.Keywright(t, url, args...)
			if said := sitetest.Keywright(t, url, "lint", "-f", draft); !strings.HasPrefix(said, "0 errors, 0 warnings") {
				t.Errorf("lint: %s", said)
			}
			var plan, imported, verified struct {
				Parts []struct {
					Part                                         string
					Records, Rejected, Faulty, Over, Equal, Same int64
					Written, Missing, Extra, Unequal             int64
					RoundTrip                                    bool `json:"round_trip"`
				}
			}
			run := func(into any, args ...string) {
				t.Helper()
				args = append([]string{"migrate"}, append(args, "-f", draft, "--root", files, "-o", "json")...)
				must(t, json.Unmarshal([]byte(sitetest.Keywright(t, url, args...)), into))
			}
			run(&plan, "plan")
			records := map[string]int64{}
			for _, p := range plan.Parts {
				if p.Rejected+p.Faulty > 0 || !p.RoundTrip || p.Records == 0 {
					t.Errorf("the plan of %s: %+v", p.Part, p)
				}
				records[p.Part] = p.Records + p.Over
			}
			if len(plan.Parts) < 5 {
				t.Errorf("the draft has %d parts", len(plan.Parts))
			}
			for _, p := range plan.Parts {
				var changed any
				run(&changed, "advance", p.Part, "--apply")
			}
			run(&imported, "import", "--apply")
			for _, p := range imported.Parts {
				if p.Records != records[p.Part] || p.Rejected+p.Faulty > 0 {
					t.Errorf("the import of %s: %+v", p.Part, p)
				}
			}
			run(&verified, "verify")
			for _, p := range verified.Parts {
				if p.Equal != records[p.Part] || p.Missing+p.Extra+p.Unequal > 0 {
					t.Errorf("%s: %+v of %d records", p.Part, p, records[p.Part])
				}
			}
			if text, err := os.ReadFile(draft); known &&
				(err != nil || strings.Count(string(text), "/trivia_games/{game_id}\"") < 3) {
				t.Errorf("the games go to fewer than three entries (%v):\n%s", err, text)
			}
		})
	}
}
