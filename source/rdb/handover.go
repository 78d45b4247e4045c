package rdb

import (
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/internal/window"
)

// batch represents the keys that are handed over at once, and what their names and
// values lie in besides the window.
type batch struct {
	keys   []source.Key
	facts  []source.Facts
	names  []byte // where names that are not plain are put
	values sink
}

func newBatch() *batch {
	chunk := make([]byte, 0, 1<<10)
	return &batch{keys: make([]source.Key, 0, batchSize), facts: make([]source.Facts, batchSize),
		values: sink{chunk: chunk, free: chunk}}
}

// maxNames bounds the bytes of names that a batch has besides the window, unless
// one name alone is longer.
const maxNames = 1 << 20

// reset empties the batch, but for the value that is being read, if any.
func (b *batch) reset(reading *source.Value) {
	if b.keys, b.names = b.keys[:0], b.names[:0]; cap(b.names) > maxNames {
		b.names = nil
	}
	b.values.reset(reading)
}

// batches says how many there are: one is filled, the others are on their way to
// the consumer or back.
const batches = 4

// handover gives batches to the consumer, which works on them while the next one
// is read. A block of the window is given back only when the consumer is done
// with the names in it.
type handover struct {
	each func([]source.Key) error
	free chan<- []byte
	work chan job
	idle chan *batch
	done chan struct{}
	fail chan error // the consumer's, at most one
}

// job represents a batch for the consumer, or a block to give back after it.
type job struct {
	batch *batch
	block []byte
}

// hand starts the consumer. end must be called, and waits for it.
func hand(each func([]source.Key) error, free chan<- []byte) *handover {
	h := &handover{each: each, free: free, work: make(chan job, batches+window.Buffers), idle: make(chan *batch, batches),
		done: make(chan struct{}), fail: make(chan error, 1)}
	for range batches {
		h.idle <- newBatch()
	}
	go h.run()
	return h
}

func (h *handover) run() {
	defer close(h.done)
	failed := false
	for j := range h.work {
		if j.block != nil {
			h.free <- j.block
			continue
		}
		if !failed {
			if err := h.each(j.batch.keys); err != nil {
				h.fail <- err
				failed = true
			}
		}
		j.batch.reset(nil)
		h.idle <- j.batch
	}
}

// give hands over a batch and takes an empty one. The error is the consumer's,
// of this batch or of one before.
func (h *handover) give(b *batch) (*batch, error) {
	h.work <- job{batch: b}
	next := <-h.idle
	select {
	case err := <-h.fail:
		h.fail <- err // it stays
		return next, err
	default:
		return next, nil
	}
}

// end waits until the consumer has had everything.
func (h *handover) end() error {
	close(h.work)
	<-h.done
	select {
	case err := <-h.fail:
		return err
	default:
		return nil
	}
}
