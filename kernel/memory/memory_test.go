package memory_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/keywright/keywright/kernel/memory"
)

// TestRead: the exact numbers count, not those for people, and what is lacking is named.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		info  string
		want  memory.Server
		lacks []string
	}{
		"the buffers of replicas do not count": {
			info: "used_memory:1000\r\nmem_not_counted_for_evict:300\r\nmaxmemory:2000\r\nmaxmemory_policy:allkeys-lru\r\n",
			want: memory.Server{Used: 700, Max: 2000, Policy: "allkeys-lru"},
		},
		"an old server has no such buffers": {
			info: "used_memory:1000\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n",
			want: memory.Server{Used: 1000, Policy: "noeviction"},
		},
		"buffers beyond what is used": {
			info: "used_memory:10\r\nmem_not_counted_for_evict:30\r\nmaxmemory:20\r\nmaxmemory_policy:noeviction\r\n",
			want: memory.Server{Max: 20, Policy: "noeviction"},
		},
		"numbers for people": {
			info:  "used_memory_human:1G\r\nmaxmemory_human:2G\r\n",
			lacks: []string{"used_memory", "maxmemory"},
		},
		"no number": {
			info:  "used_memory:much\r\nmaxmemory:1\r\n",
			want:  memory.Server{Max: 1},
			lacks: []string{"used_memory"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var asked string
			got := memory.Read(t.Context(), func(_ context.Context, words ...string) (any, error) {
				asked = strings.Join(words, " ")
				return c.info, nil
			})
			err := got.Err
			if got.Err = nil; got != c.want || asked != "INFO memory" {
				t.Errorf("%q: %+v, want %+v", asked, got, c.want)
			}
			if (err != nil) != (len(c.lacks) > 0) {
				t.Errorf("the error is %v", err)
			}
			for _, lacking := range c.lacks {
				if err == nil || !strings.Contains(err.Error(), "has no number "+lacking) {
					t.Errorf("%v does not name %s", err, lacking)
				}
			}
		})
	}
}

// TestReadFails: a server that does not answer has no figures.
func TestReadFails(t *testing.T) {
	away := errors.New("away")
	got := memory.Read(t.Context(), func(context.Context, ...string) (any, error) { return nil, away })
	if !errors.Is(got.Err, away) || got != (memory.Server{Err: got.Err}) {
		t.Errorf("%+v", got)
	}
}
