package migrate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// nameless has a file for each guild, and a folder for each bot.
const nameless = `keywright: 1
vars: {gid: text, name: text}
keys:
  cfg: {key: "cfg:{gid}:{name}", type: string, value: json, ttl: none}
  bot: {key: "bot:{gid}:{name}", type: string, value: json, ttl: none}
migrations:
  d:
    sources: {g: {file: "data/{gid}.json"}, b: {file: "{gid}/s.json"}}
    parts:
      p:
        moves: [{from: "g:/{name}", to: cfg, value: .}, {from: "b:/{name}", to: bot, value: .}]
`

func recordOf(m *migrate.Migration, id record.ID, value string) migrate.Change {
	return migrate.Change{ID: id, Records: []*record.Record{{Move: m.Move(id.Move), Key: id.Key, Sub: id.Sub,
		Value: []byte(value)}}}
}

// A record whose file can have no name is refused on both sides, and holds up no change of phase.
func TestNamesThatNoFileCanHave(t *testing.T) {
	t.Parallel()
	server, root := kt.Start(t, kt.Redis), t.TempDir()
	c := dial(t, server.URL())
	writeFile(t, root, "data/1.json", `{"a": 1}`)
	m := openDeclared(t, root, server.URL(), declaredMap(t, nameless))
	names := map[string]string{"cfg:x/y:a": "{gid} has a /", "cfg:" + strings.Repeat("x", 250) + ":a": "240 bytes",
		"bot:..:a": ".. for a folder", "bot:.:a": ". or ..", "bot:.keywright:a": "own files",
		"cfg:\xff:a": "UTF-8", `cfg:x\y:a`: `has a \`, "bot:data/1.json:a": "{gid} has a /"}
	ids := map[string]record.ID{}
	for key := range names {
		move, _, _ := strings.Cut(key, ":")
		ids[key] = record.ID{Move: "p." + move, Key: key}
	}
	for at := phase.DualWrite; at <= phase.RampDown; at++ {
		to(t, m, "p", at)
		for key, want := range names {
			err := m.Write(t.Context(), recordOf(m, ids[key], "1"))
			bad := new(record.Reject)
			if class, _ := keywright.ClassOf(err); !errors.As(err, &bad) || class != keywright.Invalid ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s: %.20q: %v, not %q", at, key, err, want)
			}
		}
	}
	if n := server.Do("DBSIZE"); n != int64(1) { // the hash of the migration
		t.Errorf("Redis has %v keys", n)
	}
	to(t, m, "p", phase.Live)
	for key, id := range ids { // a program that does not use the engine
		redis(t, c, "SET", key, "1")
		bad := new(record.Reject)
		if err := migrate.Sync(m, "p", id); !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%.20q was brought to a file: %v", key, err)
		}
		if err := m.Delete(t.Context(), id); err != nil {
			t.Errorf("%.20q was not deleted: %v", key, err)
		}
		if n := server.Do("EXISTS", key); n != int64(0) {
			t.Errorf("%.20q is there", key)
		}
		if err := migrate.Sync(m, "p", id); err != nil {
			t.Errorf("%.20q is away from both sides: %v", key, err)
		}
	}
	if s, err := m.Status(t.Context()); err != nil || s[0].Facts.Marks != 0 {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := m.Rollback(t.Context(), "p", migrate.ChangeOptions{}); err != nil {
		t.Error(err)
	}
	for key, id := range ids { // the files decide: what they cannot have is not there
		redis(t, c, "SET", key, "1")
		if err := migrate.Sync(m, "p", id); err != nil || server.Do("EXISTS", key) != int64(0) {
			t.Errorf("%.20q: %v, there: %v", key, err, server.Do("EXISTS", key))
		}
	}
	in, err := os.ReadDir(filepath.Join(root, "data"))
	if err != nil || len(in) != 1 {
		t.Errorf("%v %v", in, err)
	}
}
