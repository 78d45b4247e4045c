package poppobuilder_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/keywrighttest"
)

// TestDeployedUsers: the ACL file has the default user off and, for each namespace, what
// is printed for it; a server takes it, and no user reaches into another namespace.
func TestDeployedUsers(t *testing.T) {
	sitetest.DeployedUsers(t, printed(t, "poppo", "poppo-test"), os.Getenv("KEYWRIGHT_UPDATE") != "")
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := protected(t, brand, "poppo", "poppo-test")
		for user, key := range map[string]string{
			"poppo": "poppo-test:issue:status:1", "agent": "poppo-test:task:runs", "poppo-test.poppo": "poppo:issue:status:1", "poppo-test.agent": "poppo:task:runs",
		} {
			own := strings.Replace(key, "poppo-test:", "poppo:", 1)
			if own == key {
				own = strings.Replace(key, "poppo:", "poppo-test:", 1)
			}
			if said := s.Do("ACL", "DRYRUN", user, "EXISTS", own); said != "OK" {
				t.Errorf("%s cannot read %s: %v", user, own, said)
			}
			for _, command := range []string{"EXISTS", "DEL"} {
				if said := s.Do("ACL", "DRYRUN", user, command, key); said == "OK" {
					t.Errorf("%s may %s %s", user, command, key)
				}
			}
			ns, _, _ := strings.Cut(key, ":")
			if said := s.Do("ACL", "DRYRUN", user, "PUBLISH", ns+":channel:events:task-done", "x"); said == "OK" {
				t.Errorf("%s may publish in %s", user, ns)
			}
		}
	})
}

// TestDeployedConfiguration: a server starts with redis.conf and users.acl, but for where it is
// and the passwords.
func TestDeployedConfiguration(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := sitetest.Protected(t, brand, sitetest.Deployed(t), sitetest.Configuration(t)...)
		if s.Info("maxmemory_policy") != "noeviction" || s.Info("aof_enabled") != "1" {
			t.Error("the queue would lose tasks")
		}
	})
}

// must1 gives what cannot fail here.
func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestDeployedUnits: each variable of the units is a flag of the daemon or known to the
// agent.
func TestDeployedUnits(t *testing.T) {
	usage, _ := exec.Command(sitetest.Program(t, "poppobuilderd"), "-help").CombinedOutput()
	flags := regexp.MustCompile(`(?m)^  -([a-z-]+)`).FindAllStringSubmatch(string(usage), -1)
	var known []string
	for _, f := range flags {
		known = append(known, "POPPO_"+strings.ToUpper(strings.ReplaceAll(f[1], "-", "_")))
	}
	units, err := filepath.Glob("deploy/*.service")
	must(t, err)
	found := 0
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		must(t, err)
		for _, name := range regexp.MustCompile(`POPPO_[A-Z_]+`).FindAllString(string(text), -1) {
			found++
			if !slices.Contains(known, name) {
				t.Errorf("%s: %s is no flag of the daemon", unit, name)
			}
		}
	}
	if found < 6 {
		t.Errorf("%d variables in %d units", found, len(units))
	}
}
