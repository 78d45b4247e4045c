package migrate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

// settingsInShadow brings the settings of a bot to shadow, with all that its gates ask for.
func settingsInShadow(t *testing.T, url string) (root string, m *migrate.Migration) {
	t.Helper()
	root = t.TempDir()
	writeFile(t, root, "state.json", `{"guilds": {"456": {"persona": "kind"}}}`)
	m = openDeclared(t, root, url, declaredMap(t, bot))
	for _, part := range []string{"history", "settings"} {
		to(t, m, part, phase.Shadow)
	}
	for range 2 { // the second changes nothing
		if _, err := m.Import(t.Context(), "settings", migrate.ImportOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Plan(t.Context(), "settings"); err != nil {
			t.Fatal(err)
		}
		settingsVerified(t, m, true)
	}
	return root, m
}

// settingsVerified verifies the settings, and says whether they are to be equal.
func settingsVerified(t *testing.T, m *migrate.Migration, want bool) {
	t.Helper()
	r, err := m.Verify(t.Context(), "settings", migrate.VerifyOptions{})
	if err != nil || r.Whole() != want {
		t.Fatalf("%+v %v", r, err)
	}
	if f, err := m.Facts(t.Context(), "settings"); err != nil || f.Verified != want {
		t.Errorf("verified: %v, want %v (%v)", f.Verified, want, err)
	}
}

// A verification that finds a difference closes the gate that one before has opened; the next without one opens it.
func TestTheLastVerificationCounts(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	c := dial(t, server.URL())
	_, m := settingsInShadow(t, server.URL())
	to(t, m, "history", phase.Live)
	redis(t, c, "DEL", "p:456")
	settingsVerified(t, m, false)
	_, err := m.Advance(t.Context(), "settings", migrate.ChangeOptions{Force: true, Only: []phase.Gate{phase.Compared,
		phase.For, phase.Backup, phase.Fit}})
	if err == nil || !strings.Contains(err.Error(), "verified: is not done") {
		t.Errorf("advanced: %v", err)
	}
	if r, err := m.Verify(t.Context(), "settings", migrate.VerifyOptions{Repair: true}); err != nil || r.Repaired != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	settingsVerified(t, m, true)
}

// What was found with another declaration of a part counts no longer, and what a former version has noted without
// one does not count either.
func TestFactsOfAnotherDeclaration(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	type facts struct{ imported, verified, roundTrip, looked bool }
	of := func(m *migrate.Migration) facts {
		f, err := m.Facts(t.Context(), "settings")
		if err != nil {
			t.Fatal(err)
		}
		return facts{f.Imported, f.Verified, f.RoundTrip, f.Looked}
	}
	root, m := settingsInShadow(t, server.URL())
	all := facts{true, true, true, true}
	if is := of(m); is != all {
		t.Errorf("with the same declaration: %+v", is)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	replaced := func(old, with string) string { return strings.Replace(bot, old, with, 1) }
	for what, c := range map[string]struct {
		text string
		want facts
	}{
		"a comment":   {replaced("vars:", "# a comment\nvars:"), all},
		"gates":       {replaced("      settings:\n", "      settings:\n        gates: {compared: 5}\n"), all},
		"another key": {replaced(`"p:{g}"`, `"personas:{g}"`), facts{}},
		"one move less": {replaced("          - {from: \"state:/guilds/{g}/persona\", to: persona, value: .}\n", ""),
			facts{}},
		"another type":   {replaced("field: text,", "field: slug,"), facts{}},
		"another var":    {replaced("3,20", "3,19"), facts{}},
		"another rule":   {bot + "    compare: [{entry: feeds, field: .n, as: set}]\n", facts{}},
		"another part":   {replaced("iso8601(.at)", "unix_s(.at)"), facts{true, true, true, false}},
		"less ignored":   {bot[:strings.Index(bot, "    ignore:")], facts{true, true, true, false}},
		"another reason": {replaced("it is of another", "that is of another"), all},
	} {
		if c.text == bot {
			t.Fatalf("%s: the declaration is the same", what)
		}
		m := openDeclared(t, root, server.URL(), declaredMap(t, c.text))
		if is := of(m); is != c.want {
			t.Errorf("%s: %+v, want %+v", what, is, c.want)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(root, ".keywright", "files", "facts-settings.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var older []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, `"rules"`) && !strings.Contains(line, `"reads"`) {
			older = append(older, line)
		}
	}
	writeFile(t, filepath.Dir(path), filepath.Base(path), strings.Join(older, ""))
	m = openDeclared(t, root, server.URL(), declaredMap(t, bot))
	if is := of(m); is != (facts{}) {
		t.Errorf("of a former version: %+v", is)
	}
}

// A move that was added where Redis decides has its records in the files alone: no repair and no way back takes them
// out. Where the files decide again it is imported.
func TestAMoveThatIsAddedLater(t *testing.T) {
	t.Parallel()
	server, root := kt.Start(t, kt.Redis), t.TempDir()
	const text = `{"guilds": {"456": {"persona": "kind", "feeds": {"a": 1}}}}`
	writeFile(t, root, "state.json", text)
	former := strings.Replace(bot, "          - {from: \"state:/guilds/{g}/feeds/{name}\", to: feeds, field: \"{name}\", "+
		"value: .}\n", "", 1)
	m := openDeclared(t, root, server.URL(), declaredMap(t, former))
	for _, part := range []string{"history", "settings"} {
		to(t, m, part, phase.Shadow)
	}
	if _, err := m.Import(t.Context(), "settings", migrate.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	settingsVerified(t, m, true)
	for _, part := range []string{"history", "settings"} {
		to(t, m, part, phase.Complete)
	}
	for _, declaration := range []string{bot, former} {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		m = openDeclared(t, root, server.URL(), declaredMap(t, declaration))
		_, err := m.Rollback(t.Context(), "settings", migrate.ChangeOptions{Force: true})
		if class, _ := keywright.ClassOf(err); (err == nil) != (declaration == former) || err != nil && class !=
			keywright.Refused {
			t.Errorf("back: %v", err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = openDeclared(t, root, server.URL(), declaredMap(t, bot))
	to(t, m, "settings", phase.Live)
	if r, err := m.Verify(t.Context(), "settings", migrate.VerifyOptions{Repair: true}); err == nil {
		t.Errorf("repaired: %+v", r)
	}
	if is, err := os.ReadFile(filepath.Join(root, "state.json")); err != nil || string(is) != text {
		t.Errorf("%s %v", is, err)
	}
	to(t, m, "settings", phase.Shadow)
	if _, err := m.Import(t.Context(), "settings", migrate.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	settingsVerified(t, m, true)
	to(t, m, "settings", phase.Live)
	if _, err := m.Verify(t.Context(), "settings", migrate.VerifyOptions{Repair: true}); err != nil {
		t.Error(err)
	}
}
