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

// A record that no file can have, a key of another type, and a value that does not open are listed with their key, and
// hold up no other record.
func TestOneBadRecordHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	w := begin(t, server.URL(), `keywright: 1
vars: {gid: text, name: text}
keys:
  cfg: {key: "cfg:{gid}:{name}", type: string, value: json, ttl: none}
  tags: {key: "tags:{gid}", type: hash, field: text, value: int, ttl: none}
  token: {key: "token:{gid}", type: string, value: text encrypted, ttl: none}
migrations:
  d:
    sources: {g: {file: "data/{gid}.json"}}
    parts:
      p:
        moves:
          - {from: "g:/cfg/{name}", to: cfg, value: .}
          - {from: "g:/tags/{name}", to: tags, field: "{name}", value: .}
          - {from: "g:/token", to: token, value: .}
`, "", map[string]string{
		"data/1.json": `{"cfg": {"a": 1, "b": 2, "l": 3}, "tags": {"x": 1}, "token": "t1"}`,
		"data/2.json": `{"cfg": {"a": 1}, "tags": {"x": 1}, "token": "t2"}`})
	c, m := w.c, w.m
	to(t, m, "p", phase.Backfill)
	listed := map[string]string{"cfg:1:l": "another type", "tags:2": "another type"}
	spoil := func() {
		redis(t, c, "DEL", "cfg:1:l", "tags:2")
		redis(t, c, "RPUSH", "cfg:1:l", "3")
		redis(t, c, "SET", "tags:2", "x")
	}
	all := func(what string, rejects []*record.Reject, count int64) {
		t.Helper()
		has := map[string]string{}
		for _, r := range rejects {
			has[r.Key] += r.Reason
		}
		for key, want := range listed {
			if !strings.Contains(has[key], want) {
				t.Errorf("%s: %s: %q, not %q", what, key, has[key], want)
			}
		}
		if len(rejects) != len(listed) || count != int64(len(listed)) {
			t.Errorf("%s: %d of %d are listed, not %d: %v", what, len(rejects), count, len(listed), has)
		}
	}
	spoil()
	for range 2 {
		r, err := m.Import(t.Context(), "p", migrate.ImportOptions{})
		if err != nil || r.Written+r.Same != 6 {
			t.Errorf("imported: %+v %v", r, err)
		}
		all("imported", r.Rejects, r.Rejected)
	}
	v, err := m.Verify(t.Context(), "p", migrate.VerifyOptions{Repair: true})
	if err != nil || v.Unequal+v.Extra+v.Missing == 0 || v.Repaired > 0 || v.Equal != 6 {
		t.Errorf("%+v %v", v, err)
	}
	redis(t, c, "DEL", "cfg:1:l", "tags:2")
	if r, err := m.Import(t.Context(), "p", migrate.ImportOptions{}); err != nil || r.Rejected > 0 || r.Written != 2 {
		t.Errorf("imported: %+v %v", r, err)
	}
	to(t, m, "p", phase.Live)
	spoil()
	redis(t, c, "SET", "cfg:x/y:a", "3")
	redis(t, c, "SET", "cfg:9:z", "{") // is no JSON
	redis(t, c, "SET", "token:1", "plain")
	redis(t, c, "SET", "cfg:1:b", "7")
	redis(t, c, "SET", "cfg:2:new", "8")
	for key, why := range map[string]string{"cfg:x/y:a": "has a /", "cfg:9:z": "JSON", "token:1": "does not decode"} {
		listed[key] = why
	}
	if v, err = m.Verify(t.Context(), "p", migrate.VerifyOptions{}); err != nil || v.Missing > 0 || v.Extra+v.Unequal !=
		int64(len(listed))+2 {
		t.Errorf("%+v %v", v, err)
	}
	all("verified", v.Refusals, v.Refused)
	folder := t.TempDir()
	e, err := m.Export(t.Context(), "p", folder)
	if err != nil {
		t.Fatal(err)
	}
	all("exported", e.Refusals, e.Refused)
	if v, err = m.Verify(t.Context(), "p", migrate.VerifyOptions{Repair: true}); err != nil || v.Repaired != 2 {
		t.Errorf("%+v %v", v, err)
	}
	all("repaired", v.Refusals, v.Refused)
	for _, in := range []string{folder, w.root} {
		for file, want := range map[string]string{"1": `"b": 7`, "2": `"new": 8`} {
			text, err := os.ReadFile(filepath.Join(in, "data", file+".json"))
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s %v", text, err)
			}
		}
	}
	to(t, m, "p", phase.Complete)
	redis(t, c, "SET", "cfg:1:b", "9")
	var refused *migrate.RefusedError
	if _, err = m.Rollback(t.Context(), "p", migrate.ChangeOptions{}); !errors.As(err, &refused) {
		t.Fatal(err)
	}
	all("rolled back", refused.Rejects, refused.Count)
	if text := err.Error(); !strings.Contains(text, "cfg:x/y:a") || !strings.Contains(text, "cfg:1:l") {
		t.Error(text)
	}
	if text, err := os.ReadFile(filepath.Join(w.root, "data/1.json")); err != nil ||
		!strings.Contains(string(text), `"b": 9`) {
		t.Errorf("%s %v", text, err)
	}
	redis(t, c, "DEL", "cfg:1:l", "tags:2", "cfg:x/y:a", "cfg:9:z", "token:1")
	if _, err = m.Rollback(t.Context(), "p", migrate.ChangeOptions{}); err != nil {
		t.Error(err)
	}
}
