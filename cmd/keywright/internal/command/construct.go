package command

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

// withConstructs loads the declaration, finds its entries of one type (all, or
// those named), connects, and runs.
func (a *app) withConstructs(ctx context.Context, of keyspace.Construct, names []string,
	run func(*keywright.Client, []*keyspace.Entry) error) error {
	d, path, err := a.usable()
	if err != nil {
		return err
	}
	entries, err := constructsOf(d.Keyspace, of, names, path)
	if err != nil {
		return err
	}
	a.keyspace = d.Keyspace
	config, err := a.server()
	if err != nil {
		return err
	}
	a.works(config.String(), config.DB, d.Keyspace, false)
	c, err := keywright.Open(ctx, a.url,
		keywright.Options{Logger: silent, CAFile: a.connect.CAFile, CertFile: a.connect.CertFile,
			KeyFile:    a.connect.KeyFile,
			ServerName: a.connect.ServerName, Insecure: a.connect.Insecure, Timeout: a.connect.Timeout, NoCache: true,
			Getenv: a.Getenv})
	if err != nil {
		return aclFailure(err)
	}
	defer c.Close()
	return aclFailure(run(c, entries))
}

func constructsOf(ks *keyspace.Keyspace, of keyspace.Construct, names []string, path string) (out []*keyspace.Entry,
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
		return nil, usage(fmt.Sprintf("add an entry with type: %s", of), "%s declares no %s", path, of)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			hint := fmt.Sprintf("it declares %s", strings.Join(all, ", "))
			if near := typo.Nearest(name, all); near != "" {
				hint = "did you mean " + near + "?"
			}
			return nil, usage(hint, "%s declares no %s %q", path, of, name)
		}
	}
	return out, nil
}

// constructReader reads constructs of the declaration from a server.
func (a *app) constructReader(c *keywright.Client) *answer.Reader {
	return &answer.Reader{Client: c, Keyspace: a.keyspace}
}

// databases holds the clients of a server, by database.
type databases struct {
	*app
	open map[int]*keywright.Client
}

// client opens a database, once.
func (d *databases) client(db int) (*keywright.Client, error) {
	if c := d.open[db]; c != nil {
		return c, nil
	}
	at, err := withDatabase(d.url, d.Getenv, db)
	if err != nil {
		return nil, err
	}
	o := d.connect
	c, err := keywright.Open(context.Background(), at, keywright.Options{Logger: silent,
		CAFile: o.CAFile, CertFile: o.CertFile,
		KeyFile: o.KeyFile, ServerName: o.ServerName, Insecure: o.Insecure, Timeout: o.Timeout, NoCache: true, Connections: 2,
		Getenv: d.Getenv})
	if err != nil {
		return nil, aclFailure(err)
	}
	d.open[db] = c
	return c, nil
}

func (d *databases) close() {
	for _, db := range slices.Sorted(maps.Keys(d.open)) {
		d.open[db].Close()
	}
}
