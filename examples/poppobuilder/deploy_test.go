package poppobuilder_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// TestDeployedUsers: the ACL file has the default user off and, for each namespace, what
// is printed for it; a server takes it, and no user reaches into another namespace.
func TestDeployedUsers(t *testing.T) {
	text, err := os.ReadFile("deploy/users.acl")
	must(t, err)
	want := "user default off\n"
	for _, ns := range []string{"poppo", "poppo-test"} {
		for _, args := range toolUsers(ns) {
			want += keywrightAt(t, "", append([]string{"acl", "print", "--quiet", "--namespace", ns}, args...)...)
		}
	}
	if os.Getenv("KEYWRIGHT_UPDATE") != "" {
		must(t, os.WriteFile("deploy/users.acl", []byte(want), 0o644))
	} else if string(text) != want {
		t.Error("deploy/users.acl is not what `keywright acl print` prints now: KEYWRIGHT_UPDATE=1 writes it")
	}
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

// TestDeployedConfiguration: a server starts with redis.conf and takes the users.
func TestDeployedConfiguration(t *testing.T) {
	text, err := os.ReadFile("deploy/redis.conf")
	must(t, err)
	users, err := filepath.Abs("deploy/users.acl")
	must(t, err)
	var options []keywrighttest.Option
	for line := range strings.Lines(string(text)) {
		switch words := strings.Fields(line); {
		case len(words) == 0 || words[0] == "#" || words[0] == "port" || words[0] == "bind" || words[0] == "aclfile":
		default:
			options = append(options, keywrighttest.Config(words...))
		}
	}
	for _, brand := range keywrighttest.Brands() {
		s := keywrighttest.Start(t, brand, options...)
		if s.Info("maxmemory_policy") != "noeviction" || s.Info("aof_enabled") != "1" {
			t.Errorf("%s: the queue would lose tasks", brand)
		}
		for line := range strings.Lines(string(must1(os.ReadFile(users)))) {
			if words := strings.Fields(line)[1:]; words[0] != "default" { // the test itself
				s.Do(append([]string{"ACL", "SETUSER"}, words...)...)
			}
		}
	}
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
	dir, err := programs()
	must(t, err)
	usage, _ := exec.Command(filepath.Join(dir, "poppobuilderd"), "-help").CombinedOutput()
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
