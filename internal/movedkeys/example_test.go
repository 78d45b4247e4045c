package movedkeys_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/movedkeys"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/record"
)

func rename(ctx context.Context, client *keywright.Client, declared *record.Map) error {
	//doc:begin repositories
	migration, err := migrate.Open(ctx, migrate.Config{Root: "data", Map: declared, Client: client})
	if err != nil {
		return err
	}
	defer migration.Close()
	records := movedkeys.New(client).JSONFilesRepositories(migration)

	persona, err := records.Persona(480032).Read(ctx)
	if err != nil {
		return err
	}
	err = records.Persona(480032).Write(ctx, persona+", and patient")
	//doc:end
	return err
}

// The example of the page writes where the phase says: in the phase off the file.
func TestExampleOfThePage(t *testing.T) {
	t.Chdir(t.TempDir())
	const before = `{"480032": {"persona": "kind"}, "other": 1.0}`
	if err := errors.Join(os.Mkdir("data", 0o700), os.WriteFile("data/state.json", []byte(before), 0o600)); err != nil {
		t.Fatal(err)
	}
	client, declared := connected(t)
	if err := rename(t.Context(), client, declared); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile("data/state.json")
	if want := strings.Replace(before, "kind", "kind, and patient", 1); err != nil || string(after) != want {
		t.Errorf("%s, %v", after, err)
	}
}
