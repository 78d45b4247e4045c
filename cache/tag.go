package cache

import (
	"context"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/typed"
)

// tagChunk says how many keys of a tag are invalidated at once.
const tagChunk = 500

// member represents a key in a tag, and its score as it was read.
type member struct{ key, score string }

// InvalidateTag invalidates every value of this cache's entry that was stored or claimed with the tag, and returns
// how many keys that were. It works in chunks of 500: two round trips and a pipeline per server each. A key is
// removed from the tag only after it was invalidated, so that the call can be repeated after an error. A key of
// another type is refused alone: it stays in the tag, and the error comes after the others are invalidated. Values
// that are stored meanwhile may be invalidated, too.
func (c *Cache[V]) InvalidateTag(ctx context.Context, tag typed.Key) (n int, err error) {
	if err := tag.Err(); err != nil {
		return 0, err
	}
	from, last := "0", ""
	var refused error
	for {
		top, members, err := c.tagRead(ctx, tag, from)
		if err != nil {
			return n, err
		}
		if last == "" {
			last = top
		}
		if len(members) == 0 || above(members[0].score, last) {
			return n, refused
		}
		done, bad, err := c.invalidateAll(ctx, tag, members)
		if err != nil {
			return n, err
		}
		n += done
		if refused == nil {
			refused = bad
		}
		if done == 0 {
			return n, refused
		}
		from = members[len(members)-1].score
	}
}

func above(score, last string) bool {
	a, _ := strconv.ParseFloat(score, 64)
	b, _ := strconv.ParseFloat(last, 64)
	return a > b
}

// invalidateAll invalidates some members of a tag and removes them from it. refused is the error of the first one that
// stays, because the server refuses its key.
func (c *Cache[V]) invalidateAll(ctx context.Context, tag typed.Key, members []member) (n int, refused, err error) {
	var b keywright.Batch
	pending := make([]*keywright.Pending[bool], len(members))
	for k, m := range members {
		pending[k] = keywright.Queue(&b, c.Key(m.key, nil).LaterInvalidate())
	}
	_ = b.Run(ctx)
	args := make([]string, 0, 2*len(members))
	for k, m := range members {
		_, err := pending[k].Result()
		class, _ := keywright.ClassOf(err)
		switch {
		case err == nil:
			args = append(args, m.key, m.score)
		case class != keywright.Refused:
			return 0, nil, err
		case refused == nil:
			refused = err
		}
	}
	if len(args) == 0 {
		return 0, refused, nil
	}
	_, err = kernel.NewOp(kernel.Spec[int64]{Action: c.tagAction(tag, "tag drop"), Script: c.scripts.tagDrop,
		Keys: []string{tag.Name()}, Args: args, Decode: kernel.Reply.AsInt64}).Do(ctx)
	return len(args) / 2, refused, err
}

func (c *Cache[V]) tagAction(tag typed.Key, name string) kernel.Action {
	return kernel.Action{Client: c.client, Name: name, Entry: tag.Entry(), Effect: keywright.Idempotent, Err: tag.Err(),
		Key: tag.Name()}
}

// tagRead returns some members from a score upwards, and the highest score of all.
func (c *Cache[V]) tagRead(ctx context.Context, tag typed.Key, from string) (top string, members []member, err error) {
	reply, err := kernel.NewOp(kernel.Spec[[]string]{Action: c.tagAction(tag, "tag read"), Script: c.scripts.tagRead,
		Keys: []string{tag.Name()},
		Args: []string{from, strconv.Itoa(tagChunk)}, Decode: kernel.Reply.AsStrSlice}).Do(ctx)
	if err != nil || len(reply) == 0 {
		return "0", nil, err
	}
	for n := 1; n+1 < len(reply); n += 2 {
		members = append(members, member{reply[n], reply[n+1]})
	}
	return reply[0], members, nil
}
