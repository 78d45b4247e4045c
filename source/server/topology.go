package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source"
)

// topology is what there is to scan, and what must stay as it is meanwhile.
type topology struct {
	config  connect.Config
	cluster bool
	slots   string // a digest of who holds which slots, and of what moves
	shards  []*shard
	notes   []string
}

// shard is one set of keys and the server from which it is read.
type shard struct {
	config  connect.Config
	address string
	conn    *link
	before  identity
	dbs     map[int]int64 // database → keys
	replica bool
}

// identity is what tells that a server is still the same, with the same data.
type identity struct {
	runID, role, replID string
	flushes             int64 // FLUSHALL, FLUSHDB, SWAPDB calls; -1 unknown
	loads               string
	linkDown, loading   bool
	expired, evicted    int64
	keys                int64
	brand, version      string
}

func (t *topology) close() {
	for _, s := range t.shards {
		s.conn.close()
	}
}

func (t *topology) size() (n int64) {
	for _, s := range t.shards {
		for _, keys := range s.dbs {
			n += keys
		}
	}
	return n
}

func (t *topology) databases() int {
	all := map[int]bool{}
	for _, s := range t.shards {
		for db := range s.dbs {
			all[db] = true
		}
	}
	return len(all)
}

func (t *topology) describe() string {
	if len(t.shards) == 0 {
		return ""
	}
	first := t.shards[0]
	kind := "single server"
	switch {
	case t.cluster:
		kind = fmt.Sprintf("cluster of %d shards", len(t.shards))
	case t.config.Mode == connect.Sentinel:
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
	return fmt.Sprintf("%s %s, %s", first.before.brand, first.before.version, kind)
}

// discover connects and finds the shards.
func discover(ctx context.Context, c connect.Config, role Role) (*topology, error) {
	address := c.Addresses[0]
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
	t := &topology{config: c}
	info, err := first.info(ctx)
	if err != nil {
		first.close()
		return nil, err
	}
	if err := supported(address, info); err != nil {
		first.close()
		return nil, err
	}
	if info["cluster_enabled"] == "1" {
		t.cluster = true
		defer first.close()
		return t, t.discoverCluster(ctx, first, role)
	}
	if c.Mode == connect.Cluster {
		first.close()
		return nil, &connect.Error{Kind: connect.Unsupported, Server: address, Err: errors.New("the server is not part of a cluster"), Hint: "write redis:// instead of redis+cluster://"}
	}
	sh := &shard{config: c, address: address, conn: first, replica: info["role"] == "slave"}
	t.shards = []*shard{sh}
	t.preferReplica(ctx, sh, info, role)
	return t, sh.start(ctx, t)
}

// supported refuses servers that lack what the scan stands on.
func supported(address string, info map[string]string) error {
	if len(info) == 0 {
		return nil // INFO is forbidden: nothing to decide on
	}
	brand, version := brandOf(info)
	lowest := map[string]string{"redis": "6.2", "valkey": "7.2"}[brand]
	if version != "" && lowest != "" && older(version, lowest) {
		return &connect.Error{Kind: connect.Unsupported, Server: address, Err: fmt.Errorf("%s %s is older than %s", brand, version, lowest), Hint: "keywright supports Redis from 6.2 and Valkey from 7.2"}
	}
	return nil
}

func brandOf(info map[string]string) (brand, version string) {
	if v := info["valkey_version"]; v != "" {
		return "valkey", v
	}
	return "redis", info["redis_version"]
}

func older(version, than string) bool {
	a, b := strings.Split(version, "."), strings.Split(than, ".")
	for i := range min(len(a), len(b)) {
		x, err1 := strconv.Atoi(a[i])
		y, err2 := strconv.Atoi(b[i])
		if err1 != nil || err2 != nil || x != y {
			return err1 == nil && err2 == nil && x < y
		}
	}
	return false
}

// preferReplica swaps a primary for a replica of its that is in step.
func (t *topology) preferReplica(ctx context.Context, sh *shard, info map[string]string, role Role) {
	if role == Primary || info["role"] != "master" {
		return
	}
	for _, address := range replicasOf(info) {
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

// replicasOf are the replicas INFO lists as online, the one with the smallest
// lag first, at most a mebibyte behind.
func replicasOf(info map[string]string) []string {
	type candidate struct {
		address string
		lag     int64
	}
	offset, _ := strconv.ParseInt(info["master_repl_offset"], 10, 64)
	var found []candidate
	for i := range 64 {
		line, ok := info[fmt.Sprintf("slave%d", i)]
		if !ok {
			break
		}
		f := fields(line, ",")
		at, _ := strconv.ParseInt(f["offset"], 10, 64)
		if f["state"] == "online" && offset-at < 1<<20 {
			found = append(found, candidate{net.JoinHostPort(f["ip"], f["port"]), offset - at})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return int(a.lag - b.lag) })
	out := make([]string, len(found))
	for i, c := range found {
		out[i] = c.address
	}
	return out
}

// fields reads "a=1,b=2".
func fields(line, separator string) map[string]string {
	out := map[string]string{}
	for _, f := range strings.Split(line, separator) {
		if name, value, ok := strings.Cut(f, "="); ok {
			out[name] = value
		}
	}
	return out
}

// node is a line of CLUSTER NODES.
type node struct {
	id, address, flags, primary string
	slots                       []string
	down                        bool
}

func parseNodes(text, host string) []node {
	var out []node
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) < 8 {
			continue
		}
		address, _, _ := strings.Cut(f[1], "@")
		if h, port, err := net.SplitHostPort(address); err == nil && h == "" {
			address = net.JoinHostPort(host, port) // the node we asked does not know its own address
		}
		out = append(out, node{id: f[0], address: address, flags: f[2], primary: f[3], slots: f[8:], down: strings.Contains(f[2], "fail") || f[7] != "connected" && !strings.Contains(f[2], "myself")})
	}
	return out
}

// digest is who holds which slots and what is on the move. The epochs are in
// the holder's line and change with every failover.
func digest(nodes []node) (text string, moving bool, covered int) {
	var lines []string
	for _, n := range nodes {
		for _, s := range n.slots {
			if strings.HasPrefix(s, "[") {
				moving = true
				continue
			}
			lo, hi, ranged := strings.Cut(s, "-")
			a, _ := strconv.Atoi(lo)
			b := a
			if ranged {
				b, _ = strconv.Atoi(hi)
			}
			covered += b - a + 1
			lines = append(lines, n.id+" "+s)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), moving, covered
}

func (t *topology) discoverCluster(ctx context.Context, first *link, role Role) error {
	nodes, err := first.nodes(ctx)
	if err != nil {
		return err
	}
	var moving bool
	var covered int
	t.slots, moving, covered = digest(nodes)
	if covered < 16384 {
		t.notes = append(t.notes, fmt.Sprintf("the cluster covers %d of 16384 slots", covered))
	}
	if moving {
		t.slots += "\nmoving"
	}
	for _, n := range nodes {
		if len(n.slots) == 0 || !strings.Contains(n.flags, "master") {
			continue
		}
		sh := &shard{config: t.config.At(n.address), address: n.address}
		t.shards = append(t.shards, sh)
		if role != Primary {
			t.clusterReplica(ctx, sh, n, nodes)
		}
		if sh.conn == nil {
			if sh.conn, err = dial(ctx, sh.config); err != nil {
				sh.conn = &link{}
				return err
			}
		}
		if err := sh.start(ctx, t); err != nil {
			return err
		}
	}
	if len(t.shards) == 0 {
		return &connect.Error{Kind: connect.Unsupported, Server: first.address, Err: errors.New("the cluster has no primary with slots"), Hint: "is the cluster created?"}
	}
	return nil
}

func (t *topology) clusterReplica(ctx context.Context, sh *shard, primary node, nodes []node) {
	for _, n := range nodes {
		if n.primary != primary.id || n.down {
			continue
		}
		config := t.config.At(n.address)
		conn, err := dial(ctx, config)
		if err != nil {
			continue
		}
		info, err := conn.info(ctx)
		if err == nil && info["master_link_status"] == "up" && info["master_sync_in_progress"] == "0" {
			if _, err = conn.ask(ctx, "READONLY"); err == nil {
				sh.conn, sh.address, sh.config, sh.replica = conn, n.address, config, true
				return
			}
		}
		conn.close()
	}
}

// start notes what the server is before the scan.
func (s *shard) start(ctx context.Context, t *topology) error {
	info, err := s.conn.info(ctx)
	if err != nil {
		return err
	}
	s.before = identify(info)
	s.dbs = databasesOf(info)
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

func identify(info map[string]string) identity {
	id := identity{runID: info["run_id"], role: info["role"], replID: info["master_replid"], flushes: -1, loading: info["loading"] == "1"}
	id.brand, id.version = brandOf(info)
	id.loads = info["rdb_last_load_keys_loaded"] + "/" + info["rdb_last_load_keys_expired"]
	id.linkDown = id.role == "slave" && info["master_link_status"] != "up"
	if info["total_commands_processed"] != "" {
		id.flushes = 0
		for _, name := range []string{"flushall", "flushdb", "swapdb"} {
			calls, _ := strconv.ParseInt(fields(info["cmdstat_"+name], ",")["calls"], 10, 64)
			id.flushes += calls
		}
	}
	id.expired, _ = strconv.ParseInt(info["expired_keys"], 10, 64)
	id.evicted, _ = strconv.ParseInt(info["evicted_keys"], 10, 64)
	for _, keys := range databasesOf(info) {
		id.keys += keys
	}
	return id
}

func databasesOf(info map[string]string) map[int]int64 {
	out := map[int]int64{}
	for name, value := range info {
		db, ok := strings.CutPrefix(name, "db")
		n, err := strconv.Atoi(db)
		if !ok || err != nil {
			continue
		}
		keys, err := strconv.ParseInt(fields(value, ",")["keys"], 10, 64)
		if err == nil {
			out[n] = keys
		}
	}
	return out
}

// differences are the reasons why what was read from a server that was `a` and
// is `b` may not be everything.
func differences(address string, a, b identity) (out source.Reasons) {
	add := func(changed bool, code source.Code) {
		if changed {
			out = append(out, source.Why(code, address, nil))
		}
	}
	add(a.runID == "" || b.runID == "", source.Blind)
	add(a.runID != b.runID && a.runID != "" && b.runID != "", source.Restarted)
	if a.role != b.role {
		out = append(out, source.Why(source.RoleChanged, address, "from "+a.role+" to "+b.role))
	}
	add(a.replID != b.replID && a.role == b.role, source.HistoryMoved)
	add(a.runID == b.runID && a.flushes != b.flushes, source.Flushed)
	add(a.runID == b.runID && a.loads != b.loads, source.Reloaded)
	add(b.linkDown, source.LinkLost)
	add(b.loading, source.Loading)
	return out
}

// settle is how long the nodes of a cluster are given to tell each other of a
// failover before they are asked for the last time.
const settle = 250 * time.Millisecond

// changes compares the whole topology with what it was.
func (t *topology) changes(ctx context.Context) (out source.Reasons) {
	if t.cluster {
		_ = sleep(ctx, settle)
	}
	for _, s := range t.shards {
		info, err := s.conn.info(ctx)
		if err != nil {
			out = append(out, source.Why(source.Unverified, s.address, err))
			continue
		}
		out = append(out, differences(s.address, s.before, identify(info))...)
	}
	if t.cluster && len(out) == 0 {
		out = t.moved(ctx)
	}
	return out
}

// moved compares who holds which slots, as every shard sees it: the one that
// was deposed is the last to know.
func (t *topology) moved(ctx context.Context) source.Reasons {
	for _, s := range t.shards {
		nodes, err := s.conn.nodes(ctx)
		if err != nil {
			return source.Reasons{source.Why(source.SlotsUnknown, "", err)}
		}
		if after, moving, _ := digest(nodes); moving || after != t.slots {
			return source.Reasons{source.Why(source.SlotsMoved, "", nil)}
		}
	}
	return nil
}
