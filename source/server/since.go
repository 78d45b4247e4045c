package server

import (
	"context"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/topology"
)

// known represents a server as it was.
type known struct {
	config connect.Config
	as     topology.Identity
}

// Since returns what has happened to the servers since NewReader by which they may have lost keys that no program has
// deleted: a flush, a restart, a failover, or that one of them does not answer. It asks each of them, over a new
// connection.
func (r *Reader) Since(ctx context.Context) (out source.Reasons, err error) {
	for _, was := range r.first {
		conn, err := dial(ctx, was.config)
		if err != nil {
			out = out.Add(source.Why(source.Unverified, was.config.Addresses[0], err))
			continue
		}
		info, err := conn.info(ctx)
		address := conn.address
		conn.close()
		if err != nil {
			out = out.Add(source.Why(source.Unverified, address, err))
			continue
		}
		for _, why := range topology.Differences(address, was.as, topology.Identify(info)) {
			// The first replica of a primary, which a snapshot may be, gives it a new id, and loses nothing.
			if why.Code != source.HistoryMoved || was.as.Role != "master" {
				out = out.Add(why)
			}
		}
	}
	return out, ctx.Err()
}
