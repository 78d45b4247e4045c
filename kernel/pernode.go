package kernel

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/slot"
	"github.com/redis/rueidis"
)

// nodeMap knows which node of a cluster has which slot: the client library does not say. A call of many keys is divided
// by it where a node may not answer, so that the others answer for their keys.
type nodeMap struct {
	turn chan struct{} // of who looks
	read time.Time
	of   *[slot.Count]int // by slot, from 1; 0: no node has it. nil: not known
}

func newNodeMap() *nodeMap { return &nodeMap{turn: make(chan struct{}, 1)} }

// The bounds of what a nodeMap knows: for how long, and how long the nodes are waited for, of which the first one that
// answers is believed.
const (
	mapKept = time.Second
	mapWait = 200 * time.Millisecond
)

// look returns the map, read again if it is old. Without an answer it is the old one.
func (m *nodeMap) look(ctx context.Context, c rueidis.Client) *[slot.Count]int {
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-m.turn }()
	if time.Since(m.read) < mapKept {
		return m.of
	}
	ctx, cancel := context.WithTimeout(ctx, mapWait)
	defer cancel()
	nodes := c.Nodes()
	found := make(chan *[slot.Count]int, len(nodes))
	for _, node := range nodes {
		go func() { // until the node answers, or its connection is given up
			if of, err := slotsOf(node.Do(ctx, node.B().ClusterSlots().Build())); err == nil {
				found <- of
			}
		}()
	}
	select {
	case m.of = <-found:
	case <-ctx.Done():
	}
	m.read = time.Now()
	return m.of
}

// slotsOf reads a reply of CLUSTER SLOTS: ranges of slots, each with its primary first.
func slotsOf(r rueidis.RedisResult) (*[slot.Count]int, error) {
	ranges, err := r.ToArray()
	if err != nil {
		return nil, err
	}
	var of [slot.Count]int
	known := map[string]int{}
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
		if known[id] == 0 {
			known[id] = len(known) + 1
		}
		for s := first; s <= last; s++ {
			of[s] = known[id]
		}
	}
	return &of, nil
}

// divide returns the places of commands by the node that has their slot.
func (p *prompt) divide(ctx context.Context, slots []uint16) (groups [][]int) {
	var of *[slot.Count]int
	if p.nodes != nil {
		of = p.nodes.look(ctx, p.Client)
	}
	at := map[int]int{} // the group of a node
	for i, s := range slots {
		node := 0
		if of != nil && s < slot.Count {
			node = of[s]
		}
		g, ok := at[node]
		if !ok {
			g = len(groups)
			at[node], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// perNode sends commands of several nodes apart from each other: who leaves has the replies of those that have
// answered. What the client library refuses by a panic is for the caller.
func (p *prompt) perNode(ctx context.Context, slots []uint16,
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
			got, err := apart(ctx, p.rooms, p.indirect,
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
