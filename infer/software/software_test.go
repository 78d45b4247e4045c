package software

import (
	"strings"
	"testing"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/source"
)

// Every product has keys that its own signs lie under, and globs that a
// declaration takes.
func TestTable(t *testing.T) {
	list, err := parseTable(table)
	if err != nil || len(list) < 40 {
		t.Fatal(len(list), err)
	}
	names := map[string]bool{}
	for _, p := range list {
		if names[p.Name] || len(p.Globs) == 0 || len(p.Signs) < p.Need || !strings.HasPrefix(p.URL, "https://") {
			t.Errorf("%+v", p)
		}
		names[p.Name] = true
		for _, g := range p.Globs {
			if _, err := pattern.Glob(g); err != nil {
				t.Errorf("%s: %s: %v", p.Name, g, err)
			}
		}
		for _, s := range p.Signs {
			example := strings.ReplaceAll(s.Glob, "*", "x")
			if _, ok := p.Has([]byte(example)); !ok {
				t.Errorf("%s: its own sign %s lies under none of its globs", p.Name, s.Glob)
			}
		}
	}
}

func TestFaultyTables(t *testing.T) {
	for _, text := range []string{"name", "  keys a:*", "a  https://x\n  sign a:*", "a  https://x\n  sign a:* tree",
		"a  https://x\n  sign a:* hash with b", "a  https://x\n  mark b", "a  https://x\n  need x"} {
		if _, err := parseTable(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func observed(key string, kind source.Kind, fields ...string) Observation {
	return Observation{[]byte(key), kind, fields}
}

func TestFound(t *testing.T) {
	for name, seen := range map[string][]Observation{
		"asynq":        {observed("asynq:queues", source.Set)},
		"Bull, BullMQ": {observed("bull:mail:meta", source.Hash)},
		"Sidekiq":      {observed("queues", source.Set), observed("stat:processed", source.String)},
		"Celery": {observed("celery-task-meta-00095606-2611-4eaa-a77a-169d71ed6a09", source.String, "status",
			"task_id")},
		"connect-redis": {observed("sess:abc", source.String, "cookie")},
		"Resque":        {observed("resque:workers", source.Set)},
		"Django cache":  {observed(":1:views.decorators", source.String)},
	} {
		got := Found(seen)
		if len(got) != 1 || got[0].Name != name {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What an application may well use itself is not taken for another's.
func TestNotFound(t *testing.T) {
	seen := []Observation{
		observed("sess:abc", source.String, "user"), observed("session:abc", source.String, "cookie"),
		observed("queue:default", source.List), observed("queue:mail", source.List),
		observed("cache:x", source.String), observed("stat:views", source.String), observed("user:1", source.Hash, "name"),
		observed("lock:a", source.String), observed("q:jobs", source.List),
		observed("bull:1", source.Hash, "horns"), observed("access:1", source.String), observed("retry", source.ZSet),
		observed("feed:home:1", source.ZSet), observed("rl:1", source.String),
	}
	if got := Found(seen); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}
