package githubbroker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// TestDeployedUsers: the ACL file has the default user off, and for each program what is
// printed for it.
func TestDeployedUsers(t *testing.T) {
	want := "user default off\n" + keywrightSays(t, "", "acl", "print", "--quiet")
	if os.Getenv("KEYWRIGHT_UPDATE") != "" {
		must(t, os.WriteFile("deploy/users.acl", []byte(want), 0o644))
		return
	}
	text, err := os.ReadFile("deploy/users.acl")
	must(t, err)
	if string(text) != want {
		t.Error("deploy/users.acl is not what `keywright acl print` prints now: KEYWRIGHT_UPDATE=1 writes it")
	}
}

// TestEachToItsOwn: what comes from GitHub is written by the poller only, what agents do by
// the broker only, and neither touches other keys of the server.
func TestEachToItsOwn(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := protected(t, brand)
		for _, c := range []struct {
			user, command, key string
			may                bool
		}{
			{"sync_issues", "SET", "issue:1", true}, {"task_service", "SET", "issue:1", false}, {"task_service", "GET", "issue:1", true},
			{"sync_issues", "SADD", "issues:fixes", true}, {"task_service", "SADD", "issues:fixes", false}, {"task_service", "SMEMBERS", "issues:fixes", true},
			{"sync_issues", "SET", "task:fix:1", true}, {"task_service", "DEL", "task:fix:1", false},
			{"sync_issues", "DEL", "review_issue_detected_timestamp:1", true}, {"task_service", "DEL", "review_issue_detected_timestamp:1", false},
			{"task_service", "SET", "issue_lock_1", true}, {"sync_issues", "DEL", "issue_lock_1", false},
			{"task_service", "SET", "agent_current_task:agent-7", true}, {"sync_issues", "GET", "agent_current_task:agent-7", false},
			{"task_service", "SET", "task_done:1", true}, {"sync_issues", "SET", "task_done:1", false}, {"sync_issues", "GET", "task_done:1", true},
			{"sync_issues", "GET", "other", false}, {"task_service", "GET", "other", false},
		} {
			words := []string{"ACL", "DRYRUN", c.user, c.command, c.key}
			if c.command == "SET" || c.command == "SADD" {
				words = append(words, "x")
			}
			said := s.Do(words...)
			if (said == "OK") != c.may {
				t.Errorf("%s %s %s: %v", c.user, c.command, c.key, said)
			}
		}
	})
}

// unit is what a file of systemd says.
type unit struct {
	run  []string // ExecStart
	env  []string
	file string // EnvironmentFile
}

func readUnit(t *testing.T, name string) (u unit) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("deploy", name))
	must(t, err)
	for line := range strings.Lines(string(text)) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key {
		case "ExecStart":
			u.run = strings.Fields(value)
		case "Environment":
			u.env = append(u.env, value)
		case "EnvironmentFile":
			u.file = value
		}
	}
	if len(u.run) == 0 || u.run[0] != "/usr/local/bin/brokerd" {
		t.Fatalf("%s runs %v", name, u.run)
	}
	return u
}

// TestDeployed: a server starts with redis.conf and users.acl as they are, but for where it
// is and the passwords; the programs run as the units say, and work is done.
func TestDeployed(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		users, err := os.ReadFile("deploy/users.acl")
		must(t, err)
		with := "user test on >" + word + " ~* &* +@all\n"
		for line := range strings.Lines(string(users)) {
			if line = strings.TrimSpace(line); line != "user default off" {
				line += " >" + word
			}
			with += line + "\n"
		}
		file := filepath.Join(t.TempDir(), "users.acl")
		must(t, os.WriteFile(file, []byte(with), 0o600))
		s := keywrighttest.Start(t, brand, append(configuration(t), keywrighttest.Login("test", word), keywrighttest.Config("aclfile", file))...)
		if s.Info("maxmemory_policy") != "noeviction" || s.Info("aof_enabled") != "1" {
			t.Error("the server would lose locks")
		}
		h, github := repository(t)
		h.Open("an issue")

		// The addresses are those of the test; all else is as it is written.
		at, done := address(t), filepath.Join(t.TempDir(), "done")
		secrets := map[string][]string{
			"/etc/broker/poll.env":  {"BROKER_REDIS=" + urlOf(s, "sync_issues"), "GITHUB_TOKEN=" + token, "BROKER_GITHUB=" + github},
			"/etc/broker/serve.env": {"BROKER_REDIS=" + urlOf(s, "task_service")},
			"":                      nil,
		}
		moved := strings.NewReplacer("owner/name", repo, "127.0.0.1:8090", at, "%i", "agent-7")
		var running []*process
		for _, name := range []string{"brokerd-poll.service", "brokerd-serve.service", "brokerd-agent@.service"} {
			u := readUnit(t, name)
			if _, known := secrets[u.file]; !known {
				t.Fatalf("%s reads %s", name, u.file)
			}
			env := secrets[u.file]
			for _, e := range u.env {
				env = append(env, moved.Replace(e))
			}
			args := strings.Fields(moved.Replace(strings.Join(u.run[1:], " ")))
			if strings.HasSuffix(strings.Join(args, " "), "-- claude -p") { // the agent's program
				args = append(args[:len(args)-2], "sh", "-c", `cat >"`+done+`.new" && mv "`+done+`.new" "`+done+`"`)
			}
			running = append(running, start(t, env, program(t, "brokerd"), args...))
		}
		await(t, "the issue is done", func() bool {
			text, err := os.ReadFile(done)
			return err == nil && strings.Contains(string(text), `"agent":"agent-7"`) && fmt.Sprint(s.Do("EXISTS", "task_done:1")) == "1"
		})
		for _, p := range running {
			if err := p.stop(); err != nil {
				t.Errorf("%v", err)
			}
		}
		refusals(t, s)
	})
}

// configuration is redis.conf, but for where the server is and listens.
func configuration(t *testing.T) (options []keywrighttest.Option) {
	t.Helper()
	text, err := os.ReadFile("deploy/redis.conf")
	must(t, err)
	for line := range strings.Lines(string(text)) {
		switch words := strings.Fields(line); {
		case len(words) == 0 || words[0] == "#" || words[0] == "port" || words[0] == "bind" || words[0] == "dir" || words[0] == "aclfile":
		default:
			options = append(options, keywrighttest.Config(words...))
		}
	}
	return options
}
