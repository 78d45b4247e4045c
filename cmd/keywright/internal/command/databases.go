package command

import (
	"context"
	"maps"
	"slices"

	"github.com/keywright/keywright"
)

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
