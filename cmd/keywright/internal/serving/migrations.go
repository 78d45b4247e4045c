package serving

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/answer/phases"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/record"
)

// migrations reads where the migrations of a declaration are; nil: it has none. Of one that has no folder beside the
// declaration it says so, and makes none.
func migrations(a *cli.App, d *cli.Declaration,
	folder string) func(context.Context, *keywright.Client, error) ([]phases.Migration, error) {
	if len(d.Migrations) == 0 {
		return nil
	}
	return func(ctx context.Context, c *keywright.Client, failed error) (out []phases.Migration, err error) {
		for _, m := range d.Migrations {
			one, err := migrationAt(ctx, a, m, folder, c)
			if err != nil {
				return nil, err
			}
			if failed != nil && one.Away == "" {
				one.Away = a.HideSecrets(failed.Error())
			}
			out = append(out, one)
		}
		return out, nil
	}
}

// migrationAt returns where one migration is.
func migrationAt(ctx context.Context, a *cli.App, m *keyspace.Migration, folder string,
	c *keywright.Client) (out phases.Migration, err error) {
	out = phases.Migration{Name: m.Name}
	if _, err := os.Stat(filepath.Join(folder, ".keywright", m.ID())); errors.Is(err, fs.ErrNotExist) {
		out.Absent, out.Away = true,
			"it has not begun, or its files are on another machine: there is no "+filepath.Join(".keywright", m.ID())+
				" beside the declaration"
		for _, p := range m.Parts {
			out.Parts = append(out.Parts, phases.MigrationPart{Part: p.Name, Processes: []phases.MigrationProcess{}})
		}
		return out, nil
	}
	compiled, err := record.Compile(m)
	if err != nil {
		return out, err
	}
	run, err := migrate.Open(ctx, migrate.Config{Root: folder, Map: compiled, Client: c, Look: true})
	if err != nil {
		return out, err
	}
	all, err := run.Status(ctx)
	if err = errors.Join(err, run.Close()); err != nil {
		return out, err
	}
	for i := range all {
		if err := all[i].Facts.Unanswered; err != nil {
			out.Away = a.HideSecrets(err.Error())
		}
		out.Parts = append(out.Parts, phases.PartOf(&all[i]))
	}
	out.Unfit = phases.Unfit(all)
	return out, nil
}
