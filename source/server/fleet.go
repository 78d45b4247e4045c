package server

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
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/topology"
)

// fleet describes what there is to scan, and what must stay as it is meanwhile.
type fleet struct {
	through connect.Config // as it was named: maybe by sentinels
	config  connect.Config
	cluster bool
	slots   string // who holds which slots
	moving  bool   // slots were on the move
	shards  []*shard
	notes   []string
	again   []string // addresses that are read, where there is a choice
	part    Part
	missing source.Reasons // shards of a cluster that cannot be read
	cause   error          // why the first of them cannot
}

// shard represents one set of keys and the server from which it is read.
type shard struct {
	config  connect.Config
	address string
	conn    *link
	before  topology.Identity
	dbs     map[int]int64 // database → keys
	replica bool
	slots   []topology.Range      // of a cluster
	owned   *[topology.Slots]bool // the same; nil: all, or slots are on the move
	asked   bool                  // by name: its idle times are left alone
	unsized bool                  // the server does not tell sizes: MEMORY USAGE is not to be had
}

func (t *fleet) close() {
	for _, s := range t.shards {
		s.conn.close()
	}
}

func (t *fleet) size() (n int64) {
	for _, s := range t.shards {
		for _, keys := range s.dbs {
			n += keys
		}
	}
	return n
}

func (t *fleet) databases() int {
	all := map[int]bool{}
	for _, s := range t.shards {
		for db := range s.dbs {
			all[db] = true
		}
	}
	return len(all)
}

func (t *fleet) describe() string {
	if len(t.shards) == 0 {
		return ""
	}
	first := t.shards[0]
	kind := "single server"
	switch {
	case t.cluster:
		kind = fmt.Sprintf("cluster of %d shards", len(t.shards))
		if t.part.Of > 0 {
			kind = fmt.Sprintf("%d shards of a cluster (part %d of %d)", len(t.shards), t.part.Number, t.part.Of)
		}
	case t.through.Mode == connect.Sentinel:
		kind = "found by sentinel"
	}
	replicas := 0
	for _, s := range t.shards {
		if s.replica {
			replicas++
		}
	}
	if replicas > 0 {
		kind += fmt.Sprintf(", read from %d replicas", replicas)
	}
	return fmt.Sprintf("%s %s, %s", first.before.Brand, first.before.Version, kind)
}

// discover connects and finds the shards, all of them. Of a primary and its replicas it
// takes one that is in again, if there is one.
func discover(ctx context.Context, c connect.Config, role Role, again ...string) (*fleet, error) {
	t, err := discoverSome(ctx, c, role, Part{}, again...)
	if err == nil && len(t.missing) > 0 {
		t.close()
		return nil, t.cause
	}
	return t, err
}

// discoverSome returns discover for readers that say what is missing: one shard that can be
// read is enough. Of a cluster it asks the shards of the part, and no other.
func discoverSome(ctx context.Context, c connect.Config, role Role, part Part, again ...string) (*fleet, error) {
	t, err := find(ctx, c, role, part, again...)
	if err != nil && t != nil {
		t.close()
		return nil, err
	}
	return t, err
}

func find(ctx context.Context, c connect.Config, role Role, part Part, again ...string) (*fleet, error) {
	through, address := c, c.Addresses[0]
	if c.Mode == connect.Sentinel {
		primary, err := c.Primary(ctx)
		if err != nil {
			return nil, err
		}
		c, address = c.At(primary), primary
	}
	first, err := dial(ctx, c)
	if err != nil {
		return nil, err
	}
	t := &fleet{through: through, config: c, again: again, part: part}
	info, err := first.info(ctx)
	if err != nil {
		first.close()
		return nil, err
	}
	if err := supported(address, info); err != nil {
		first.close()
		return nil, err
	}
	if info.Clustered() {
		t.cluster = true
		defer first.close()
		return t, t.discoverCluster(ctx, first, role)
	}
	if c.Mode == connect.Cluster {
		first.close()
		return nil, &connect.Error{Kind: connect.Unsupported, Server: address,
			Err: errors.New("the server is not part of a cluster"), Hint: "write redis:// instead of redis+cluster://"}
	}
	sh := &shard{config: c, address: address, conn: first, replica: info.Replica()}
	t.shards = []*shard{sh}
	t.preferReplica(ctx, sh, info, role)
	return t, sh.start(ctx, t)
}

// Lowest returns the oldest versions that are read, by brand.
func Lowest() map[string]string { return map[string]string{"redis": "6.2", "valkey": "7.2"} }

// supported refuses servers that lack what the scan needs.
func supported(address string, info topology.Info) error {
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
func (t *fleet) preferReplica(ctx context.Context, sh *shard, info topology.Info, role Role) {
	if role == Primary || !info.Primary() || slices.Contains(t.again, sh.address) {
		return
	}
	for _, address := range t.firstAgain(info.InStep()) {
		conn, err := dial(ctx, sh.config.At(address))
		if err != nil {
			t.notes = append(t.notes, fmt.Sprintf("replica %s cannot be reached, its primary is read", address))
			continue
		}
		if err := conn.reaches(ctx, info["master_repl_offset"]); err != nil {
			conn.close()
			t.notes = append(t.notes, fmt.Sprintf("replica %s is not read: %v", address, err))
			continue
		}
		sh.conn.close()
		sh.conn, sh.address, sh.replica, sh.config = conn, address, true, sh.config.At(address)
		return
	}
	if role == Replica {
		t.notes = append(t.notes, "there is no replica in step: the primary is read")
	}
}

// firstAgain puts the addresses that are to be read again before the others.
func (t *fleet) firstAgain(addresses []string) []string {
	slices.SortStableFunc(addresses, func(a, b string) int {
		return slices.Index(t.again, b) - slices.Index(t.again, a)
	})
	return addresses
}

func (t *fleet) discoverCluster(ctx context.Context, first *link, role Role) error {
	nodes, err := first.nodes(ctx)
	if err != nil {
		return err
	}
	t.slots = nodes.Holdings()
	if covered := nodes.Covered(); covered < topology.Slots {
		t.notes = append(t.notes, fmt.Sprintf("the cluster covers %d of %d slots", covered, topology.Slots))
	}
	t.moving = nodes.Moving()
	all, err := t.dealt(nodes, first.address)
	if err != nil {
		return err
	}
	for _, of := range all {
		sh := &shard{config: t.config.At(of.Primary.Address), address: of.Primary.Address, slots: of.Primary.Slots}
		if err := t.join(ctx, sh, of, role); err != nil {
			sh.conn.close()
			t.missing, t.cause = t.missing.Add(source.Why(source.Missing, of.Primary.Address, err)), cmp.Or(t.cause, err)
			continue
		}
		t.shards = append(t.shards, sh)
	}
	switch {
	case len(t.shards) == 0 && t.cause != nil:
		return t.cause
	case len(t.shards) == 0:
		return &connect.Error{Kind: connect.Unsupported, Server: first.address,
			Err: errors.New("the cluster has no primary with slots"), Hint: "is the cluster created?"}
	}
	return nil
}

// dealt returns the shards of the part, by their first slot.
func (t *fleet) dealt(nodes topology.Nodes, address string) (out []topology.Shard, err error) {
	all := nodes.Shards()
	if n := t.part.Of; n > len(all) && len(all) > 0 {
		return nil, &connect.Error{Kind: connect.Unsupported, Server: address,
			Err:  fmt.Errorf("the cluster has %d shards, which cannot be read in %d parts", len(all), n),
			Hint: fmt.Sprintf("make %d parts, or fewer", len(all))}
	}
	for i, of := range all {
		if t.part.has(i) {
			out = append(out, of)
		}
	}
	return out, nil
}

// origins returns the shards, as the summary has them.
func (t *fleet) origins() (out []source.Origin) {
	for _, s := range t.shards {
		o := source.Origin{ID: s.before.ReplID, Address: s.address, Databases: slices.Sorted(maps.Keys(s.dbs))}
		for _, r := range s.slots {
			o.Slots = append(o.Slots, source.SlotRange{First: r.First, Last: r.Last})
		}
		out = append(out, o)
	}
	return out
}

// join connects to a shard of a cluster.
func (t *fleet) join(ctx context.Context, sh *shard, of topology.Shard, role Role) (err error) {
	if role != Primary && !slices.Contains(t.again, sh.address) {
		t.clusterReplica(ctx, sh, of.Replicas)
	}
	if sh.conn == nil {
		if sh.conn, err = dial(ctx, sh.config); err != nil {
			return err
		}
		t.takes(ctx, sh, sh.conn)
	}
	return sh.start(ctx, t)
}

// clusterReplica takes a replica that has all that its primary has. A primary that does not answer is
// not waited for.
func (t *fleet) clusterReplica(ctx context.Context, sh *shard, replicas []topology.Node) {
	offset := ""
	if len(replicas) == 0 {
		return
	}
	if primary, err := dial(ctx, sh.config); err == nil {
		info, _ := primary.info(ctx)
		offset = info["master_repl_offset"]
		t.takes(ctx, sh, primary)
		primary.close()
	}
	for _, n := range replicas {
		if len(t.again) > 0 && !slices.Contains(t.again, n.Address) {
			continue
		}
		config := t.config.At(n.Address)
		conn, err := dial(ctx, config)
		if err != nil {
			continue
		}
		info, err := conn.info(ctx)
		if err == nil && info.Linked() {
			if err = conn.reaches(ctx, offset); err == nil {
				_, err = conn.ask(ctx, "READONLY")
			}
			if err == nil {
				sh.conn, sh.address, sh.config, sh.replica = conn, n.Address, config, true
				return
			}
			t.notes = append(t.notes, fmt.Sprintf("replica %s is not read: %v", n.Address, err))
		}
		conn.close()
	}
}

// start notes what the server is before the scan.
func (s *shard) start(ctx context.Context, t *fleet) error {
	info, err := s.conn.info(ctx)
	if err != nil {
		return err
	}
	s.before = topology.Identify(info)
	s.dbs = info.Databases()
	if len(info) == 0 {
		t.notes = append(t.notes, "INFO is forbidden: only database "+strconv.Itoa(s.config.DB)+" is scanned")
		n, err := s.conn.ask(ctx, "DBSIZE")
		if keys, ok := n.(int64); ok && err == nil {
			s.dbs = map[int]int64{s.config.DB: keys}
		} else {
			s.dbs = map[int]int64{s.config.DB: 0}
		}
	}
	return nil
}

// settle says how long the nodes of a cluster are given to tell each other of a
// failover before they are asked for the last time.
const settle = 250 * time.Millisecond

// changes compares the whole topology with what it was.
func (t *fleet) changes(ctx context.Context) (out source.Reasons) {
	if t.cluster {
		_ = sleep(ctx, settle)
	}
	for _, s := range t.shards {
		info, err := s.conn.info(ctx)
		if err != nil {
			out = append(out, source.Why(source.Unverified, s.address, err))
			continue
		}
		out = append(out, topology.Differences(s.address, s.before, topology.Identify(info))...)
	}
	if t.cluster && len(out) == 0 {
		out = t.moved(ctx)
	}
	return out
}

// moved compares who holds which slots, as every shard sees it: the one that
// was deposed is the last to know.
func (t *fleet) moved(ctx context.Context) source.Reasons {
	for _, s := range t.shards {
		nodes, err := s.conn.nodes(ctx)
		if err != nil {
			return source.Reasons{source.Why(source.SlotsUnknown, "", err)}
		}
		if t.moving || nodes.Moving() || nodes.Holdings() != t.slots {
			return source.Reasons{source.Why(source.SlotsMoved, "", nil)}
		}
	}
	return nil
}

// describeShards returns the servers that are read.
func (t *fleet) describeShards() []source.Shard {
	var out []source.Shard
	for _, s := range t.shards {
		out = append(out, source.Shard{Address: s.address, Brand: s.before.Brand, Version: s.before.Version,
			RunID: s.before.RunID, ReplID: s.before.ReplID, Replica: s.replica, Keys: s.before.Keys})
	}
	return out
}

// Role describes which member of a shard is scanned.
type Role string

// Auto takes a replica in step with its primary where there is one.
const (
	Auto    Role = "auto"
	Primary Role = "primary"
	Replica Role = "replica"
)

// Part is one of Of parts of a cluster, from 1 on: the shards, in the order of their slots,
// are dealt out to the parts in turn. The zero Part is all of them.
type Part struct{ Number, Of int }

func (p Part) has(i int) bool { return p.Of == 0 || i%p.Of == p.Number-1 }

// again asks a shard over a new connection: the last one was idle for as
// long as the snapshot took, and may have been closed for that.
func (s *shard) again(ctx context.Context) (topology.Info, error) {
	conn, err := dial(ctx, s.config)
	if err != nil {
		return nil, err
	}
	s.conn.close()
	s.conn = conn
	return conn.info(ctx)
}
