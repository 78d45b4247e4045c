package migrate_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/gen/acl"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// What the generated ACL gives the owner of an entry is enough to write it in every phase,
// and what it gives a reader is enough to read it.
func TestRightsOfTheGeneratedACL(t *testing.T) {
	t.Parallel()
	text := strings.Replace(bot, "vars:", "owner: api\nvars:", 1)
	text = strings.Replace(text, `value: text, ttl: none}`, `value: text, ttl: none, readers: [web]}`, 1)
	ks, findings := load.File(fstest.MapFS{"k.yaml": {Data: []byte(text)}}, "k.yaml")
	if finding.Count(findings).Errors > 0 {
		t.Fatal(findings)
	}
	users, err := acl.Users(ks)
	if err != nil {
		t.Fatal(err)
	}
	for _, brand := range gate.Pick(t, kt.Brands()) {
		server := kt.Start(t, brand)
		admin := dial(t, server.URL())
		for _, u := range users {
			words := []string{"SETUSER", u.Name, "reset", "on", ">pw"}
			for _, c := range u.Commands {
				words = append(words, "+"+c)
			}
			for _, g := range u.Keys {
				words = append(words, map[bool]string{true: "~", false: "%R~"}[g.Write]+g.Glob)
			}
			if err := admin.Raw().Do(t.Context(), admin.Raw().B().Arbitrary("ACL").Args(words...).Build()).Error(); err != nil {
				t.Fatal(err)
			}
		}
		root, m := t.TempDir(), declaredMap(t, text)
		as := func(user string) string { return strings.Replace(server.URL(), "redis://", "redis://"+user+":pw@", 1) }
		api, web := openDeclared(t, root, as("api"), m), openDeclared(t, root, as("web"), m)
		i := record.ID{Move: "settings.persona", Key: "p:456"}
		for at := phase.Off; at <= phase.RampDown; at++ {
			to(t, api, "history", at)
			to(t, api, "settings", at)
			if err := api.Write(t.Context(), changeOf(m, i, at.String())); err != nil {
				t.Errorf("%s, %s: %v", brand, at, err)
			}
			if _, left, err := api.Replay(t.Context()); left > 0 || err != nil {
				t.Errorf("%s, %s: %d left, %v", brand, at, left, err)
			}
			read, err := web.Read(t.Context(), i)
			if err != nil || len(read) != 1 || string(read[0].Value) != at.String() {
				t.Errorf("%s, %s: %v %v", brand, at, read, err)
			}
		}
	}
}

func changeOf(m *record.Map, i record.ID, value string) migrate.Change {
	return migrate.Change{ID: i, Records: []*record.Record{{Move: m.Move(i.Move), Key: i.Key, Sub: i.Sub,
		Value: []byte(value)}}}
}
