package server

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/connect"
	kt "github.com/keywright/keywright/keywrighttest"
)

// diagnosed is a diagnosis as lines "level: what".
func diagnosed(t *testing.T, url string) (lines []string, facts string) {
	t.Helper()
	d, err := Diagnose(t.Context(), config(t, url), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range d.Advice {
		lines = append(lines, a.Level+": "+a.What)
		if a.Why == "" || a.Fix == "" {
			t.Errorf("%+v", a)
		}
	}
	return lines, fmt.Sprint(d.Facts)
}

func says(lines []string, want string) bool {
	return slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, want) })
}

// Each condition is really made.
func TestDiagnose(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []kt.Option
		make    func(*testing.T, *kt.Server)
		want    string
		not     string // what must not be said
	}{
		{"sound", []kt.Option{kt.Config("appendonly", "yes"), kt.Config("save", "3600 1"), kt.Config("maxmemory", "100mb")}, nil, "note: ", "danger: the"},
		{"eviction", []kt.Option{kt.Config("maxmemory-policy", "allkeys-lru"), kt.Config("maxmemory", "100mb")}, nil, "warning: the server may evict keys that never expire (allkeys-lru)", "no memory limit"},
		{"nothing on disk", nil, nil, "warning: nothing is written to disk", ""},
		{"no limit", nil, nil, "note: no memory limit is set", ""},
		{"full", []kt.Option{kt.Config("maxmemory", "4mb")}, untilFull, "danger: the memory is full and nothing may be evicted (noeviction): writes fail with OOM", ""},
		{"refused writes", []kt.Option{kt.Config("maxmemory", "4mb")}, func(t *testing.T, s *kt.Server) {
			untilFull(t, s)
			s.Do("CONFIG", "SET", "maxmemory", "100mb")
		}, "warning: 1 writes were refused for lack of memory (OOM)", "memory is full"},
		{"evicting", []kt.Option{kt.Config("maxmemory", "4mb"), kt.Config("maxmemory-policy", "volatile-lru")}, func(t *testing.T, s *kt.Server) { untilFull(t, s) }, "danger: the memory is full and nothing may be evicted (volatile-lru)", ""},
		{"fsync always", []kt.Option{kt.Config("appendonly", "yes"), kt.Config("appendfsync", "always")}, nil, "warning: every write waits for the disk", ""},
		{"fsync no", []kt.Option{kt.Config("appendonly", "yes"), kt.Config("appendfsync", "no")}, nil, "warning: the system decides when writes are on disk", ""},
		{"no AOF, fsync always", []kt.Option{kt.Config("appendfsync", "always")}, nil, "nothing is written", "waits for the disk"},
		{"silent snapshots", []kt.Option{kt.Config("save", "3600 1"), kt.Config("stop-writes-on-bgsave-error", "no")}, nil, "warning: snapshots may fail without any client hearing of it", ""},
		{"failed snapshot", []kt.Option{kt.Config("enable-protected-configs", "yes")}, func(t *testing.T, s *kt.Server) {
			folder(t, filepath.Join(s.Dir, "taken", "inner"))
			s.Do("CONFIG", "SET", "dbfilename", "taken")
			s.Do("BGSAVE")
			s.Await("rdb_last_bgsave_status", "err")
		}, "danger: the last snapshot failed", ""},
		{"failed rewrite", []kt.Option{kt.Config("appendonly", "yes")}, func(t *testing.T, s *kt.Server) {
			if err := os.RemoveAll(filepath.Join(s.Dir, "appendonlydir")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(s.Dir, "appendonlydir"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			_, _ = s.Try("BGREWRITEAOF")
			s.Await("aof_last_bgrewrite_status", "err")
		}, "danger: the last rewrite of the AOF failed", ""},
		{"an AOF that the default user cannot read", []kt.Option{kt.Config("appendonly", "yes")}, func(t *testing.T, s *kt.Server) {
			s.Do("ACL", "SETUSER", "default", "-zadd")
		}, "danger: a restart may lose what scripts and transactions have written: the default user may not ZADD", ""},
		{"a default user without channels", []kt.Option{kt.Config("appendonly", "yes")}, func(t *testing.T, s *kt.Server) {
			s.Do("ACL", "SETUSER", "default", "resetchannels")
		}, "note: ", "a restart may lose what"},
		{"no AOF, no rights", nil, func(t *testing.T, s *kt.Server) { s.Do("ACL", "SETUSER", "default", "-zadd") }, "nothing is written", "a restart may lose what"},
		{"a lost primary", []kt.Option{kt.Config("replicaof", "127.0.0.1 1")}, nil, "danger: the replica has lost its primary", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, b kt.Brand) {
				s := kt.Start(t, b, c.options...)
				if c.make != nil {
					c.make(t, s)
				}
				lines, facts := diagnosed(t, s.URL())
				if !says(lines, c.want) || c.not != "" && says(lines, c.not) || !strings.Contains(facts, "ours, give or take") {
					t.Errorf("%s\n%s", strings.Join(lines, "\n"), facts)
				}
			})
		})
	}
}

func folder(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

// untilFull writes until a write is refused.
func untilFull(t *testing.T, s *kt.Server) {
	t.Helper()
	for i := range 1000 {
		if _, err := s.Try("SET", fmt.Sprint("k", i), strings.Repeat("x", 50_000)); err != nil {
			if !strings.Contains(err.Error(), "OOM") {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("the memory is never full")
}

// What the user may not do is tried: each command is taken away, and is named.
func TestDiagnosePermissions(t *testing.T) {
	each(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		for _, one := range trialList {
			if one.cluster {
				continue // TestDoctorNamesEachCommandThatIsMissing
			}
			s.Do("ACL", "SETUSER", "u", "reset", "on", ">pw", "~*", "&*", "+@all", "-"+strings.ToLower(strings.Join(commandOf(one), "|")))
			lines, facts := diagnosed(t, "redis://u:pw@"+s.Addr())
			want := "the user may not run " + one.name
			if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasSuffix(l, want) }) || !strings.Contains(facts, "{missing permissions "+one.name+"}") {
				t.Errorf("%s: %s\n%s", one.name, strings.Join(lines, "\n"), facts)
			}
		}
		for _, command := range []string{"config|get", "acl|whoami", "time"} {
			s.Do("ACL", "SETUSER", "u", "reset", "on", ">pw", "~*", "&*", "+@all", "-"+command)
			if _, facts := diagnosed(t, "redis://u:pw@"+s.Addr()); !strings.Contains(facts, "primary with 0 replicas") {
				t.Errorf("without %s: %s", command, facts)
			}
		}
		s.Do("ACL", "SETUSER", "u", "reset", "on", ">pw", "~app:*", "&app:*", "+@all")
		if lines, _ := diagnosed(t, "redis://u:pw@"+s.Addr()); says(lines, "may not run") || !says(lines, "note: the user may not touch every key") {
			t.Errorf("a user of some keys: %s", strings.Join(lines, "\n"))
		}
		s.Do("ACL", "SETUSER", "u", "reset", "on", ">pw", "~*", "-@all", "+ping", "+select", "+scan")
		if lines, facts := diagnosed(t, "redis://u:pw@"+s.Addr()); !says(lines, "MEMORY USAGE") || !says(lines, "the settings are not known") || strings.Contains(facts, " SCAN,") {
			t.Errorf("%s\n%s", strings.Join(lines, "\n"), facts)
		}
		if n := s.Do("DBSIZE"); fmt.Sprint(n) != "0" {
			t.Errorf("trying has written %v keys", n)
		}
	})
}

// commandOf is a command as an ACL names it.
func commandOf(t trial) []string {
	if words := strings.Fields(t.name); words[0] != "OBJECT" && words[0] != "MEMORY" && words[0] != "SCRIPT" {
		return words[:1]
	}
	return strings.Fields(t.name)
}

// A cluster with a dead node is diagnosed by those that are left, and so is one that
// is asked at an address that is dead.
func TestDiagnoseClusterWithADeadNode(t *testing.T) {
	each(t, func(t *testing.T, b kt.Brand) {
		c := kt.StartCluster(t, b, 3, 0)
		if lines, facts := diagnosed(t, c.URL()); says(lines, "danger") || !strings.Contains(facts, "cluster of 3 shards, 3 of 3 nodes answer") {
			t.Errorf("%s\n%s", strings.Join(lines, "\n"), facts)
		}
		c.Nodes[1].Do("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
		if lines, _ := diagnosed(t, c.URL()); !says(lines, "(allkeys-lru) (at "+c.Nodes[1].Addr()+")") {
			t.Errorf("%s", strings.Join(lines, "\n"))
		}
		c.Nodes[2].Kill()
		lines, facts := diagnosed(t, c.URL())
		if !says(lines, "danger: the primary "+c.Nodes[2].Addr()+" of the slots ") || !strings.Contains(facts, "2 of 3 nodes answer") {
			t.Errorf("%s\n%s", strings.Join(lines, "\n"), facts)
		}
		dead := "redis+cluster://" + c.Nodes[2].Addr() + "," + c.Nodes[0].Addr()
		if lines, _ := diagnosed(t, dead); !says(lines, "danger: the primary "+c.Nodes[2].Addr()) {
			t.Errorf("asked at the dead node: %s", strings.Join(lines, "\n"))
		}
		c.Nodes[0].Kill()
		c.Nodes[1].Kill()
		if _, err := Diagnose(t.Context(), config(t, c.URL()), time.Now); !connect.IsKind(err, connect.Unreachable) {
			t.Errorf("no node answers: %v", err)
		}
	})
}
