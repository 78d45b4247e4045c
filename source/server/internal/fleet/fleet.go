// Package fleet finds the servers of a keyspace, each shard and the member of it that is read, and says whether they
// are still what they were when it began. It reads no keys.
package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/internal/link"
	"github.com/keywright/keywright/source/server/request"
)

// Fleet describes what there is to scan, and what must stay as it is meanwhile.
type Fleet struct {
	Through connect.Config // as it was named: maybe by sentinels
	Config  connect.Config
	Cluster bool
	Slots   string // who holds which slots
	moving  bool   // slots were on the move
	Shards  []*Shard
	Notes   []string
	again   []string // addresses that are read, where there is a choice
	part    request.Part
	Missing source.Reasons // shards of a cluster that cannot be read
	cause   error          // why the first of them cannot
}

// Shard represents one set of keys and the server from which it is read.
type Shard struct {
	Config    connect.Config
	Address   string
	Conn      *link.Link
	Before    topology.Identity
	Databases map[int]int64 // database → keys
	Replica   bool
	Slots     []topology.Range      // of a cluster
	Owned     *[topology.Slots]bool // the same; nil: all, or slots are on the move
	Asked     bool                  // by name: its idle times are left alone
	Unsized   bool                  // the server does not tell sizes: MEMORY USAGE is not to be had
}

// Close closes the connections to the shards.
func (t *Fleet) Close() {
	for _, s := range t.Shards {
		s.Conn.Close()
	}
}

// Size returns how many keys the shards had at the beginning.
func (t *Fleet) Size() (n int64) {
	for _, s := range t.Shards {
		for _, keys := range s.Databases {
			n += keys
		}
	}
	return n
}

// Databases returns how many databases have keys.
func (t *Fleet) Databases() int {
	all := map[int]bool{}
	for _, s := range t.Shards {
		for db := range s.Databases {
			all[db] = true
		}
	}
	return len(all)
}

// Describe says in a few words what is read: brand, version, and the kind of the topology.
func (t *Fleet) Describe() string {
	if len(t.Shards) == 0 {
		return ""
	}
	first := t.Shards[0]
	kind := "single server"
	switch {
	case t.Cluster:
		kind = fmt.Sprintf("cluster of %d shards", len(t.Shards))
		if t.part.Of > 0 {
			kind = fmt.Sprintf("%d shards of a cluster (part %d of %d)", len(t.Shards), t.part.Number, t.part.Of)
		}
	case t.Through.Mode == connect.Sentinel:
		kind = "found by sentinel"
	}
	replicas := 0
	for _, s := range t.Shards {
		if s.Replica {
			replicas++
		}
	}
	if replicas > 0 {
		kind += fmt.Sprintf(", read from %d replicas", replicas)
	}
	return fmt.Sprintf("%s %s, %s", first.Before.Brand, first.Before.Version, kind)
}

// Discover connects and finds the shards, all of them. Of a primary and its replicas it
// takes one that is in again, if there is one.
func Discover(ctx context.Context, c connect.Config, role request.Role, again ...string) (*Fleet, error) {
	t, err := DiscoverSome(ctx, c, role, request.Part{}, again...)
	if err == nil && len(t.Missing) > 0 {
		t.Close()
		return nil, t.cause
	}
	return t, err
}

// DiscoverSome is Discover for readers that say what is missing: one shard that can be
// read is enough. Of a cluster it asks the shards of the part, and no other.
func DiscoverSome(ctx context.Context, c connect.Config, role request.Role, part request.Part,
	again ...string) (*Fleet, error) {
	t, err := find(ctx, c, role, part, again...)
	if err != nil && t != nil {
		t.Close()
		return nil, err
	}
	return t, err
}

func find(ctx context.Context, c connect.Config, role request.Role, part request.Part,
	again ...string) (*Fleet, error) {
	through, address := c, c.Addresses[0]
	if c.Mode == connect.Sentinel {
		primary, err := c.Primary(ctx)
		if err != nil {
			return nil, err
		}
		c, address = c.At(primary), primary
	}
	first, err := link.Dial(ctx, c)
	if err != nil {
		return nil, err
	}
	t := &Fleet{Through: through, Config: c, again: again, part: part}
	info, err := first.Info(ctx)
	if err != nil {
		first.Close()
		return nil, err
	}
	if err := Supported(address, info); err != nil {
		first.Close()
		return nil, err
	}
	if info.Clustered() {
		t.Cluster = true
		defer first.Close()
		return t, t.discoverCluster(ctx, first, role)
	}
	if c.Mode == connect.Cluster {
		first.Close()
		return nil, &connect.Error{Kind: connect.Unsupported, Server: address,
			Err: errors.New("the server is not part of a cluster"), Hint: "write redis:// instead of redis+cluster://"}
	}
	sh := &Shard{Config: c, Address: address, Conn: first, Replica: info.Replica()}
	t.Shards = []*Shard{sh}
	t.preferReplica(ctx, sh, info, role)
	return t, sh.start(ctx, t)
}

// Lowest returns the oldest versions that are read, by brand.
func Lowest() map[string]string { return map[string]string{"redis": "6.2", "valkey": "7.2"} }

// Supported refuses servers that lack what the scan needs.
func Supported(address string, info topology.Info) error {
	if len(info) == 0 {
		return nil // INFO is forbidden: nothing to decide on
	}
	brand, version := info.Brand()
	all := Lowest()
	lowest := all[brand]
	if version != "" && lowest != "" && topology.Older(version, lowest) {
		return &connect.Error{Kind: connect.Unsupported, Server: address,
			Err:  fmt.Errorf("%s %s is older than %s", brand, version, lowest),
			Hint: "keywright supports Redis from " + all["redis"] + " and Valkey from " + all["valkey"]}
	}
	return nil
}

// preferReplica swaps a primary for a replica of its that is in step.
func (t *Fleet) preferReplica(ctx context.Context, sh *Shard, info topology.Info, role request.Role) {
	if role == request.Primary || !info.Primary() || slices.Contains(t.again, sh.Address) {
		return
	}
	for _, address := range t.firstAgain(info.InStep()) {
		conn, err := link.Dial(ctx, sh.Config.At(address))
		if err != nil {
			t.Notes = append(t.Notes, fmt.Sprintf("replica %s cannot be reached, its primary is read", address))
			continue
		}
		if err := conn.Reaches(ctx, info["master_repl_offset"]); err != nil {
			conn.Close()
			t.Notes = append(t.Notes, fmt.Sprintf("replica %s is not read: %v", address, err))
			continue
		}
		sh.Conn.Close()
		sh.Conn, sh.Address, sh.Replica, sh.Config = conn, address, true, sh.Config.At(address)
		return
	}
	if role == request.Replica {
		t.Notes = append(t.Notes, "there is no replica in step: the primary is read")
	}
}

// firstAgain puts the addresses that are to be read again before the others.
func (t *Fleet) firstAgain(addresses []string) []string {
	slices.SortStableFunc(addresses, func(a, b string) int {
		return slices.Index(t.again, b) - slices.Index(t.again, a)
	})
	return addresses
}

func (t *Fleet) discoverCluster(ctx context.Context, first *link.Link, role request.Role) error {
	nodes, err := first.Nodes(ctx)
	if err != nil {
		return err
	}
	t.Slots = nodes.Holdings()
	if covered := nodes.Covered(); covered < topology.Slots {
		t.Notes = append(t.Notes, fmt.Sprintf("the cluster covers %d of %d slots", covered, topology.Slots))
	}
	t.moving = nodes.Moving()
	all, err := t.dealt(nodes, first.Address)
	if err != nil {
		return err
	}
	for _, of := range all {
		sh := &Shard{Config: t.Config.At(of.Primary.Address), Address: of.Primary.Address, Slots: of.Primary.Slots}
		if err := t.join(ctx, sh, of, role); err != nil {
			sh.Conn.Close()
			t.Missing, t.cause = t.Missing.Add(source.Why(source.Missing, of.Primary.Address, err)), cmp.Or(t.cause, err)
			continue
		}
		t.Shards = append(t.Shards, sh)
	}
	switch {
	case len(t.Shards) == 0 && t.cause != nil:
		return t.cause
	case len(t.Shards) == 0:
		return &connect.Error{Kind: connect.Unsupported, Server: first.Address,
			Err: errors.New("the cluster has no primary with slots"), Hint: "is the cluster created?"}
	}
	return nil
}

// dealt returns the shards of the part, by their first slot.
func (t *Fleet) dealt(nodes topology.Nodes, address string) (out []topology.Shard, err error) {
	all := nodes.Shards()
	if n := t.part.Of; n > len(all) && len(all) > 0 {
		return nil, &connect.Error{Kind: connect.Unsupported, Server: address,
			Err:  fmt.Errorf("the cluster has %d shards, which cannot be read in %d parts", len(all), n),
			Hint: fmt.Sprintf("make %d parts, or fewer", len(all))}
	}
	for i, of := range all {
		if has(t.part, i) {
			out = append(out, of)
		}
	}
	return out, nil
}

// Origins returns the shards, as the summary has them.
func (t *Fleet) Origins() (out []source.Origin) {
	for _, s := range t.Shards {
		o := source.Origin{ID: s.Before.ReplID, Address: s.Address, Databases: slices.Sorted(maps.Keys(s.Databases))}
		for _, r := range s.Slots {
			o.Slots = append(o.Slots, source.SlotRange{First: r.First, Last: r.Last})
		}
		out = append(out, o)
	}
	return out
}

// join connects to a shard of a cluster.
func (t *Fleet) join(ctx context.Context, sh *Shard, of topology.Shard, role request.Role) (err error) {
	if role != request.Primary && !slices.Contains(t.again, sh.Address) {
		t.clusterReplica(ctx, sh, of.Replicas)
	}
	if sh.Conn == nil {
		if sh.Conn, err = link.Dial(ctx, sh.Config); err != nil {
			return err
		}
		t.takes(ctx, sh, sh.Conn)
	}
	return sh.start(ctx, t)
}

// clusterReplica takes a replica that has all that its primary has. A primary that does not answer is
// not waited for.
func (t *Fleet) clusterReplica(ctx context.Context, sh *Shard, replicas []topology.Node) {
	offset := ""
	if len(replicas) == 0 {
		return
	}
	if primary, err := link.Dial(ctx, sh.Config); err == nil {
		info, _ := primary.Info(ctx)
		offset = info["master_repl_offset"]
		t.takes(ctx, sh, primary)
		primary.Close()
	}
	for _, n := range replicas {
		if len(t.again) > 0 && !slices.Contains(t.again, n.Address) {
			continue
		}
		config := t.Config.At(n.Address)
		conn, err := link.Dial(ctx, config)
		if err != nil {
			continue
		}
		info, err := conn.Info(ctx)
		if err == nil && info.Linked() {
			if err = conn.Reaches(ctx, offset); err == nil {
				_, err = conn.Ask(ctx, "READONLY")
			}
			if err == nil {
				sh.Conn, sh.Address, sh.Config, sh.Replica = conn, n.Address, config, true
				return
			}
			t.Notes = append(t.Notes, fmt.Sprintf("replica %s is not read: %v", n.Address, err))
		}
		conn.Close()
	}
}

// start notes what the server is before the scan.
func (s *Shard) start(ctx context.Context, t *Fleet) error {
	info, err := s.Conn.Info(ctx)
	if err != nil {
		return err
	}
	s.Before = topology.Identify(info)
	s.Databases = info.Databases()
	if len(info) == 0 {
		t.Notes = append(t.Notes, "INFO is forbidden: only database "+strconv.Itoa(s.Config.DB)+" is scanned")
		n, err := s.Conn.Ask(ctx, "DBSIZE")
		if keys, ok := n.(int64); ok && err == nil {
			s.Databases = map[int]int64{s.Config.DB: keys}
		} else {
			s.Databases = map[int]int64{s.Config.DB: 0}
		}
	}
	return nil
}

// GossipTime says how long the nodes of a cluster are given to tell each other of a
// failover before they are asked for the last time.
const GossipTime = 250 * time.Millisecond

// Changes compares the whole topology with what it was.
func (t *Fleet) Changes(ctx context.Context) (out source.Reasons) {
	if t.Cluster {
		_ = link.Sleep(ctx, GossipTime)
	}
	for _, s := range t.Shards {
		info, err := s.Conn.Info(ctx)
		if err != nil {
			out = append(out, source.Why(source.Unverified, s.Address, err))
			continue
		}
		out = append(out, topology.Differences(s.Address, s.Before, topology.Identify(info))...)
	}
	if t.Cluster && len(out) == 0 {
		out = t.Moved(ctx)
	}
	return out
}

// Moved compares who holds which slots, as every shard sees it: the one that
// was deposed is the last to know.
func (t *Fleet) Moved(ctx context.Context) source.Reasons {
	for _, s := range t.Shards {
		nodes, err := s.Conn.Nodes(ctx)
		if err != nil {
			return source.Reasons{source.Why(source.SlotsUnknown, "", err)}
		}
		if t.moving || nodes.Moving() || nodes.Holdings() != t.Slots {
			return source.Reasons{source.Why(source.SlotsMoved, "", nil)}
		}
	}
	return nil
}

// DescribeShards returns the servers that are read.
func (t *Fleet) DescribeShards() []source.Shard {
	var out []source.Shard
	for _, s := range t.Shards {
		out = append(out, source.Shard{Address: s.Address, Brand: s.Before.Brand, Version: s.Before.Version,
			RunID: s.Before.RunID, ReplID: s.Before.ReplID, Replica: s.Replica, Keys: s.Before.Keys})
	}
	return out
}

func has(p request.Part, i int) bool { return p.Of == 0 || i%p.Of == p.Number-1 }

// Again asks a shard over a new connection: the last one was idle for as
// long as the snapshot took, and may have been closed for that.
func (s *Shard) Again(ctx context.Context) (topology.Info, error) {
	conn, err := link.Dial(ctx, s.Config)
	if err != nil {
		return nil, err
	}
	s.Conn.Close()
	s.Conn = conn
	return conn.Info(ctx)
}
