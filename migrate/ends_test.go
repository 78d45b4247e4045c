package migrate_test

import (
	"fmt"
	"testing"
	"time"

	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// ending has records whose document says when they end, whose entry does, and that never end.
const ending = `keywright: 1
keys:
  story: {key: "story:{h}", type: string, value: json, ttl: 2d}
  game: {key: "game:{h}", type: hash, fields: {n: int}, ttl: none}
  persona: {key: "persona:{h}", type: string, value: text, ttl: none}
  day: {key: "day:{h}", type: hash, field: text, value: text, ttl: 1d}
  seen: {key: "seen:{h}", type: set, member: text, ttl: none}
migrations:
  files:
    sources: {s: {file: s.json}}
    parts:
      p:
        moves:
          - {from: "s:/stories/{h}", to: story, value: ., ttl: {from: iso8601(.at)}}
          - {from: "s:/games/{h}", to: game}
          - {from: "s:/personas/{h}", to: persona, value: .}
          - {from: "s:/days/{h}/{name}", to: day, field: "{name}", value: .}
          - {from: "s:/seen/{h}/[]", to: seen, member: .}
`

// TestEndsOfOneSide: a record that ends on one side alone differs, in both directions and whichever side
// decides, and a repair gives it the end that is declared.
func TestEndsOfOneSide(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	c := dial(t, server.URL())
	do := func(args ...string) int64 {
		t.Helper()
		n, err := c.Raw().Do(t.Context(), c.Raw().B().Arbitrary(args...).Build()).AsInt64()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	root := t.TempDir()
	writeFile(t, root, "s.json", fmt.Sprintf(`{"stories": {"a": {"at": %q}}, "games": {"a": {"n": 1}}, "personas": {"a": "x"},
		"days": {"a": {"b": "y"}}, "seen": {"a": ["z"]}}`, time.Now().UTC().Format(time.RFC3339)))
	m := openDeclared(t, root, server.URL(), declaredMap(t, ending))
	for _, at := range []phase.Phase{phase.Shadow, phase.Live} {
		goTo(t, m, "p", at)
		Run(t, m, "p")
		for _, key := range []string{"story:a", "day:a"} {
			if do("PERSIST", key) != 1 {
				t.Fatalf("%s: %s has no end", at, key)
			}
		}
		for _, key := range []string{"game:a", "persona:a", "seen:a"} {
			if do("EXPIRE", key, "3000") != 1 {
				t.Fatalf("%s: %s is not there", at, key)
			}
		}
		r, err := m.Verify(t.Context(), "p", migrate.VerifyOptions{})
		if err != nil || r.Unequal != 5 || r.Whole() {
			t.Fatalf("%s: %+v %v", at, r, err)
		}
		for _, class := range r.Classes {
			if class.Kind != record.DiffEnd {
				t.Errorf("%s: %+v", at, class)
			}
		}
		r, err = m.Verify(t.Context(), "p", migrate.VerifyOptions{Repair: true, Kind: record.DiffEnd})
		if err != nil || r.Repaired != 5 {
			t.Fatalf("%s: %+v %v", at, r, err)
		}
		Run(t, m, "p")
		for key, ends := range map[string]bool{"story:a": true, "day:a": true, "game:a": false, "persona:a": false,
			"seen:a": false} {
			if (do("PTTL", key) > 0) != ends {
				t.Errorf("%s: %s ends in %d ms", at, key, do("PTTL", key))
			}
		}
	}
}
