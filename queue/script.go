package queue

import (
	"context"
	_ "embed"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/redis/rueidis"
)

//go:embed enqueue.lua
var enqueueText string

//go:embed plain.lua
var plainText string

//go:embed fetch.lua
var fetchText string

//go:embed beat.lua
var beatText string

//go:embed job.lua
var jobText string

//go:embed pause.lua
var pauseText string

//go:embed stats.lua
var statsText string

//go:embed state.lua
var stateText string

// The scripts are variables so that a test can take a guard out and see that it
// is missed.
var (
	enqueueScript = keywright.NewScript("queue enqueue", enqueueText)
	plainScript   = keywright.NewScript("queue plain", plainText)
	fetchScript   = keywright.NewScript("queue fetch", fetchText)
	beatScript    = keywright.NewScript("queue beat", beatText)
	jobScript     = keywright.NewScript("queue job", jobText)
	pauseScript   = keywright.NewScript("queue pause", pauseText)
	statsScript   = keywright.NewReadOnlyScript("queue stats", statsText)
	stateScript   = keywright.NewReadOnlyScript("queue state", stateText)
)

// run runs a script that answers with a list.
func (q Queue[T]) run(ctx context.Context, name string, s *keywright.Script, effect keywright.Effect, keys, args []string) ([]rueidis.RedisMessage, error) {
	out, err := keywright.NewOp(keywright.Spec[[]rueidis.RedisMessage]{
		Action: keywright.Action{Client: q.client, Name: name, Entry: q.entry, Effect: effect, Key: keys[0]},
		Script: s, Keys: keys, Args: args, Decode: list,
	}).Do(ctx)
	return out, q.named(ctx, keys, err)
}

// database is the number of the database as messages have it: what is said on a
// channel is heard in every database of a server.
func (q Queue[T]) database() string { return strconv.Itoa(q.client.Database()) }

func list(r rueidis.RedisResult) ([]rueidis.RedisMessage, error) { return r.ToArray() }

func texts(m rueidis.RedisMessage) []string {
	all, _ := m.AsStrSlice()
	return all
}
