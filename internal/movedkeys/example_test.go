package movedkeys_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/movedkeys"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/record"
)

func rename(ctx context.Context, client *keywright.Client) error {
	//doc:begin repositories
	ks, findings := load.File(declaration, "keyspace.yaml") // declaration is an embed.FS, or os.DirFS(".")
	if finding.Count(findings).Errors > 0 {
		return fmt.Errorf("keyspace.yaml: %v", findings)
	}
	declared, err := record.Compile(ks.Migration("json_files"))
	if err != nil {
		return err
	}
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
	if err := records.Persona(480032).Write(ctx, persona+", and patient"); err != nil {
		return err
	}
	older := func(p movedkeys.ProfileValue, found bool) (movedkeys.ProfileValue, error) {
		p.Age++
		return p, nil
	}
	err = records.Profile(480032).Update(ctx, older) // no other write of it comes in between
	//doc:end
	return err
}

// The example of the page writes where the phase says: in the phase off the file.
func TestExampleOfThePage(t *testing.T) {
	t.Chdir(t.TempDir())
	const before = `{"480032": {"persona": "kind", "profile": {"name":"Ann", "age": 3}}, "other": 1.0}`
	if err := errors.Join(os.Mkdir("data", 0o700), os.WriteFile("data/state.json", []byte(before), 0o600)); err != nil {
		t.Fatal(err)
	}
	client, _ := connected(t)
	if err := rename(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile("data/state.json")
	want := strings.NewReplacer("kind", "kind, and patient", "3}", "4}").Replace(before)
	if err != nil || string(after) != want {
		t.Errorf("%s, %v", after, err)
	}
}
