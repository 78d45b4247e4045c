package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keyspace"
)

// WithConstructs loads the declaration, finds its entries of one type (all, or
// those named), connects, and runs.
func (a *App) WithConstructs(ctx context.Context, of keyspace.Construct, names []string,
	run func(*keywright.Client, []*keyspace.Entry) error) error {
	d, path, err := a.LoadDeclaration()
	if err != nil {
		return err
	}
	entries, err := ConstructsOf(d.Keyspace, of, names, path)
	if err != nil {
		return err
	}
	a.Keyspace = d.Keyspace
	config, err := a.Server()
	if err != nil {
		return err
	}
	a.NoteScope(config.String(), config.DB, d.Keyspace, false)
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return ServerFailure(run(c, entries))
}

func ConstructsOf(ks *keyspace.Keyspace, of keyspace.Construct, names []string, path string) (out []*keyspace.Entry,
	err error) {
	var all []string
	for _, e := range ks.Entries {
		if e.Construct == of {
			all = append(all, e.Name)
			if len(names) == 0 || slices.Contains(names, e.Name) {
				out = append(out, e)
			}
		}
	}
	if len(all) == 0 {
		return nil, Usage(fmt.Sprintf("add an entry with type: %s", of), "%s declares no %s", path, of)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, Usage(DidYouMean(name, all, "it declares"), "%s declares no %s %q", path, of, name)
		}
	}
	return out, nil
}

// ConstructReader reads constructs of the declaration from a server.
func (a *App) ConstructReader(c *keywright.Client) *answer.Reader {
	return &answer.Reader{Client: c, Keyspace: a.Keyspace}
}

// Databases holds the clients of a server, by database.
type Databases struct {
	*App
	url  string
	open map[int]*keywright.Client
}

// Databases returns those of a server; "" is that of the environment.
func (a *App) Databases(url string) *Databases {
	return &Databases{App: a, url: url, open: map[int]*keywright.Client{}}
}

// Client opens a database, once.
func (d *Databases) Client(db int) (*keywright.Client, error) {
	if c := d.open[db]; c != nil {
		return c, nil
	}
	at, err := WithDatabase(d.url, d.Getenv, db)
	if err != nil {
		return nil, err
	}
	o := d.ClientOptions()
	o.Connections = 2
	c, err := keywright.Open(context.Background(), at, o)
	switch {
	case db > 0 && errors.As(err, new(*connect.ConfigError)): // the URL was good without it
		return nil, ErrDatabase0
	case err != nil:
		return nil, ServerFailure(err)
	}
	d.open[db] = c
	return c, nil
}

func (d *Databases) Close() {
	for _, db := range slices.Sorted(maps.Keys(d.open)) {
		d.open[db].Close()
	}
}
