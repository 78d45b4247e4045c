package file

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"github.com/keywright/keywright/internal/history"
	"github.com/keywright/keywright/internal/history/chunk"
	bolt "go.etcd.io/bbolt"
)

// Range implements history.Store.
func (f *File) Range(ctx context.Context, q history.Query) (out []history.Point, err error) {
	err = f.transact(false, func(tx *bolt.Tx) error {
		chunks := chunksOf(tx, q.Target, q.Step)
		if chunks == nil || q.To.Before(q.From) || q.To.Unix() < 0 {
			return nil
		}
		from := time.Unix(max(q.From.Unix(), 0), 0)
		prefix := append([]byte(q.Entry), 0)
		c := chunks.Cursor()
		for k, v := c.Seek(chunkKey(q.Entry, chunk.Begin(from, q.Step))); bytes.HasPrefix(k, prefix) &&
			len(k) == len(prefix)+8; k, v = c.Next() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if int64(binary.BigEndian.Uint64(k[len(prefix):])) > q.To.Unix() {
				break
			}
			if out, err = chunk.Within(out, v, q); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// At implements history.Store.
func (f *File) At(ctx context.Context, target string, step history.Step, at time.Time) (map[string]history.Point,
	error) {
	out := map[string]history.Point{}
	err := f.transact(false, func(tx *bolt.Tx) error {
		chunks := chunksOf(tx, target, step)
		if chunks == nil || at.Unix() < 0 {
			return nil
		}
		c := chunks.Cursor()
		for k, _ := c.First(); len(k) > 9; {
			name := bytes.Clone(k[:len(k)-9])
			if ctx.Err() != nil {
				return ctx.Err()
			}
			p, ok, err := lastBefore(chunks, string(name), step, at)
			if err != nil {
				return err
			}
			if ok {
				out[string(name)] = p
			}
			k, _ = c.Seek(append(name, 1)) // the next entry
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// lastBefore returns the last point of an entry that is not after a time. It looks at the
// chunk of that time and at the one before it.
func lastBefore(chunks *bolt.Bucket, name string, step history.Step, at time.Time) (history.Point, bool, error) {
	c := chunks.Cursor()
	want := chunkKey(name, chunk.Begin(at, step))
	k, v := c.Seek(want)
	if !bytes.Equal(k, want) {
		if k == nil {
			k, v = c.Last()
		} else {
			k, v = c.Prev()
		}
	}
	for range 2 {
		if len(k) != len(want) || !bytes.Equal(k[:len(name)+1], want[:len(name)+1]) {
			break
		}
		if p, ok, err := chunk.LastBefore(v, at); ok || err != nil {
			return p, ok, err
		}
		k, v = c.Prev()
	}
	return history.Point{}, false, nil
}

// First implements history.Store.
func (f *File) First(_ context.Context, target string) (first time.Time, err error) {
	err = f.transact(false, func(tx *bolt.Tx) error {
		if b := tx.Bucket(targetBucket(target)); b != nil && len(b.Get(firstKey)) == 8 {
			first = time.Unix(int64(binary.BigEndian.Uint64(b.Get(firstKey))), 0).UTC()
		}
		return nil
	})
	return first, err
}

// maxPruned bounds what one transaction deletes.
const maxPruned = 5000

// Prune implements history.Store.
func (f *File) Prune(ctx context.Context, now time.Time) error {
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		more = false
		err := f.transact(true, func(tx *bolt.Tx) error {
			return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
				if !bytes.HasPrefix(name, targetBucket("")) {
					return nil
				}
				for _, step := range chunk.Steps {
					n, err := prune(b.Bucket(stepName(step)), step, now)
					if err == nil && n > 0 && step == history.Day {
						err = moveFirst(b)
					}
					if err != nil {
						return err
					}
					more = more || n == maxPruned
				}
				return nil
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// moveFirst notes the first point that is there still: days are kept for longest.
func moveFirst(b *bolt.Bucket) error {
	var first time.Time
	begin := uint64(1 << 63)
	c := b.Bucket(stepName(history.Day)).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if len(k) <= 8 || binary.BigEndian.Uint64(k[len(k)-8:]) > begin {
			continue
		}
		points, err := chunk.Decode(v)
		if err != nil {
			return err
		}
		if len(points) > 0 && (first.IsZero() || points[0].At.Before(first)) {
			first, begin = points[0].At, binary.BigEndian.Uint64(k[len(k)-8:])
		}
	}
	if first.IsZero() {
		return b.Delete(firstKey)
	}
	return b.Put(firstKey, binary.BigEndian.AppendUint64(nil, uint64(first.Unix())))
}

func prune(chunks *bolt.Bucket, step history.Step, now time.Time) (n int, err error) {
	if chunks == nil {
		return 0, nil
	}
	oldest := chunk.Oldest(now, step)
	var old [][]byte
	c := chunks.Cursor()
	for k, _ := c.First(); k != nil && len(old) < maxPruned; k, _ = c.Next() {
		if len(k) > 8 && int64(binary.BigEndian.Uint64(k[len(k)-8:])) < oldest {
			old = append(old, bytes.Clone(k))
		}
	}
	for _, k := range old {
		if err := chunks.Delete(k); err != nil {
			return 0, err
		}
	}
	return len(old), nil
}
