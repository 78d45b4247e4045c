// Package shadow compares records that were read with the other side, beside the caller and within bounds, and keeps
// what all processes have found. How a record is compared is given to it.
package shadow

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
	"github.com/keywright/keywright/migrate/step"
)

// Part describes what all processes have found out about a part.
type Part struct {
	Epoch    uint64       `json:"epoch"`
	Compared int64        `json:"compared"` // in this epoch
	Dropped  int64        `json:"dropped"`
	Failed   int64        `json:"failed"`
	Classes  []step.Class `json:"classes"`
	Cut      int64        `json:"cut"` // differences of classes beyond the most that are kept
}

// maxRest bounds how long a worker rests.
const maxRest = 100 * time.Millisecond

// maxClasses bounds the log of differences of a part.
const maxClasses = 500

// Comparisons compares what was read with the other side, apart from the caller.
type Comparisons struct {
	life   context.Context
	Config step.ShadowConfig
	disk   *disk.Disk
	partOf map[string]string // of a move
	look   func(context.Context, record.ID) (epoch uint64, diffs []record.Difference, err error)
	marked func(record.ID) (bool, error)
	queue  chan record.ID
	work   sync.WaitGroup
	mu     sync.Mutex
	queued map[record.ID]bool
	found  map[string]*Part // since the last save
	closed bool

	compared, unequal, dropped, failed atomic.Int64
}

// New begins to compare. look reads a record from both sides and compares; marked says whether it has a mark.
func New(life context.Context, c step.ShadowConfig, d *disk.Disk, partOf map[string]string,
	look func(context.Context, record.ID) (epoch uint64, diffs []record.Difference, err error),
	marked func(record.ID) (bool, error)) *Comparisons {
	c.Workers, c.Queue = cmp.Or(c.Workers, 2), cmp.Or(c.Queue, 256)
	c.Deadline, c.Settle = cmp.Or(c.Deadline, 2*time.Second), cmp.Or(c.Settle, 250*time.Millisecond)
	s := &Comparisons{life: life, Config: c, disk: d, partOf: partOf, look: look, marked: marked,
		queue: make(chan record.ID, c.Queue), queued: map[record.ID]bool{},
		found: map[string]*Part{}}
	for range c.Workers {
		s.work.Add(1)
		go s.serve()
	}
	return s
}

// Compare lets a record be compared, unless too many wait. It costs the caller no time.
func (s *Comparisons) Compare(id record.ID) {
	if s.Config.Off {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.queued[id] {
		return
	}
	select {
	case s.queue <- id:
		s.queued[id] = true
	default:
		s.dropped.Add(1)
		s.part(s.partOf[id.Move]).Dropped++
	}
}

// Close ends the comparisons, and saves what was found.
func (s *Comparisons) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.queue)
	}
	s.mu.Unlock()
	s.work.Wait()
	_ = s.Save() // what is not saved is compared again
}

// Stats says what was compared.
func (s *Comparisons) Stats() step.ShadowStats {
	return step.ShadowStats{Compared: s.compared.Load(), Unequal: s.unequal.Load(), Dropped: s.dropped.Load(),
		Failed: s.failed.Load()}
}

func (s *Comparisons) serve() {
	defer s.work.Done()
	for id := range s.queue {
		s.mu.Lock()
		delete(s.queued, id)
		closed := s.closed
		s.mu.Unlock()
		if closed {
			continue
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(s.life, s.Config.Deadline)
		epoch, diffs, err := s.Guarded(ctx, id)
		cancel()
		s.report(id, epoch, diffs, err)
		// A worker rests nine times as long as it has worked, so that comparisons take no time that
		// reads need: beyond that they are dropped, and counted.
		_ = disk.Pause(s.life, min(9*time.Since(began), maxRest))
	}
}

// Guarded returns a comparison whose panic is an error.
func (s *Comparisons) Guarded(ctx context.Context, id record.ID) (epoch uint64, diffs []record.Difference, err error) {
	defer func() {
		if e := recover(); e != nil {
			err = fmt.Errorf("a comparison of %s panicked", id.Move)
		}
	}()
	for n := 0; ; n++ {
		epoch, diffs, err := s.look(ctx, id)
		if err != nil || len(diffs) == 0 {
			return epoch, nil, err
		}
		marked, err := s.marked(id)
		if err != nil {
			return epoch, nil, err
		}
		if marked {
			return epoch, nil, ErrMarked
		}
		if n > 0 {
			return epoch, diffs, nil
		}
		if err := disk.Pause(ctx, s.Config.Settle); err != nil {
			return epoch, nil, err
		}
	}
}

// ErrMarked is why a record was not compared.
var ErrMarked = errors.New("the record has a mark")

func (s *Comparisons) report(id record.ID, epoch uint64, diffs []record.Difference, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.part(s.partOf[id.Move])
	switch {
	case errors.Is(err, ErrMarked), errors.Is(err, phase.ErrEpoch):
		return // neither equal nor different: it is being written
	case err != nil:
		s.failed.Add(1)
		p.Failed++
		return
	}
	if epoch > p.Epoch {
		p.Epoch, p.Compared = epoch, 0
	}
	s.compared.Add(1)
	p.Compared++
	if len(diffs) > 0 {
		s.unequal.Add(1)
	}
	p.Differ(id, diffs, epoch)
}

// Differ counts a record with others of each class that its differences are of.
func (p *Part) Differ(id record.ID, diffs []record.Difference, epoch uint64) {
	now, counted := time.Now(), map[record.Difference]bool{}
	for _, d := range diffs {
		if d.ID = (record.ID{}); !counted[d] {
			counted[d] = true
			p.add(step.Class{Move: id.Move, Path: d.Path, Kind: d.Kind, Count: 1, First: now, Last: now, Epoch: epoch,
				Example: hidden(id)})
		}
	}
}

// hidden returns a digest of an identity: a key may name a person.
func hidden(id record.ID) string {
	sum := sha256.Sum256([]byte(id.Move + "\x00" + id.Key + "\x00" + id.Sub))
	return hex.EncodeToString(sum[:8])
}

func (s *Comparisons) part(name string) *Part {
	if s.found[name] == nil {
		s.found[name] = &Part{}
	}
	return s.found[name]
}

// add counts records with others of their class.
func (p *Part) add(c step.Class) {
	for i := range p.Classes {
		if is := &p.Classes[i]; is.Move == c.Move && is.Path == c.Path && is.Kind == c.Kind {
			is.Count += c.Count
			is.Last, is.Epoch, is.Example = c.Last, max(is.Epoch, c.Epoch), c.Example
			return
		}
	}
	if len(p.Classes) >= maxClasses {
		p.Cut += c.Count
		return
	}
	p.Classes = append(p.Classes, c)
}

// Save adds what this process has found to what all have.
func (s *Comparisons) Save() error {
	s.mu.Lock()
	found := s.found
	s.found = map[string]*Part{}
	s.mu.Unlock()
	if len(found) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.Config.Deadline)
	defer cancel()
	err := s.merge(ctx, found)
	if err != nil { // it counts the next time
		s.mu.Lock()
		defer s.mu.Unlock()
		for name, p := range found {
			s.part(name).merge(p)
		}
	}
	return err
}

func (s *Comparisons) merge(ctx context.Context, found map[string]*Part) error {
	return s.Change(ctx, func(all map[string]*Part) {
		for name, p := range found {
			if all[name] == nil {
				all[name] = &Part{}
			}
			all[name].merge(p)
		}
	})
}

// Change changes what all processes have found.
func (s *Comparisons) Change(ctx context.Context, do func(all map[string]*Part)) error {
	lock, err := s.disk.Lock(ctx, filepath.Join(s.disk.Own, disk.LockFolder, "shadow"), false)
	if err != nil {
		return err
	}
	defer lock.Free()
	all := map[string]*Part{}
	if _, err := disk.ReadJSON(s.disk.ShadowPath(), &all); err != nil {
		return err
	}
	do(all)
	return s.disk.WriteJSON(s.disk.ShadowPath(), all)
}

func (p *Part) merge(q *Part) {
	switch {
	case q.Epoch > p.Epoch:
		p.Epoch, p.Compared = q.Epoch, q.Compared
	case q.Epoch == p.Epoch:
		p.Compared += q.Compared
	}
	p.Dropped, p.Failed, p.Cut = p.Dropped+q.Dropped, p.Failed+q.Failed, p.Cut+q.Cut
	for _, c := range q.Classes {
		p.add(c)
	}
}

// Found returns what all processes have found of a part; nil: nothing.
func Found(d *disk.Disk, part string) (*Part, error) {
	all := map[string]*Part{}
	_, err := disk.ReadJSON(d.ShadowPath(), &all)
	return all[part], err
}
