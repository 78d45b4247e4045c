package conn

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/connect/slot"
	"github.com/redis/rueidis"
)

// nodeMap knows which node of a cluster has which slot: the client library does not say. Where a node may not answer, a
// call of many keys is divided by it, so that the others answer for their keys, and each has room of its own for
// transactions.
type nodeMap struct {
	client rueidis.Client
	turn   chan struct{} // of who looks
	read   time.Time
	of     *owners

	mu    sync.Mutex
	conns map[string]chan struct{} // room for transactions, by node
	asked map[string]bool          // nodes that have not answered yet, by address: no node is asked twice at a time
}

// owners are the ids of nodes by slot, "" where none is known. nil: nothing is known.
type owners [slot.Count]string

func (o *owners) at(s uint16) string {
	if o == nil || s >= slot.Count { // a command without a key
		return ""
	}
	return o[s]
}

// NewNodeMap returns the map of the nodes that a client knows.
func NewNodeMap(c rueidis.Client) *nodeMap {
	return &nodeMap{client: c, turn: make(chan struct{}, 1), conns: map[string]chan struct{}{},
		asked: map[string]bool{}}
}

// The bounds of what a nodeMap knows: for how long, and how long the nodes are waited for, of which the first one that
// answers is believed.
const (
	mapKept = time.Second
	mapWait = 200 * time.Millisecond
)

// Look returns the map, read again if it is old. Without an answer it is the old one.
func (m *nodeMap) Look(ctx context.Context) *owners {
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-m.turn }()
	if time.Since(m.read) < mapKept {
		return m.of
	}
	nodes := m.client.Nodes()
	found := make(chan *owners, len(nodes))
	for addr, node := range nodes {
		if !m.Ask(addr) {
			continue
		}
		go func() { // until the node answers, or its connection is given up
			defer m.Answered(addr)
			// Its connection may be a new one, on which others wait, too: the end of a context would cut it.
			if of, err := ownersOf(node.Do(context.Background(), node.B().ClusterSlots().Build())); err == nil {
				found <- of
			}
		}()
	}
	enough := time.NewTimer(mapWait)
	defer enough.Stop()
	select {
	case m.of = <-found:
	case <-enough.C:
	case <-ctx.Done():
	}
	m.read = time.Now()
	return m.of
}

// Ask reports whether a node may be asked: it is not, as long as it has not answered.
func (m *nodeMap) Ask(addr string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked[addr] {
		return false
	}
	m.asked[addr] = true
	return true
}

// Answered notes that a node may be asked again.
func (m *nodeMap) Answered(addr string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.asked, addr)
}

// ownersOf reads a reply of CLUSTER SLOTS: ranges of slots, each with its primary first.
func ownersOf(r rueidis.RedisResult) (*owners, error) {
	ranges, err := r.ToArray()
	if err != nil {
		return nil, err
	}
	var of owners
	for i := range ranges {
		words, err := ranges[i].ToArray()
		if err != nil || len(words) < 3 {
			continue
		}
		first, err1 := words[0].AsInt64()
		last, err2 := words[1].AsInt64()
		primary, err3 := words[2].ToArray()
		if err1 != nil || err2 != nil || err3 != nil || len(primary) < 3 || first < 0 || last >= slot.Count {
			continue
		}
		id, _ := primary[2].ToString()
		for s := first; s <= last; s++ {
			of[s] = id
		}
	}
	return &of, nil
}

// room returns the room for transactions of the node that has a slot; that of all where no node is in doubt.
func (r *CallLimiter) room(ctx context.Context, commands []rueidis.Completed) chan struct{} {
	if r.Nodes == nil || r.Gate.Calm() {
		return r.conns
	}
	id, of := "", r.Nodes.Look(ctx)
	for i := range commands {
		id = cmp.Or(id, of.at(commands[i].Slot()))
	}
	if id == "" {
		return r.conns
	}
	r.Nodes.mu.Lock()
	defer r.Nodes.mu.Unlock()
	if r.Nodes.conns[id] == nil {
		r.Nodes.conns[id] = make(chan struct{}, MostOwn)
	}
	return r.Nodes.conns[id]
}

// divide returns the places of commands by the node that has their slot.
func (r *CallLimiter) divide(ctx context.Context, slots []uint16) (groups [][]int) {
	var of *owners
	if r.Nodes != nil {
		of = r.Nodes.Look(ctx)
	}
	at := map[string]int{} // the group of a node
	for i, s := range slots {
		g, ok := at[of.at(s)]
		if !ok {
			g = len(groups)
			at[of.at(s)], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// perNode sends the commands of each node separately, so that a caller that leaves has the replies of the nodes that
// have answered. A panic of the client library is passed to the caller.
func (p *Client) perNode(ctx context.Context, slots []uint16,
	send func(ctx context.Context, places []int) []rueidis.RedisResult) []rueidis.RedisResult {
	out := make([]rueidis.RedisResult, len(slots))
	var all sync.WaitGroup
	var panicked atomic.Pointer[any]
	for _, places := range p.divide(ctx, slots) {
		all.Go(func() {
			defer func() {
				if what := recover(); what != nil {
					panicked.Store(&what)
				}
			}()
			got, err := RunDetached(ctx, p.CallLimiter, p.Indirect,
				func(ctx context.Context) []rueidis.RedisResult { return send(ctx, places) })
			for j, r := range p.results(ctx, len(places), got, err) {
				out[places[j]] = r
			}
		})
	}
	all.Wait()
	if what := panicked.Load(); what != nil {
		panic(*what)
	}
	return out
}

// chosen returns some of a list, by their places.
func chosen[T any](list []T, places []int) []T {
	out := make([]T, len(places))
	for i, at := range places {
		out[i] = list[at]
	}
	return out
}
