package topology

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Slots says how many slots a cluster has.
const Slots = 1 << 14

// Range represents the slots from First to Last.
type Range struct{ First, Last int }

// String returns the range as CLUSTER NODES writes it.
func (r Range) String() string {
	if r.First == r.Last {
		return strconv.Itoa(r.First)
	}
	return strconv.Itoa(r.First) + "-" + strconv.Itoa(r.Last)
}

// Node represents a line of CLUSTER NODES.
type Node struct {
	ID      string
	Address string
	Flags   []string
	Of      string // the ID of its primary, "-" of a primary
	Epoch   string // of its configuration: it grows with each slot that the node takes from another one
	Slots   []Range
	Moving  bool // slots are on their way from it, or to it
	Down    bool
}

// Nodes holds the nodes of a cluster as one of them sees them.
type Nodes []Node

// ParseNodes reads the reply to CLUSTER NODES; host is that of the node that was asked,
// which does not always know its own.
func ParseNodes(text, host string) (out Nodes) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 8 {
			continue
		}
		address, _, _ := strings.Cut(f[1], "@")
		if port, alone := portAlone(address); alone && host != "" {
			address = join(host, port)
		}
		n := Node{ID: f[0], Address: address, Flags: strings.Split(f[2], ","), Of: f[3], Epoch: f[6]}
		n.Down = n.Is("fail") || n.Is("fail?") || f[7] != "connected" && !n.Is("myself")
		for _, s := range f[8:] {
			if strings.HasPrefix(s, "[") {
				n.Moving = true
			} else if r, ok := parseRange(s); ok {
				n.Slots = append(n.Slots, r)
			}
		}
		out = append(out, n)
	}
	return out
}

// parseRange reads 0-5460 or 7.
func parseRange(text string) (r Range, ok bool) {
	lo, hi, ranged := strings.Cut(text, "-")
	if !ranged {
		hi = lo
	}
	a, err1 := strconv.ParseUint(lo, 10, 31)
	b, err2 := strconv.ParseUint(hi, 10, 31)
	return Range{int(a), min(int(b), Slots-1)}, err1 == nil && err2 == nil && a <= b && a < Slots
}

// Is reports whether the node has a flag.
func (n *Node) Is(flag string) bool { return slices.Contains(n.Flags, flag) }

// Primary reports whether the node is one that holds slots.
func (n *Node) Primary() bool { return n.Is("master") && len(n.Slots) > 0 }

// Holds reports whether the node holds a slot.
func (n *Node) Holds(slot int) bool {
	return slices.ContainsFunc(n.Slots, func(r Range) bool { return r.First <= slot && slot <= r.Last })
}

// Myself returns the node that was asked.
func (all Nodes) Myself() (Node, bool) {
	for _, n := range all {
		if n.Is("myself") {
			return n, true
		}
	}
	return Node{}, false
}

// Holder returns the node that holds a slot.
func (all Nodes) Holder(slot int) (Node, bool) {
	for _, n := range all {
		if n.Holds(slot) {
			return n, true
		}
	}
	return Node{}, false
}

// Moving reports whether slots are on the move.
func (all Nodes) Moving() bool {
	return slices.ContainsFunc(all, func(n Node) bool { return n.Moving })
}

// Covered returns how many slots have a holder.
func (all Nodes) Covered() (n int) {
	for _, node := range all {
		for _, r := range node.Slots {
			n += r.Last - r.First + 1
		}
	}
	return n
}

// Holdings returns who holds which slots, and since which epoch, as a text that is the same as long as that
// is. A slot that goes to another node and comes back is recognized by the epoch: a node that takes a slot
// takes the greatest one of the cluster (clusterBumpConfigEpochWithoutConsensus in cluster.c).
func (all Nodes) Holdings() string {
	var lines []string
	for _, n := range all {
		for _, r := range n.Slots {
			lines = append(lines, n.ID+" "+n.Epoch+" "+r.String())
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Shard represents a primary with slots, and its replicas.
type Shard struct {
	Primary  Node
	Replicas []Node // those that are not down
}

// Shards returns the primaries of a cluster, by their first slot.
func (all Nodes) Shards() (out []Shard) {
	for _, n := range all {
		if !n.Primary() {
			continue
		}
		sh := Shard{Primary: n}
		for _, r := range all {
			if r.Of == n.ID && !r.Down {
				sh.Replicas = append(sh.Replicas, r)
			}
		}
		out = append(out, sh)
	}
	slices.SortStableFunc(out,
		func(a, b Shard) int { return cmp.Compare(a.Primary.Slots[0].First, b.Primary.Slots[0].First) })
	return out
}
