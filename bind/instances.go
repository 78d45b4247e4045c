package bind

import (
	"cmp"
	"context"
	"slices"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
)

// MaxInstances bounds what one search holds.
const MaxInstances = 10_000

// Instances finds what there is of an entry on the servers: the values of its keys,
// without the placeholders that a handle fills in. It scans 500 keys a round trip. bounded
// says that there are more than MaxInstances. An entry whose handle fills in all
// placeholders has one instance, and nothing is scanned. A replica alone is refused: what it lacks may be there.
func Instances(ctx context.Context, c *keywright.Client, e *keyspace.Entry) (found []Values, bounded bool, err error) {
	primaries, err := c.Primaries(ctx)
	switch {
	case len(primaries) > 0 && len(parts.Values(e)) == 0:
		return []Values{{}}, false, nil
	case err != nil:
		return nil, false, err
	}
	s := search{leave: parts.Of(e).Own(), seen: map[string]Values{}, most: MaxInstances}
	for _, k := range e.Keys {
		for _, node := range primaries {
			if err := scan(ctx, c, node, k, func(key string) bool { return s.read(k, key) }); err != nil {
				return nil, false, err
			}
		}
	}
	for _, v := range s.seen {
		found = append(found, v)
	}
	slices.SortFunc(found, func(a, b Values) int { return cmp.Compare(a.ID(), b.ID()) })
	return found, s.more, nil
}

// search represents a scan of servers for the keys of an entry.
type search struct {
	leave []string
	seen  map[string]Values
	most  int
	more  bool // than most
}

// add holds what was found, if there is room.
func (s *search) add(v Values) {
	id := v.ID()
	if _, known := s.seen[id]; !known && len(s.seen) >= s.most {
		s.more = true
		return
	}
	s.seen[id] = v
}

// read holds what a key of k says, and reports whether more may be held.
func (s *search) read(k *keyspace.Key, key string) bool {
	if v, ok := Read(k.Pattern, key, s.leave...); ok {
		s.add(v)
	}
	return !s.more
}

// scan gives the keys of a server that may be those of k, until one is not wanted: of any type, so that one of a wrong
// type is not silently left out.
func scan(ctx context.Context, c *keywright.Client, node kernel.Raw, k *keyspace.Key,
	found func(key string) (more bool)) error {
	for cursor := uint64(0); ; {
		page, err := node.Do(ctx,
			node.B().Scan().Cursor(cursor).Match(k.Pattern.ScanGlob()).Count(500).Build()).AsScanEntry()
		if err != nil {
			return &keywright.Error{Class: keywright.Refused, Op: "scan", Server: c.Server(), Err: err,
				Hint: "the login needs +scan"}
		}
		for _, key := range page.Elements {
			if !found(key) {
				return nil
			}
		}
		if cursor = page.Cursor; cursor == 0 {
			return nil
		}
	}
}
