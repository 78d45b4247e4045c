package queue

import (
	"context"
	_ "embed"
	"strconv"
	"strings"

	"github.com/keywright/keywright"
)

//go:embed reconcile.lua
var reconcileText string

var reconcileScript = keywright.NewScript("queue reconcile", reconcileText)

// Reconcile looks at every job that is stored, and brings back those that are in
// no lane, no lease, not delayed and not dead; it gives their ids. No step of a
// queue leaves one behind: it is for a server that has thrown keys away or lost
// its last writes, or on which somebody has deleted some by hand. It scans the
// server, 500 keys a round trip; a job that moves meanwhile is left alone. With
// dry it changes nothing.
func (q Queue[T]) Reconcile(ctx context.Context, dry bool) (back []string, err error) {
	if q.err != nil {
		return nil, q.err
	}
	match := globbed(q.keys.Job.Before) + "*" + globbed(q.keys.Job.After)
	for _, node := range q.client.Raw().Nodes() {
		if role, err := node.Do(ctx, node.B().Role().Build()).ToArray(); err == nil && len(role) > 0 {
			if name, _ := role[0].ToString(); name != "master" {
				continue
			}
		}
		for cursor := uint64(0); ; {
			page, err := node.Do(ctx, node.B().Scan().Cursor(cursor).Match(match).Count(500).Build()).AsScanEntry()
			if err != nil {
				return back, err
			}
			found, err := q.reconcile(ctx, page.Elements, dry)
			if back = append(back, found...); err != nil {
				return back, err
			}
			if cursor = page.Cursor; cursor == 0 {
				break
			}
		}
	}
	return back, nil
}

func (q Queue[T]) reconcile(ctx context.Context, jobs []string, dry bool) ([]string, error) {
	args := []string{strconv.Itoa(len(q.keys.Lanes)), q.keys.Channel}
	keys := append([]string{q.keys.Leases, q.keys.Delayed, q.keys.Dead, q.keys.Runs}, q.laneKeys()...)
	for _, key := range jobs {
		id := strings.TrimSuffix(strings.TrimPrefix(key, q.keys.Job.Before), q.keys.Job.After)
		if q.legal(id) == nil {
			keys, args = append(keys, key), append(args, id)
		}
	}
	if len(args) == 2 {
		return nil, nil
	}
	script, effect := reconcileScript, keywright.Idempotent
	if dry {
		script, effect = lookScript, keywright.Reads
	}
	out, err := q.run(ctx, "reconcile", script, effect, keys, args)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(out))
	for i, m := range out {
		ids[i], _ = m.ToString()
	}
	return ids, nil
}

// lookScript is reconcileScript without its writes.
var lookScript = keywright.NewReadOnlyScript("queue look", withoutWrites(reconcileText))

func withoutWrites(text string) string {
	begin, end := strings.Index(text, "    if (redis.call('HGET'"), strings.Index(text, "    out[#out + 1] = id")
	return text[:begin] + text[end:]
}

// globbed is text as a glob that matches nothing else.
func globbed(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
