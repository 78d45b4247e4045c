package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/internal/typo"
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
	c, err := keywright.Open(ctx, a.URL,
		keywright.Options{Logger: Silent, CAFile: a.Connect.CAFile, CertFile: a.Connect.CertFile,
			KeyFile:    a.Connect.KeyFile,
			ServerName: a.Connect.ServerName, Insecure: a.Connect.Insecure, Timeout: a.Connect.Timeout, NoCache: true,
			Getenv: a.Getenv})
	if err != nil {
		return ServerFailure(err)
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
			hint := fmt.Sprintf("it declares %s", strings.Join(all, ", "))
			if near := typo.Nearest(name, all); near != "" {
				hint = "did you mean " + near + "?"
			}
			return nil, Usage(hint, "%s declares no %s %q", path, of, name)
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
	Open map[int]*keywright.Client
}

// Client opens a database, once.
func (d *Databases) Client(db int) (*keywright.Client, error) {
	if c := d.Open[db]; c != nil {
		return c, nil
	}
	at, err := WithDatabase(d.URL, d.Getenv, db)
	if err != nil {
		return nil, err
	}
	o := d.Connect
	c, err := keywright.Open(context.Background(), at, keywright.Options{Logger: Silent,
		CAFile: o.CAFile, CertFile: o.CertFile,
		KeyFile: o.KeyFile, ServerName: o.ServerName, Insecure: o.Insecure, Timeout: o.Timeout, NoCache: true, Connections: 2,
		Getenv: d.Getenv})
	if err != nil {
		return nil, ServerFailure(err)
	}
	d.Open[db] = c
	return c, nil
}

func (d *Databases) Close() {
	for _, db := range slices.Sorted(maps.Keys(d.Open)) {
		d.Open[db].Close()
	}
}
