package examine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/servertest"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/server/allowed"
	"github.com/keywright/keywright/source/server/internal/link"
)

// examined returns what a server says to a user.
func examined(t *testing.T, url string) *Examination {
	t.Helper()
	x, err := Examine(t.Context(), servertest.Config(t, url), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *Examination) fact(name string) string {
	facts := x.Facts()
	i := slices.IndexFunc(facts, func(f Fact) bool { return f.Name == name })
	if i < 0 {
		return ""
	}
	return facts[i].Value
}

// What a server does not tell is not known: there is no figure.
func TestExamineInventsNothing(t *testing.T) {
	t.Parallel()
	info := []string{"server", "topology", "uptime", "clients", "keys", "memory"} // CONFIG tells the rest, too
	for _, c := range []struct {
		command string // that the user may not run, or several
		told    string // what NotKnown calls it
		facts   []string
	}{
		{"info", "INFO", info},
		{"info -config", "INFO", append([]string{"eviction", "persistence"}, info...)},
		{"config", "CONFIG GET", []string{"persistence"}},
		{"config|get", "CONFIG GET", []string{"persistence"}},
		{"time", "TIME", []string{"clock"}},
		{"acl|whoami", "ACL WHOAMI", []string{"user"}},
	} {
		t.Run(c.command, func(t *testing.T) {
			servertest.Brands(t, func(t *testing.T, b kt.Brand) {
				s := kt.Start(t, b)
				s.Do("SET", "k", "v")
				s.Do(append([]string{"ACL", "SETUSER", "u", "on", ">pw", "~*", "&*", "+@all"}, strings.Fields("-"+c.command)...)...)
				d := examined(t, "redis://u:pw@"+s.Addr())
				if !slices.ContainsFunc(d.Unknown(),
					func(f Fact) bool { return f.Name == c.told && strings.Contains(f.Value, "permissions") }) {
					t.Errorf("not known: %v", d.Unknown())
				}
				for _, f := range d.Facts() {
					if got := strings.Contains(f.Value, "not known: "+c.told); got != slices.Contains(c.facts, f.Name) {
						t.Errorf("%s: %q", f.Name, f.Value)
					}
				}
				if whole := examined(t, s.URL()); len(whole.Unknown()) != 0 {
					t.Errorf("a user of all rights: %v", whole.Unknown())
				}
			})
		})
	}
}

// What a managed service leaves out of an answer is not known, and is no zero.
func TestExamineOfFiguresThatAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, name := range infoRead {
		if err := lacks(infoRead, map[string]string{"other": ""}); err == nil || !final(err) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	facts := (&Examination{Patients: []*Patient{{Blind: map[string]string{}}}}).Facts()
	for _, f := range facts {
		if !strings.Contains(f.Value, "not known: ") && f.Name != "tls" && f.Name != "round trip" &&
			f.Name != "missing permissions" && f.Name != "clock" {
			t.Errorf("a figure of nothing: %s %s", f.Name, f.Value)
		}
	}
}

// A cluster of which the nodes may not be asked is not one without shards.
func TestExamineOfAClusterThatIsNotTold(t *testing.T) {
	t.Parallel()
	servertest.Brands(t, func(t *testing.T, b kt.Brand) {
		c := kt.StartCluster(t, b, 3, 0)
		c.Nodes[0].Do("ACL", "SETUSER", "u", "on", ">pw", "~*", "&*", "+@all", "-cluster|nodes")
		d := examined(t, "redis+cluster://u:pw@"+c.Nodes[0].Addr())
		if !strings.Contains(d.fact("topology"), "not known") || !strings.HasPrefix(d.fact("keys"), "at least ") ||
			!d.unknown("CLUSTER NODES") {
			t.Errorf("%v\n%v", d.Facts(), d.Unknown())
		}
		c.Nodes[2].Kill()
		d = examined(t, c.URL())
		if !strings.HasPrefix(d.fact("keys"), "at least ") || !d.unknown("the node "+c.Nodes[2].Addr()) {
			t.Errorf("a dead node: %v\n%v", d.Facts(), d.Unknown())
		}
	})
}

func (x *Examination) unknown(what string) bool {
	return slices.ContainsFunc(x.Unknown(), func(f Fact) bool { return f.Name == what })
}

// TestExamineNamesEachCommandThatIsMissing: each command that keywright sends is taken away from a
// user, and the diagnosis names it.
func TestExamineNamesEachCommandThatIsMissing(t *testing.T) {
	t.Parallel()
	servertest.Brands(t, func(t *testing.T, b kt.Brand) {
		single, cluster := kt.Start(t, b), kt.StartCluster(t, b, 3, 0)
		for _, c := range allowed.Commands() {
			s, url := single, "redis://"
			if c.Name == "readonly" || strings.HasPrefix(c.Name, "cluster|") {
				s, url = cluster.Nodes[0], "redis+cluster://"
			}
			s.Do("ACL", "SETUSER", "u", "reset", "on", ">pw", "~*", "&*", "+@all", "-"+c.Name)
			d := examined(t, url+"u:pw@"+s.Addr())
			name := strings.ToUpper(strings.ReplaceAll(c.Name, "|", " "))
			if !d.unknown(name) && !strings.Contains(d.fact("missing permissions"), name) {
				t.Errorf("without %s: %s, not known %v", name, d.fact("missing permissions"), d.Unknown())
			}
		}
		for _, one := range trialList {
			whole, word := strings.ToLower(strings.Join(one.args[:min(len(one.args), 2)], "|")), strings.ToLower(one.args[0])
			if !link.Allowed[whole] && !link.Allowed[word] && !link.OnlyTried[whole] && !link.OnlyTried[word] {
				t.Errorf("%s is tried, and no command of ours", one.name)
			}
		}
	})
}
