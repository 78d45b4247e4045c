package look

import (
	"context"
	"strconv"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/internal/fleet"
	"github.com/keywright/keywright/source/server/request"
)

// Facts describes what the server knows of one key.
type Facts struct {
	Exists   bool
	Type     string
	Encoding string
	TTL      time.Duration // source.NoTTL for none
	Bytes    int64         // -1 unknown
	Node     string
}

// Inspect looks one key up, in a cluster at the node that holds it. It takes
// four round trips.
func Inspect(ctx context.Context, c connect.Config, key []byte) (Facts, error) {
	t, sh, err := holding(ctx, c, key)
	if err != nil {
		return Facts{}, err
	}
	defer t.Close()
	return facts(ctx, sh, key)
}

// holding returns the shard that has a key, and selects the database.
func holding(ctx context.Context, c connect.Config, key []byte) (*fleet.Fleet, *fleet.Shard, error) {
	t, err := fleet.Discover(ctx, c, request.Primary)
	if err != nil {
		return nil, nil, err
	}
	sh := t.Shards[0]
	if t.Cluster {
		sh, err = t.Holder(ctx, key)
	} else if err = t.MustHave(ctx, c.DB); err == nil {
		_, err = sh.Conn.Ask(ctx, "SELECT", strconv.Itoa(c.DB))
	}
	if err != nil {
		t.Close()
		return nil, nil, err
	}
	return t, sh, nil
}

// facts asks a server what it knows of one key.
func facts(ctx context.Context, sh *fleet.Shard, key []byte) (Facts, error) {
	f := Facts{Node: sh.Address, TTL: source.NoTTL, Bytes: -1}
	kind, err := sh.Conn.Ask(ctx, "TYPE", string(key))
	if err != nil {
		return f, err
	}
	f.Type, _ = kind.(string)
	if f.Exists = f.Type != "none"; !f.Exists {
		return f, nil
	}
	if ttl, err := sh.Conn.Ask(ctx, "PTTL", string(key)); err != nil {
		return f, err
	} else if ms, ok := ttl.(int64); ok && ms >= 0 {
		f.TTL = source.TTL(ms)
	}
	if n, err := sh.Conn.Ask(ctx, "MEMORY", "USAGE", string(key)); err == nil {
		if bytes, ok := n.(int64); ok {
			f.Bytes = bytes
		}
	}
	if e, err := sh.Conn.Ask(ctx, "OBJECT", "ENCODING", string(key)); err == nil {
		f.Encoding, _ = e.(string)
	}
	return f, nil
}
