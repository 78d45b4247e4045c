package doctor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/audit/doctor"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/servertest"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/server/examine"
)

var each = servertest.Brands

// diagnosed returns a diagnosis as lines "severity: message".
func diagnosed(t *testing.T, url string) (lines []string, facts string) {
	t.Helper()
	x, err := examine.Examine(t.Context(), servertest.Config(t, url), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	d := doctor.Of(x)
	for _, f := range d.Findings {
		lines = append(lines, f.Severity.String()+": "+f.Message)
		if f.Code == "" || f.Fix == "" {
			t.Errorf("%+v", f)
		}
	}
	return lines, fmt.Sprint(d.Facts)
}

func says(lines []string, want string) bool {
	return slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, want) })
}

// Each condition is really made.
func TestDiagnose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		options []kt.Option
		make    func(*testing.T, *kt.Server)
		want    string
		not     string // what must not be said
	}{
		{"sound", []kt.Option{kt.Config("appendonly", "yes"), kt.Config("save", "3600 1"), kt.Config("maxmemory", "100mb")},
			nil, "note: ", "error: the"},
		{"eviction", []kt.Option{kt.Config("maxmemory-policy", "allkeys-lru"), kt.Config("maxmemory", "100mb")}, nil,
			"warning: the server may evict keys that never expire (allkeys-lru)", "no memory limit"},
		{"nothing on disk", nil, nil, "warning: nothing is written to disk", ""},
		{"no limit", nil, nil, "note: no memory limit is set", ""},
		{"full", []kt.Option{kt.Config("maxmemory", "4mb")}, untilFull,
			"error: the memory is full and nothing may be evicted (noeviction): writes fail with OOM", ""},
		{"refused writes", []kt.Option{kt.Config("maxmemory", "4mb")}, func(t *testing.T, s *kt.Server) {
			untilFull(t, s)
			s.Do("CONFIG", "SET", "maxmemory", "100mb")
		}, "warning: 1 writes were refused for lack of memory (OOM)", "memory is full"},
		{"evicting", []kt.Option{kt.Config("maxmemory", "4mb"), kt.Config("maxmemory-policy", "volatile-lru")},
			func(t *testing.T, s *kt.Server) { untilFull(t, s) },
			"error: the memory is full and nothing may be evicted (volatile-lru)", ""},
		{"fsync always", []kt.Option{kt.Config("appendonly", "yes"), kt.Config("appendfsync", "always")}, nil,
			"warning: every write waits for the disk", ""},
		{"fsync no", []kt.Option{kt.Config("appendonly", "yes"), kt.Config("appendfsync", "no")}, nil,
			"warning: the system decides when writes are on disk", ""},
		{"no AOF, fsync always", []kt.Option{kt.Config("appendfsync", "always")}, nil, "nothing is written",
			"waits for the disk"},
		{"silent snapshots", []kt.Option{kt.Config("save", "3600 1"), kt.Config("stop-writes-on-bgsave-error", "no")}, nil,
			"warning: snapshots may fail without any client hearing of it", ""},
		{"failed snapshot", []kt.Option{kt.Config("enable-protected-configs", "yes")}, func(t *testing.T, s *kt.Server) {
			folder(t, filepath.Join(s.Dir, "taken", "inner"))
			s.Do("CONFIG", "SET", "dbfilename", "taken")
			s.Do("BGSAVE")
			s.Await("rdb_last_bgsave_status", "err")
		}, "error: the last snapshot failed", ""},
		{"failed rewrite", []kt.Option{kt.Config("appendonly", "yes")}, func(t *testing.T, s *kt.Server) {
			if err := os.RemoveAll(filepath.Join(s.Dir, "appendonlydir")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(s.Dir, "appendonlydir"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			_, _ = s.Try("BGREWRITEAOF")
			s.Await("aof_last_bgrewrite_status", "err")
		}, "error: the last rewrite of the AOF failed", ""},
		{"an AOF that the default user cannot read", []kt.Option{kt.Config("appendonly", "yes")},
			func(t *testing.T, s *kt.Server) {
				s.Do("ACL", "SETUSER", "default", "-zadd")
			}, "error: a restart may lose what scripts and transactions have written: the default user may not ZADD", ""},
		{"a default user without channels", []kt.Option{kt.Config("appendonly", "yes")}, func(t *testing.T, s *kt.Server) {
			s.Do("ACL", "SETUSER", "default", "resetchannels")
		}, "note: ", "a restart may lose what"},
		{"no AOF, no rights", nil, func(t *testing.T, s *kt.Server) { s.Do("ACL", "SETUSER", "default", "-zadd") },
			"nothing is written", "a restart may lose what"},
		{"a lost primary", []kt.Option{kt.Config("replicaof", "127.0.0.1 1")}, nil,
			"error: the replica has lost its primary", ""},
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

// A command that is taken away is named, and so is what the user may not touch.
func TestPermissions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		for command, want := range map[string]string{"scan": "warning: the user may not run SCAN",
			"evalsha": "note: the user may not run EVALSHA", "subscribe": "note: the user may not run SUBSCRIBE"} {
			s.Do("ACL", "SETUSER", "u", "reset", "on", ">pw", "~*", "&*", "+@all", "-"+command)
			if lines, _ := diagnosed(t, "redis://u:pw@"+s.Addr()); !slices.Contains(lines, want) {
				t.Errorf("%s: %s", command, strings.Join(lines, "\n"))
			}
		}
		s.Do("ACL", "SETUSER", "u", "reset", "on", ">pw", "~app:*", "&app:*", "+@all")
		if lines, _ := diagnosed(t, "redis://u:pw@"+s.Addr()); says(lines, "may not run") ||
			!says(lines, "note: the user may not touch every key") {
			t.Errorf("a user of some keys: %s", strings.Join(lines, "\n"))
		}
		s.Do("ACL", "SETUSER", "u", "reset", "on", ">pw", "~*", "-@all", "+ping", "+select", "+scan")
		if lines, facts := diagnosed(t, "redis://u:pw@"+s.Addr()); !says(lines, "MEMORY USAGE") ||
			!says(lines, "the settings are not known") || strings.Contains(facts, " SCAN,") {
			t.Errorf("%s\n%s", strings.Join(lines, "\n"), facts)
		}
	})
}

// A cluster with a dead node is diagnosed by those that are left, and so is one that
// is asked at an address that is dead.
func TestDiagnoseClusterWithADeadNode(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b kt.Brand) {
		c := kt.StartCluster(t, b, 3, 0)
		if lines, facts := diagnosed(t, c.URL()); says(lines, "error") ||
			!strings.Contains(facts, "cluster of 3 shards, 3 of 3 nodes answer") {
			t.Errorf("%s\n%s", strings.Join(lines, "\n"), facts)
		}
		c.Nodes[1].Do("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
		if lines, _ := diagnosed(t, c.URL()); !says(lines, "(allkeys-lru) (at "+c.Nodes[1].Addr()+")") {
			t.Errorf("%s", strings.Join(lines, "\n"))
		}
		c.Nodes[2].Kill()
		lines, facts := diagnosed(t, c.URL())
		if !says(lines, "error: the primary "+c.Nodes[2].Addr()+" of the slots ") ||
			!strings.Contains(facts, "2 of 3 nodes answer") {
			t.Errorf("%s\n%s", strings.Join(lines, "\n"), facts)
		}
		dead := "redis+cluster://" + c.Nodes[2].Addr() + "," + c.Nodes[0].Addr()
		if lines, _ := diagnosed(t, dead); !says(lines, "error: the primary "+c.Nodes[2].Addr()) {
			t.Errorf("asked at the dead node: %s", strings.Join(lines, "\n"))
		}
		c.Nodes[0].Kill()
		c.Nodes[1].Kill()
		if _, err := examine.Examine(t.Context(), servertest.Config(t, c.URL()), time.Now); !connect.IsKind(err,
			connect.Unreachable) {
			t.Errorf("no node answers: %v", err)
		}
	})
}

// Writes that are refused for lack of replicas are a danger, as long as they are.
func TestDiagnoseNoReplicas(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b, kt.Config("min-replicas-to-write", "1"))
		if _, err := s.Try("SET", "k", "v"); err == nil {
			t.Fatal("a write without replicas is taken")
		}
		s.Do("ACL", "SETUSER", "u", "on", ">pw", "~*", "&*", "+@all", "-config")
		for _, url := range []string{s.URL(), "redis://u:pw@" + s.Addr()} {
			lines, _ := diagnosed(t, url)
			if !says(lines, "error: writes are refused for lack of replicas (NOREPLICAS)") || says(lines, "since the start") {
				t.Errorf("%s: %v", url, lines)
			}
		}
		s.Do("CONFIG", "SET", "min-replicas-to-write", "0")
		if lines, _ := diagnosed(t, s.URL()); says(lines, "error: ") ||
			!says(lines, "1 writes were refused for lack of replicas") {
			t.Errorf("none is needed now: %v", lines)
		}
	})
}

// What a server does not tell is no finding.
func TestNothingIsInvented(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command  string   // that the user may not run, or several
		invented []string // what would be
	}{
		{"info", []string{"nothing is written"}},
		{"info -config", []string{"no memory limit", "nothing is written", "snapshot failed", "anybody"}},
		{"config", []string{"nothing is written", "anybody", "snapshots may fail"}},
		{"config|get", []string{"nothing is written"}},
		{"time", []string{"clocks differ"}},
	} {
		t.Run(c.command, func(t *testing.T) {
			each(t, func(t *testing.T, b kt.Brand) {
				s := kt.Start(t, b)
				s.Do(append([]string{"ACL", "SETUSER", "u", "on", ">pw", "~*", "&*", "+@all"}, strings.Fields("-"+c.command)...)...)
				lines, _ := diagnosed(t, "redis://u:pw@"+s.Addr())
				for _, invented := range c.invented {
					if says(lines, invented) {
						t.Errorf("a finding on what is not known: %v", lines)
					}
				}
			})
		})
	}
	d := doctor.Of(&examine.Examination{Patients: []*examine.Patient{{}}})
	for _, f := range d.Findings {
		t.Errorf("a finding on nothing: %v", f)
	}
	full := &examine.Patient{Info: map[string]string{"maxmemory": "100", "used_memory": "100"}}
	d = doctor.Of(&examine.Examination{Patients: []*examine.Patient{full}})
	if len(d.Findings) == 0 || d.Findings[0].Code != "KW714" ||
		strings.Contains(d.Findings[0].Message, "nothing may be evicted") {
		t.Errorf("the policy is not known: %v", d.Findings)
	}
}

// TestNoSuchDatabase: a database of the URL that a server lacks is the gravest there is.
func TestNoSuchDatabase(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	if lines, _ := diagnosed(t, s.URL()+"/99"); len(lines) == 0 || !strings.Contains(lines[0], "no database 99") {
		t.Errorf("%v", lines)
	}
}

// TestRules: each rule has all its texts, and a code of the family of servers that no other has.
func TestRules(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range doctor.Rules() {
		if !strings.HasPrefix(r.Code, "KW7") || seen[r.Code] || seen[r.Name] || r.Summary == "" || r.Explain == "" ||
			r.Fix == "" {
			t.Errorf("%+v", r)
		}
		seen[r.Code], seen[r.Name] = true, true
	}
}

// A default user that is on and has no password is a danger where others reach the port, for
// whichever user doctor runs.
func TestDiagnoseAnybody(t *testing.T) {
	t.Parallel()
	const what = "anybody who reaches the port is logged in"
	each(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		s.Do("ACL", "SETUSER", "u", "on", ">pw", "~*", "&*", "+@all")
		s.Do("ACL", "SETUSER", "blind", "on", ">pw", "~*", "&*", "+@all", "-config")
		for _, c := range []struct {
			bind, protected, user string
			rule                  []string // of the default user
			want                  bool
		}{
			{"127.0.0.1", "no", "u:pw@", nil, false},
			{"127.0.0.1 -::1", "no", "u:pw@", nil, false},
			{"0.0.0.0", "no", "", nil, true},
			{"0.0.0.0", "no", "u:pw@", nil, true},
			{"* -::*", "no", "u:pw@", nil, true},
			{"0.0.0.0", "yes", "u:pw@", nil, false},
			{"0.0.0.0", "no", "blind:pw@", nil, false}, // who listens is not known
			{"0.0.0.0", "no", "u:pw@", []string{"off"}, false},
			{"0.0.0.0", "no", "u:pw@", []string{"-@all"}, false},
			{"0.0.0.0", "no", "u:pw@", []string{"resetkeys"}, true},
			{"0.0.0.0", "no", "u:pw@", []string{">secret"}, false},
		} {
			s.Do("ACL", "SETUSER", "default", "reset", "on", "nopass", "~*", "&*", "+@all")
			s.Do("CONFIG", "SET", "protected-mode", c.protected)
			s.Do("CONFIG", "SET", "bind", c.bind)
			if len(c.rule) > 0 {
				s.Do(append([]string{"ACL", "SETUSER", "default"}, c.rule...)...)
			}
			lines, _ := diagnosed(t, "redis://"+c.user+s.Addr())
			if says(lines, what) != c.want {
				t.Errorf("%+v: %v", c, lines)
			}
			if len(c.rule) > 0 {
				as(t, s, "ACL", "SETUSER", "default", "reset", "on", "nopass", "~*", "&*", "+@all")
			}
		}
	})
}

// as runs a command as the user u.
func as(t *testing.T, s *kt.Server, args ...string) {
	t.Helper()
	c, err := connect.Dial(t.Context(), servertest.Config(t, "redis://u:pw@"+s.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Command(args...)
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	if reply, err := c.Any(); err != nil {
		t.Fatal(fmt.Sprint(reply), err)
	}
}
