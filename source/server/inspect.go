package server

import (
	"context"
	"strconv"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source"
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
	defer t.close()
	return facts(ctx, sh, key)
}

// holding returns the shard that has a key, and selects the database.
func holding(ctx context.Context, c connect.Config, key []byte) (*fleet, *shard, error) {
	t, err := discover(ctx, c, Primary)
	if err != nil {
		return nil, nil, err
	}
	sh := t.shards[0]
	if t.cluster {
		sh, err = t.holder(ctx, key)
	} else if err = t.mustHave(ctx, c.DB); err == nil {
		_, err = sh.conn.ask(ctx, "SELECT", strconv.Itoa(c.DB))
	}
	if err != nil {
		t.close()
		return nil, nil, err
	}
	return t, sh, nil
}

// facts asks a server what it knows of one key.
func facts(ctx context.Context, sh *shard, key []byte) (Facts, error) {
	f := Facts{Node: sh.address, TTL: source.NoTTL, Bytes: -1}
	kind, err := sh.conn.ask(ctx, "TYPE", string(key))
	if err != nil {
		return f, err
	}
	f.Type, _ = kind.(string)
	if f.Exists = f.Type != "none"; !f.Exists {
		return f, nil
	}
	if ttl, err := sh.conn.ask(ctx, "PTTL", string(key)); err != nil {
		return f, err
	} else if ms, ok := ttl.(int64); ok && ms >= 0 {
		f.TTL = source.TTL(ms)
	}
	if n, err := sh.conn.ask(ctx, "MEMORY", "USAGE", string(key)); err == nil {
		if bytes, ok := n.(int64); ok {
			f.Bytes = bytes
		}
	}
	if e, err := sh.conn.ask(ctx, "OBJECT", "ENCODING", string(key)); err == nil {
		f.Encoding, _ = e.(string)
	}
	return f, nil
}
