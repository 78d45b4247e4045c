package movedkeys_test

import (
	"embed"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/movedkeys"
	"github.com/keywright/keywright/keyspace/load"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// state has a record of every kind.
const state = `{"1": {"persona": "kind", "profile": {"name": "Ann", "age": 3}, "feeds": {"San Diego": {"n": 1.0}},
  "tags": ["a"], "stories": [], "words": ["x", "y"]}}
`

//go:embed keyspace.yaml
var declaration embed.FS

// connected returns a client of a server, and the migration as it is declared.
func connected(t *testing.T) (*keywright.Client, *record.Map) {
	t.Helper()
	server := kt.Start(t, kt.Redis, kt.Config("appendonly", "yes"))
	client, err := keywright.Open(t.Context(), server.URL(), keywright.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ks, found := load.File(declaration, "keyspace.yaml")
	if len(ks.Migrations) != 1 {
		t.Fatal(found)
	}
	m, err := record.Compile(ks.Migrations[0])
	if err != nil {
		t.Fatal(err)
	}
	return client, m
}

func open(t *testing.T, root string) (movedkeys.JSONFilesRepositories, *migrate.Migration) {
	t.Helper()
	client, m := connected(t)
	mig, err := migrate.Open(t.Context(), migrate.Config{Root: root, Map: m, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mig.Close() })
	return movedkeys.New(client).JSONFilesRepositories(mig), mig
}

// TestRepositories: in every phase the generated repositories read what is there, and write,
// update and delete where the phase says; both sides are equal then.
func TestRepositories(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "state.json"), []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	r, m := open(t, root)
	ctx := t.Context()
	if p, err := m.Plan(ctx, "all"); err != nil || !p.RoundTrip {
		t.Fatalf("%+v %v", p, err)
	}
	persona := "kind"
	for at := phase.Off; at <= phase.Complete; at++ {
		if at > phase.Off {
			if _, err := m.Advance(ctx, "all", migrate.ChangeOptions{Force: true}); err != nil {
				t.Fatal(err)
			}
		}
		if at == phase.Backfill {
			if _, err := m.Import(ctx, "all", migrate.ImportOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if is, err := r.Persona(1).Read(ctx); err != nil || is != persona {
			t.Errorf("%s: persona %q, %v", at, is, err)
		}
		persona = at.String()
		everyKind(t, r, m, persona)
		if _, left, err := m.Replay(ctx); left > 0 || err != nil {
			t.Errorf("%s: %d left, %v", at, left, err)
		}
		if at == phase.Off || at == phase.DualWrite || at == phase.Complete {
			continue
		}
		if v, err := m.Verify(ctx, "all", migrate.VerifyOptions{}); err != nil || !v.Whole() {
			t.Errorf("%s: %+v %v", at, v, err)
		}
	}
}

func everyKind(t *testing.T, r movedkeys.JSONFilesRepositories, m *migrate.Migration, at string) {
	t.Helper()
	ctx := t.Context()
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %s: %v", at, what, err)
		}
	}
	check("persona", r.Persona(1).Write(ctx, at))
	check("profile", r.Profile(1).Update(ctx, func(v movedkeys.ProfileValue, found bool) (movedkeys.ProfileValue, error) {
		if !found || v.Name != "Ann" {
			t.Errorf("%s: profile %+v", at, v)
		}
		v.Age++
		return v, nil
	}))
	check("feed", r.Feeds(1, "San Diego").Write(ctx, []byte(`{"n": 1.0}`)))
	check("tag", r.Tags(1, "b").Write(ctx))
	if is, err := r.Tags(1, "b").Read(ctx); err != nil || !is {
		t.Errorf("%s: the tag is not there, %v", at, err)
	}
	check("tag", r.Tags(1, "b").Delete(ctx))
	if is, err := r.Tags(1, "b").Read(ctx); err != nil || is {
		t.Errorf("%s: the tag is there, %v", at, err)
	}
	check("words", r.Words(1).Write(ctx, []string{"x", at}))
	if is, err := r.Words(1).Read(ctx); err != nil || !slices.Equal(is, []string{"x", at}) {
		t.Errorf("%s: words %q, %v", at, is, err)
	}
	oneThing(t, r, m, check)
	if _, err := r.Persona(7).Read(ctx); !errors.Is(err, keywright.ErrNotFound) {
		t.Errorf("%s: %v", at, err)
	}
	if _, err := r.Story(1, "no hash").Read(ctx); err == nil {
		t.Errorf("%s: a key that cannot be", at)
	}
}

// oneThing writes two records that are one thing in the document in one step.
func oneThing(t *testing.T, r movedkeys.JSONFilesRepositories, m *migrate.Migration, check func(string, error)) {
	t.Helper()
	ctx := t.Context()
	when := time.Now().UTC().Truncate(time.Second)
	story := movedkeys.StoryValue{Hash: "ab", At: when.Format(time.RFC3339), Title: "T"}
	one, err := r.Story(1, "ab").Change(story, when.Add(48*time.Hour))
	check("story", err)
	two, err := r.Stories(1, "ab").Change(when)
	check("score", err)
	check("both", m.Write(ctx, one, two))
	if is, err := r.Story(1, "ab").Read(ctx); err != nil || is != story {
		t.Errorf("story %+v, %v", is, err)
	}
	if is, err := r.Stories(1, "ab").Read(ctx); err != nil || !is.Equal(when) {
		t.Errorf("score %s, %v", is, err)
	}
}
