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
	poppo "github.com/keywright/keywright/examples/poppobuilder"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestDeployedUsers: the ACL file has the default user off and, for each namespace, what
// is printed for it; a server takes it, and no user reaches into another namespace.
func TestDeployedUsers(t *testing.T) {
	sitetest.DeployedUsers(t, printed(t, "poppo", "poppo-test"), os.Getenv("KEYWRIGHT_UPDATE") != "")
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := protected(t, brand, "poppo", "poppo-test")
		for user, key := range map[string]string{
			"poppo": "poppo-test:issue:status:1", "agent": "poppo-test:task:runs", "poppo-test.poppo": "poppo:issue:status:1",
			"poppo-test.agent": "poppo:task:runs",
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
// and the passwords; a task is there after it was restarted.
func TestDeployedConfiguration(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := sitetest.Protected(t, brand, sitetest.Deployed(t), sitetest.Configuration(t)...)
		if s.Info("maxmemory_policy") != "noeviction" || s.Info("aof_enabled") != "1" {
			t.Error("the queue would lose tasks")
		}
		_, err := open(t, s, "poppo").d.Submit(t.Context(), poppo.Task{Issue: 123, Prompt: "please"})
		must(t, err)
		sitetest.Survives(t, s)
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
	gate.Skip(t, "npm makes the agents; runs programs")
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

// TestSecrets: no flag of a daemon or an agent has a password, and none is in what they say.
func TestSecrets(t *testing.T) {
	gate.Skip(t, "npm makes the agents; runs programs")
	const secret = "a-secret"
	with := "redis://u:" + secret + "@127.0.0.1:1"
	for name, args := range map[string][]string{
		"POPPO_REDIS":         {"-redis", with},
		"POPPO_MIRIN_REDIS":   {"-mirin-redis", "redis+sentinel://127.0.0.1:1/m?sentinel_password=" + secret},
		"POPPO_BACKUP_REDIS":  {"-backup-redis", with},
		"POPPO_CLEANUP_REDIS": {"-cleanup-redis", "redis://u:" + secret + "%zz@127.0.0.1:1"},
	} {
		p := sitetest.Start(t, nil, sitetest.Program(t, "poppobuilderd"), args...)
		if err := p.Wait(); err == nil || !strings.Contains(p.Said.String(), name) ||
			strings.Contains(p.Said.String(), secret) {
			t.Errorf("%s: %v, %s", name, err, p.Said)
		}
	}
	for _, args := range [][]string{{"-help"}, {"-concurrency", "x"}, {"-namespace", "*"}} {
		p := sitetest.Start(t, []string{"POPPO_REDIS=" + with}, sitetest.Program(t, "poppobuilderd"), args...)
		if err := p.Wait(); err == nil || strings.Contains(p.Said.String(), secret) {
			t.Errorf("%v: %v, %s", args, err, p.Said)
		}
	}
	must(t, worker())
	for _, url := range []string{with, "redis://127.0.0.1:1/0?password=" + secret} {
		p := sitetest.Start(t, nil, "node", "worker/build/worker.js", "--redis", url, "--", "true")
		if err := p.Wait(); err == nil || !strings.Contains(p.Said.String(), "POPPO_REDIS") ||
			strings.Contains(p.Said.String(), secret) {
			t.Errorf("%s: %v, %s", url, err, p.Said)
		}
	}
}
