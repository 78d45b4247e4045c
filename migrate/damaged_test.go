package migrate_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// toBackfill brings both parts of a bot so far that they can be imported.
func toBackfill(t *testing.T, m *migrate.Migration) {
	t.Helper()
	for _, part := range []string{"history", "settings"} {
		to(t, m, part, phase.Backfill)
	}
}

// An import says what is wrong with a document, with line and column, and is not marked as
// done; when the file has been mended the next one is.
func TestImportOfDamagedDocuments(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	many := strings.Builder{}
	for n := range 270_000 {
		fmt.Fprintf(&many, "\"m%d\":0,", n)
	}
	good := `{"guilds": {"456": {"persona": "x"}}, `
	i := 0
	for name, c := range map[string]struct{ text, at string }{
		"cut off":        {good + `"a": [1`, "state.json:1:46: the document ends"},
		"no JSON":        {good + "\n \"a\": nul}", "state.json:2:7: a word that JSON has not"},
		"a member twice": {good + "\n\"a\": 1,\n  \"a\": 2}", "state.json:3:3: a member of this name"},
		"twice of 270,000": {good + "\n" + many.String() + "\n\"m7\":1}",
			"state.json:3:1: a member of this name"},
		"no UTF-8":    {good + "\n\"a\": \"é\xff\"}", "state.json:2:8: a byte that is no UTF-8"},
		"half a pair": {good + `"a": "\ud800"}`, "state.json:1:45: half of a pair"},
		"1e400":       {good + `"a": 1e400}`, "state.json:1:44: a number beyond"},
		"nested": {good + `"a": ` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + "}",
			"state.json:1:555: nested"},
		"a record of more than 8 MiB": {
			good + "\n\"history\": {\"123\": {\"77\": {\"stories\": [{\"hash\": \"" + strings.Repeat("x", 9<<20) + "\"}]}}}}",
			"state.json:2:"},
		"a record that cannot be one": {`{"guilds": {"456":` + "\n" + `{"persona": 7}}}`,
			"state.json:2:13: settings.persona: value"},
		"an integer that is no integer": {`{"guilds": {"456": {"feeds": {"a": NaN}}}}`, "state.json:1:36:"},
	} {
		i++
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			writeFile(t, root, "state.json", c.text)
			m := openDeclared(t, root, server.URL(),
				declaredMap(t, strings.Replace(bot, "  files:\n", fmt.Sprintf("  f%d:\n", i), 1)))
			toBackfill(t, m)
			r, err := m.Import(t.Context(), "settings", migrate.ImportOptions{})
			said := fmt.Sprint(err, r.Rejects)
			f, failed := m.Facts(t.Context(), "settings")
			if !strings.Contains(said, c.at) || err == nil && r.Rejected == 0 || failed != nil || f.Imported {
				t.Errorf("%s\n%+v %v", said, f, failed)
			}
			if p, err := m.Plan(t.Context(), "settings"); err != nil || p.RoundTrip ||
				!strings.Contains(fmt.Sprint(p.Faults, p.Rejects), c.at) {
				t.Errorf("%v %v", p.Faults, err)
			}
			writeFile(t, root, "state.json", good+`"a": 1}`)
			if _, err := m.Import(t.Context(), "settings", migrate.ImportOptions{}); err != nil {
				t.Fatal(err)
			}
			if f, err := m.Facts(t.Context(), "settings"); err != nil || !f.Imported {
				t.Errorf("%+v %v", f, err)
			}
		})
	}
}

// A file that a program writes into while it is imported is an error; what is in Redis by
// then is not marked as an import.
func TestImportOfAGrowingFile(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	root := t.TempDir()
	writeFile(t, root, "state.json", `{"guilds": {"456": {"feeds": {"a": 1, "b": 9007199254740993}}}}`)
	m := openDeclared(t, root, server.URL(), declaredMap(t, bot))
	toBackfill(t, m)
	grow := func(migrate.ImportReport) {
		f, err := os.OpenFile(filepath.Join(root, "state.json"), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(" ")
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}
	r, err := m.Import(t.Context(), "settings", migrate.ImportOptions{Batch: 1, Progress: grow})
	f, failed := m.Facts(t.Context(), "settings")
	if !errors.Is(err, migrate.ErrWrittenMeanwhile) || r.Written != 2 || failed != nil || f.Imported {
		t.Errorf("%v %+v %+v %v", err, r, f, failed)
	}
	if r, err = m.Import(t.Context(), "settings", migrate.ImportOptions{}); err != nil || r.Same != 2 {
		t.Errorf("%+v %v", r, err)
	}
	c := dial(t, server.URL())
	n, err := c.Raw().Do(t.Context(), c.Raw().B().Hget().Key("f:456").Field("b").Build()).ToString()
	if err != nil || n != "9007199254740993" {
		t.Errorf("%s %v", n, err)
	}
}

// A plan reads each file once, and finds records that would not come back: two that are one in
// Redis, in one file or in two, and a list that is too long.
func TestPlanFindsWhatDoesNotComeBack(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	const declaration = `keywright: 1
vars: {id: slug}
keys:
  words: {key: "w:{id}", type: list, member: text, ttl: none}
  seen: {key: "s:{id}", type: hash, field: text, value: text, ttl: none}
  born: {key: "b:{id}", type: string, value: unix_s, ttl: none}
migrations:
  files:
    sources: {one: {file: a.json}, two: {file: b.json}}
    parts:
      all:
        moves:
          - {from: "one:/words/{id}/[]", to: words, member: .}
          - {from: "one:/seen/[]", to: seen, with: {id: .id}, field: .f, value: .v}
          - {from: "two:/words/{id}/[]", to: words, member: .}
          - {from: "two:/seen/[]", to: seen, with: {id: .id}, field: .f, value: .v}
          - {from: "one:/born/{id}", to: born, value: iso8601(.)}
`
	for name, c := range map[string]struct {
		files  map[string]string
		faulty int64
	}{
		"well": {
			map[string]string{"a": `{"seen": [{"id": "a", "f": "x", "v": "1"}, {"id": "a", "f": "y", "v": "1"}]}`}, 0},
		"one twice": {
			map[string]string{"a": `{"seen": [{"id": "a", "f": "x", "v": "1"}, {"id": "a", "f": "x", "v": "2"}]}`}, 1},
		"one in two files": {map[string]string{"a": `{"seen": [{"id": "a", "f": "x", "v": "1"}]}`,
			"b": `{"seen": [{"id": "a", "f": "x", "v": "2"}]}`}, 1},
		"a list in two":    {map[string]string{"a": `{"words": {"a": ["x"]}}`, "b": `{"words": {"a": ["x"]}}`}, 1},
		"too long":         {map[string]string{"a": `{"words": {"a": [` + strings.Repeat(`"x",`, 4100) + `"x"]}}`}, 1},
		"another spelling": {map[string]string{"a": `{"born": {"a": "2026-01-31T09:30:00+01:00"}}`}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, server.URL(), declaration, "", nil)
			for file, text := range c.files {
				writeFile(t, w.root, file+".json", text)
			}
			p, err := w.m.Plan(t.Context(), "all")
			if err != nil || p.Faulty != c.faulty || p.RoundTrip != (c.faulty == 0) {
				t.Errorf("%+v %v", p, err)
			}
		})
	}
}

// An import goes on after a damaged file, an export writes the files that can be read, and both list each damaged one.
func TestDamagedFilesHoldUpNoOther(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	c, root := dial(t, server.URL()), t.TempDir()
	for name, text := range map[string]string{"guilds/111": `{"words": ["a"]}`, "guilds/222": `{"words": ["b"], "daily"`,
		"guilds/333": `{"words": ["c"]} x`, "guilds/444": `{"words": ["d"]}`} {
		writeFile(t, root, name+".json", text)
	}
	m := openDeclared(t, root, server.URL(), declaredMap(t, bot))
	toBackfill(t, m)
	r, err := m.Import(t.Context(), "settings", migrate.ImportOptions{})
	if !errors.As(err, new(*record.Error)) || r.Files != 4 || r.Faulty != 2 || len(r.Faults) != 2 || r.Written != 2 {
		t.Errorf("%+v %v", r, err)
	}
	if f, err := m.Facts(t.Context(), "settings"); err != nil || f.Imported {
		t.Errorf("%+v %v", f, err)
	}
	redis(t, c, "RPUSH", "w:222", "of no file that can be read")
	redis(t, c, "RPUSH", "w:444", "e")
	out := t.TempDir()
	e, err := m.Export(t.Context(), "settings", out)
	if err != nil || e.Faulty != 2 || len(e.Faults) != 2 || e.Changed != 1 ||
		!slices.Equal(e.Paths, []string{"guilds/111.json", "guilds/444.json"}) {
		t.Errorf("%+v %v", e, err)
	}
	text, err := os.ReadFile(filepath.Join(out, "guilds", "444.json"))
	if err != nil || string(text) != `{"words": ["d", "e"]}` {
		t.Errorf("%s %v", text, err)
	}
}
