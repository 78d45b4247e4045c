package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	kt "github.com/keywright/keywright/keywrighttest"
)

// diagnosis is that of a user of a server.
func diagnosis(t *testing.T, url string) Diagnosis {
	t.Helper()
	d, err := Diagnose(t.Context(), config(t, url), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (d Diagnosis) fact(name string) string {
	i := slices.IndexFunc(d.Facts, func(f Fact) bool { return f.Name == name })
	if i < 0 {
		return ""
	}
	return d.Facts[i].Value
}

// advises reports whether any advice has the text.
func (d Diagnosis) advises(text string) bool {
	return slices.ContainsFunc(d.Advice, func(a Advice) bool { return strings.Contains(a.What, text) })
}

// What a server does not tell is not known: no figure, and no advice on one.
func TestDiagnoseInventsNothing(t *testing.T) {
	info := []string{"server", "topology", "uptime", "clients", "keys", "memory"} // CONFIG tells the rest, too
	for _, c := range []struct {
		command string // that the user may not run, or several
		told    string // what NotKnown calls it
		facts   []string
		advice  []string // that would be invented
	}{
		{"info", "INFO", info, []string{"nothing is written"}},
		{"info -config", "INFO", append([]string{"eviction", "persistence"}, info...), []string{"no memory limit", "nothing is written", "snapshot failed", "anybody"}},
		{"config", "CONFIG GET", []string{"persistence"}, []string{"nothing is written", "anybody", "snapshots may fail"}},
		{"config|get", "CONFIG GET", []string{"persistence"}, []string{"nothing is written"}},
		{"time", "TIME", []string{"clock"}, []string{"clocks differ"}},
		{"acl|whoami", "ACL WHOAMI", []string{"user"}, nil},
	} {
		t.Run(c.command, func(t *testing.T) {
			each(t, func(t *testing.T, b kt.Brand) {
				s := kt.Start(t, b)
				s.Do("SET", "k", "v")
				s.Do(append([]string{"ACL", "SETUSER", "u", "on", ">pw", "~*", "&*", "+@all"}, strings.Fields("-"+c.command)...)...)
				d := diagnosis(t, "redis://u:pw@"+s.Addr())
				if !slices.ContainsFunc(d.NotKnown, func(f Fact) bool { return f.Name == c.told && strings.Contains(f.Value, "permissions") }) {
					t.Errorf("not known: %v", d.NotKnown)
				}
				for _, f := range d.Facts {
					if got := strings.Contains(f.Value, "not known: "+c.told); got != slices.Contains(c.facts, f.Name) {
						t.Errorf("%s: %q", f.Name, f.Value)
					}
				}
				for _, invented := range c.advice {
					if d.advises(invented) {
						t.Errorf("advice on what is not known: %v", d.Advice)
					}
				}
				if whole := diagnosis(t, s.URL()); len(whole.NotKnown) != 0 {
					t.Errorf("a user of all rights: %v", whole.NotKnown)
				}
			})
		})
	}
}

// What a managed service leaves out of an answer is not known, and is no zero.
func TestDiagnoseOfFiguresThatAreLeftOut(t *testing.T) {
	for _, name := range infoRead {
		if err := lacks(infoRead, map[string]string{"other": ""}); err == nil || !denied(err) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	none := &patient{}
	for _, check := range checks {
		if a, found := check(none); found {
			t.Errorf("advice on nothing: %v", a)
		}
	}
	none.blind = map[string]string{}
	facts := (&examination{patients: []*patient{none}}).facts()
	for _, f := range facts {
		if !strings.Contains(f.Value, "not known: ") && f.Name != "tls" && f.Name != "round trip" && f.Name != "missing permissions" && f.Name != "clock" {
			t.Errorf("a figure of nothing: %s %s", f.Name, f.Value)
		}
	}
	full := &patient{info: map[string]string{"maxmemory": "100", "used_memory": "100"}}
	if a, found := fullMemory(full); !found || strings.Contains(a.What, "nothing may be evicted") {
		t.Errorf("the policy is not known: %v", a)
	}
}

// A cluster of which the nodes may not be asked is not one without shards.
func TestDiagnoseOfAClusterThatIsNotTold(t *testing.T) {
	each(t, func(t *testing.T, b kt.Brand) {
		c := kt.StartCluster(t, b, 3, 0)
		c.Nodes[0].Do("ACL", "SETUSER", "u", "on", ">pw", "~*", "&*", "+@all", "-cluster|nodes")
		d := diagnosis(t, "redis+cluster://u:pw@"+c.Nodes[0].Addr())
		if !strings.Contains(d.fact("topology"), "not known") || !strings.HasPrefix(d.fact("keys"), "at least ") || !d.unknown("CLUSTER NODES") {
			t.Errorf("%v\n%v", d.Facts, d.NotKnown)
		}
		c.Nodes[2].Kill()
		d = diagnosis(t, c.URL())
		if !strings.HasPrefix(d.fact("keys"), "at least ") || !d.unknown("the node "+c.Nodes[2].Addr()) {
			t.Errorf("a dead node: %v\n%v", d.Facts, d.NotKnown)
		}
	})
}

func (d Diagnosis) unknown(what string) bool {
	return slices.ContainsFunc(d.NotKnown, func(f Fact) bool { return f.Name == what })
}

// TestDoctorNamesEachCommandThatIsMissing: each command that keywright sends is taken away from a
// user, and the diagnosis names it.
func TestDoctorNamesEachCommandThatIsMissing(t *testing.T) {
	each(t, func(t *testing.T, b kt.Brand) {
		single, cluster := kt.Start(t, b), kt.StartCluster(t, b, 3, 0)
		for _, c := range Commands() {
			s, url := single, "redis://"
			if c.Name == "readonly" || c.Name == "cluster|nodes" {
				s, url = cluster.Nodes[0], "redis+cluster://"
			}
			s.Do("ACL", "SETUSER", "u", "reset", "on", ">pw", "~*", "&*", "+@all", "-"+c.Name)
			d := diagnosis(t, url+"u:pw@"+s.Addr())
			name := strings.ToUpper(strings.ReplaceAll(c.Name, "|", " "))
			if !d.unknown(name) && !strings.Contains(d.fact("missing permissions"), name) {
				t.Errorf("without %s: %s, not known %v", name, d.fact("missing permissions"), d.NotKnown)
			}
		}
		for _, one := range trialList {
			whole, word := strings.ToLower(strings.Join(one.args[:min(len(one.args), 2)], "|")), strings.ToLower(one.args[0])
			if !allowed[whole] && !allowed[word] && !onlyTried[whole] && !onlyTried[word] {
				t.Errorf("%s is tried, and no command of ours", one.name)
			}
		}
	})
}

// Writes that are refused for lack of replicas are a danger, as long as they are.
func TestDiagnoseNoReplicas(t *testing.T) {
	each(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b, kt.Config("min-replicas-to-write", "1"))
		if _, err := s.Try("SET", "k", "v"); err == nil {
			t.Fatal("a write without replicas is taken")
		}
		s.Do("ACL", "SETUSER", "u", "on", ">pw", "~*", "&*", "+@all", "-config")
		for _, url := range []string{s.URL(), "redis://u:pw@" + s.Addr()} {
			d := diagnosis(t, url)
			if !d.advises("(NOREPLICAS)") || d.From("danger") != 1 || d.advises("since the start") {
				t.Errorf("%s: %v", url, d.Advice)
			}
		}
		s.Do("CONFIG", "SET", "min-replicas-to-write", "0")
		if d := diagnosis(t, s.URL()); d.From("danger") != 0 || !d.advises("1 writes were refused for lack of replicas") {
			t.Errorf("none is needed now: %v", d.Advice)
		}
	})
}

// A default user that is on and has no password is a danger where others reach the port, for
// whichever user doctor runs.
func TestDiagnoseAnybody(t *testing.T) {
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
			d := diagnosis(t, "redis://"+c.user+s.Addr())
			if d.advises(what) != c.want {
				t.Errorf("%+v: %v", c, d.Advice)
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
	l, err := dial(t.Context(), config(t, "redis://u:pw@"+s.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	l.Command(args...)
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	if reply, err := l.Any(); err != nil {
		t.Fatal(fmt.Sprint(reply), err)
	}
}
