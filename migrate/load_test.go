package migrate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/gate"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

// lateImport lets something happen at a point between the reading of the files and what an import
// writes.
func lateImport(t *testing.T, at string, meanwhile func(b *migrate.Migration)) (*kt.Server, string,
	*migrate.ImportReport, error) {
	t.Helper()
	server, root := kt.Start(t, kt.Redis), t.TempDir()
	sources(t, root, 5)
	r, err := importLate(t, server, root, at, meanwhile)
	return server, root, r, err
}

func importLate(t *testing.T, server *kt.Server, root, at string, meanwhile func(b *migrate.Migration)) (
	*migrate.ImportReport, error) {
	t.Helper()
	b := open(t, root, server.URL(), oneOfEach, nil)
	to(t, b, "a", phase.Backfill)
	var once sync.Once
	a := open(t, root, server.URL(), oneOfEach, func(point string) error {
		if point == at {
			once.Do(func() { meanwhile(b) })
		}
		return nil
	})
	return a.Import(t.Context(), "a", migrate.ImportOptions{Batch: 5000})
}

// latePoints lists where an import may be late, and the records that it has not written then.
var latePoints = map[string][]string{"load": {"string", "hash", "list"}, "watched": {"string"}}

// An import that has read a record does not bring it back when it was deleted or written since.
func TestAnImportIsLate(t *testing.T) {
	t.Parallel()
	for at, kinds := range latePoints {
		for name, values := range map[string][]string{"deleted": nil, "written": {"f=newer"}} {
			server, root, r, err := lateImport(t, at, func(b *migrate.Migration) {
				for _, kind := range kinds {
					if err := b.Write(t.Context(), change(id(kind+":a:1"), values...)); err != nil {
						t.Error(err)
					}
				}
			})
			if err != nil || r.Newer != int64(len(kinds)) {
				t.Errorf("%s, %s: %+v, %v", at, name, r, err)
			}
			for _, kind := range kinds {
				i := id(kind + ":a:1")
				has, file := redisHas(t, dial(t, server.URL()), i), fileHas(root, i)
				if len(has) != len(values) || !slices.Equal(has, file) {
					t.Errorf("%s, %s: the %s has %v, the file %v", at, name, kind, has, file)
				}
			}
		}
	}
}

// A second import beside a process that writes changes nothing. The second one has what the process
// wrote at the first one, too.
func TestAnImportBesideAWriter(t *testing.T) {
	t.Parallel()
	for kind, value := range map[string]string{"string": "v", "hash": "f=1"} {
		has := map[string]int64{"string": 3, "hash": 2}[kind] // a hash is not written in a transaction
		server, root := kt.Start(t, kt.Redis), t.TempDir()
		writeFile(t, root, "a.json", fmt.Sprintf(`{"%s:a:1|": [%q], "%[1]s:a:2|": [%[2]q]}`, kind, value))
		for i := range 2 {
			r, err := importLate(t, server, root, "watched", func(b *migrate.Migration) {
				if err := b.Write(t.Context(), change(id(fmt.Sprintf("list:b:%d", i)), "x")); err != nil {
					t.Error(err)
				}
			})
			if err != nil || r.Written != int64(2-2*i) || r.Same != has*int64(i) {
				t.Errorf("import %d of a %s: %+v, %v", i, kind, r, err)
			}
		}
	}
}

// An import of an old epoch writes nothing.
func TestAnImportOfAnOldEpoch(t *testing.T) {
	t.Parallel()
	for at, kinds := range latePoints {
		server, _, _, err := lateImport(t, at, func(b *migrate.Migration) { to(t, b, "a", phase.DualWrite) })
		if !errors.Is(err, phase.ErrEpoch) {
			t.Errorf("%s: %v", at, err)
		}
		c := dial(t, server.URL())
		for _, kind := range kinds {
			if has := redisHas(t, c, id(kind+":a:1")); len(has) > 0 {
				t.Errorf("%s: the %s is there: %v", at, kind, has)
			}
		}
	}
}

const timed = `keywright: 1
keys:
  plain: {key: "plain:{id}", type: string, value: json, ttl: none}
  until: {key: "until:{id}", type: string, value: json, ttl: 2d}
  since: {key: "since:{id}", type: string, value: json, ttl: 2d}
  item: {key: "item:{id}", type: hash, ttl: none, fields: {at: int, note: text optional}}
  ends: {key: "ends:{id}", type: hash, ttl: 2d, fields: {at: int, note: text optional}}
migrations:
  files:
    sources: {state: {file: state.json}}
    parts:
      all:
        moves:
          - {from: "state:/{id}", to: plain, value: .}
          - {from: "state:/{id}", to: until, value: ., ttl: {until: unix_s(.at), over: skip}}
          - {from: "state:/{id}", to: since, value: .}
          - {from: "state:/{id}", to: item}
          - {from: "state:/{id}", to: ends, ttl: {from: unix_s(.at), over: skip}}
vars: {id: slug}
`

// Records of several kinds, fields and times come to an empty Redis as they are declared, and a
// second import changes nothing. One whose time is over is not there.
func TestImportOfManyForms(t *testing.T) {
	t.Parallel()
	const n = 700
	now := time.Now().Unix()
	var members []string
	for i := range n {
		at, note := now+100_000+int64(i), ""
		if i%3 == 0 {
			note = fmt.Sprintf(`, "note": "of %d"`, i)
		}
		if i == 7 {
			at = now - 3*24*3600
		}
		members = append(members, fmt.Sprintf(`"r%d": {"at": %d%s}`, i, at, note))
	}
	for _, brand := range gate.Pick(t, kt.Brands()) {
		server, root := kt.Start(t, brand), t.TempDir()
		writeFile(t, root, "state.json", "{"+strings.Join(members, ",\n")+"}")
		m := openDeclared(t, root, server.URL(), declaredMap(t, timed))
		if _, err := m.Plan(t.Context(), "all"); err != nil {
			t.Fatal(err)
		}
		to(t, m, "all", phase.DualWrite)
		for i := range 2 {
			r, err := m.Import(t.Context(), "all", migrate.ImportOptions{})
			if err != nil || r.Written != int64(1-i)*(5*n-2) || r.Over != 2 || r.Written+r.Same != 5*n {
				t.Errorf("%s: import %d: %+v, %v", brand, i, r, err)
			}
		}
		v, err := m.Verify(t.Context(), "all", migrate.VerifyOptions{})
		if err != nil || !v.Whole() {
			t.Errorf("%s: %+v, %v", brand, v, err)
		}
		raw := dial(t, server.URL()).Raw()
		for key, want := range map[string]int64{"plain:r8": -1, "until:r8": 1000 * (now + 100_008), "item:r8": -1,
			"ends:r8": 1000 * (now + 100_008 + 2*24*3600), "until:r7": -2, "ends:r7": -2} {
			is, err := raw.Do(t.Context(), raw.B().Pexpiretime().Key(key).Build()).AsInt64()
			if err != nil || is != want {
				t.Errorf("%s: %s ends at %d, want %d, %v", brand, key, is, want, err)
			}
		}
		in, err := raw.Do(t.Context(), raw.B().Pttl().Key("since:r7").Build()).AsInt64()
		if err != nil || in < 40*3600*1000 || in > 3*24*3600*1000 {
			t.Errorf("%s: since:r7 ends in %d ms, %v", brand, in, err)
		}
	}
}

// A record that ends at another time, and one with a field more, are no longer as the file has
// them, though their values are.
func TestTimesAreVerified(t *testing.T) {
	t.Parallel()
	server, root := kt.Start(t, kt.Redis), t.TempDir()
	writeFile(t, root, "state.json", fmt.Sprintf(`{"r": {"at": %d}}`, time.Now().Unix()+100_000))
	m := openDeclared(t, root, server.URL(), declaredMap(t, timed))
	if _, err := m.Plan(t.Context(), "all"); err != nil {
		t.Fatal(err)
	}
	to(t, m, "all", phase.DualWrite)
	if _, err := m.Import(t.Context(), "all", migrate.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	raw := dial(t, server.URL()).Raw()
	for i, words := range [][]string{{"PEXPIRE", "until:r", "5000"}, {"HSET", "item:r", "note", "x"},
		{"PERSIST", "ends:r"}} {
		if err := raw.Do(t.Context(), raw.B().Arbitrary(words[0]).Keys(words[1]).Args(words[2:]...).Build()).
			Error(); err != nil {
			t.Fatal(err)
		}
		want := int64(i + 1)
		if v, err := m.Verify(t.Context(), "all", migrate.VerifyOptions{}); err != nil || v.Unequal != want {
			t.Errorf("after %v: %+v, %v", words, v, err)
		}
	}
}
