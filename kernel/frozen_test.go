package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/keywright/keywright/keywrighttest"
)

// TestAFrozenNodeCostsItsOwnKeysOnly: of a batch over all nodes of a cluster, one of which is silent, what the others
// have is read and written, and said to be so.
func TestAFrozenNodeCostsItsOwnKeysOnly(t *testing.T) {
	brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		cluster := keywrighttest.StartCluster(t, brand, 3, 0)
		c := open(t, cluster.URL(), keywright.Options{})
		k := everykeys.New(c)
		sound := map[int64]*keywrighttest.Server{}
		for id := int64(1); id <= 30; id++ {
			must(t, k.Str(id).Set("old").Do(t.Context()))
			for _, node := range cluster.Nodes[:2] {
				if got, err := node.Try("GET", k.Str(id).Name()); err == nil && got == "old" {
					sound[id] = node
				}
			}
		}
		if len(sound) < 5 || len(sound) > 25 {
			t.Fatalf("%d of 30 keys are on two of three nodes", len(sound))
		}
		cluster.Nodes[2].Stop()
		defer cluster.Nodes[2].Continue()
		for round := range 3 { // the first one finds out that a node is silent
			text := fmt.Sprint("new", round)
			var b keywright.Batch
			writes, reads := map[int64]*keywright.Pending[struct{}]{}, map[int64]*keywright.Pending[string]{}
			for id := int64(1); id <= 30; id++ {
				writes[id] = keywright.Queue(&b, k.Str(id).Set(text))
				reads[id] = keywright.Queue(&b, k.Str(id).Get())
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			err := b.Run(ctx)
			cancel()
			if err == nil {
				t.Fatal("a frozen node has answered")
			}
			for id, node := range sound {
				_, err := writes[id].Result()
				got, err2 := reads[id].Result()
				if err = errors.Join(err, err2); err != nil || got != text ||
					fmt.Sprint(node.Do("GET", k.Str(id).Name())) != text {
					t.Errorf("round %d, key %d of a sound node: %q, %v", round, id, got, err)
				}
			}
		}
		transactions(t, c, k, sound)
	})
}

// TestLookingForNodesEndsNoCall: the question which node has which slot may be the first to use a new connection, and
// others use that connection too. They are not ended with the question.
func TestLookingForNodesEndsNoCall(t *testing.T) {
	brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		cluster := keywrighttest.StartCluster(t, brand, 3, 0)
		lost, dials := make(chan struct{}, 100), make(chan struct{}, 100)
		c := open(t, cluster.URL(), keywright.Options{Attempts: 1, Hooks: []keywright.Hook{{Notice: func(_ context.Context,
			n keywright.Notice) {
			switch n.Kind {
			case notice.Disconnected:
				lost <- struct{}{}
			case notice.Reconnecting:
				dials <- struct{}{}
			}
		}}}})
		k, slow := everykeys.New(c), cluster.Nodes[2]
		var b keywright.Batch
		var ofSlow []int64
		for id := int64(1); id <= 30; id++ {
			must(t, k.Str(id).Set("old").Do(t.Context()))
			if _, err := slow.Try("GET", k.Str(id).Name()); err == nil {
				ofSlow = append(ofSlow, id)
			}
			keywright.Queue(&b, k.Str(id).Set("new"))
		}
		slow.Do("CLIENT", "KILL", "TYPE", "normal")
		<-lost
		for _, node := range cluster.Nodes {
			node.Stop()
		}
		var all sync.WaitGroup
		all.Go(func() {
			if err := b.Run(t.Context()); err != nil {
				t.Errorf("the batch: %v", err)
			}
		})
		<-dials // for the question
		for _, id := range ofSlow {
			all.Go(func() {
				if err := k.Str(id).Set("newer").Do(t.Context()); err != nil {
					t.Errorf("key %d: %v", id, err)
				}
			})
		}
		// A second, in which the question is given up: no server answers in that time.
		second, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := k.Str(ofSlow[0]).Set("not sent").Do(second); err == nil {
			t.Error("a frozen node has answered")
		}
		for _, node := range cluster.Nodes {
			node.Continue()
		}
		all.Wait()
	})
}

// transactions are many that wait for a silent node, and one of each other key that does not wait for them.
func transactions(t *testing.T, c *keywright.Client, k *everykeys.Keyspace, sound map[int64]*keywrighttest.Server) {
	silent := int64(1)
	for sound[silent] != nil {
		silent++
	}
	put := func(ctx context.Context, id int64) error {
		return c.Transact(ctx, func(tx *keywright.Tx) error {
			keywright.Queue(tx, k.Str(id).Set("put"))
			return nil
		})
	}
	stuck, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 80 {
		all.Go(func() { _ = put(stuck, silent) })
	}
	for id := range sound {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if err := put(ctx, id); err != nil {
			t.Errorf("a transaction of key %d, of a sound node: %v", id, err)
		}
		cancel()
	}
	cancel()
	all.Wait()
}
