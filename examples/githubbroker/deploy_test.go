package githubbroker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/keywrighttest"
)

// TestDeployedUsers: the ACL file has the default user off, and for each program what is
// printed for it.
func TestDeployedUsers(t *testing.T) {
	sitetest.DeployedUsers(t, sitetest.Printed(t), os.Getenv("KEYWRIGHT_UPDATE") != "")
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
			{"sync_issues", "SET", "issue:1", true}, {"task_service", "SET", "issue:1", false},
			{"task_service", "GET", "issue:1", true},
			{"sync_issues", "SADD", "issues:fixes", true}, {"task_service", "SADD", "issues:fixes", false},
			{"task_service", "SMEMBERS", "issues:fixes", true},
			{"sync_issues", "SET", "task:fix:1", true}, {"task_service", "DEL", "task:fix:1", false},
			{"sync_issues", "DEL", "review_issue_detected_timestamp:1", true},
			{"task_service", "DEL", "review_issue_detected_timestamp:1", false},
			{"task_service", "SET", "issue_lock_1", true}, {"sync_issues", "DEL", "issue_lock_1", false},
			{"task_service", "SET", "agent_current_task:agent-7", true},
			{"sync_issues", "GET", "agent_current_task:agent-7", false},
			// A read of task_done renews its TTL, so its reader has the right to write it.
			{"task_service", "SET", "task_done:1", true}, {"sync_issues", "GETEX", "task_done:1", true},
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

// TestDeployed: a server starts with redis.conf and users.acl as they are, but for where it
// is and the passwords; the programs run as the units say, and work is done.
func TestDeployed(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := sitetest.Protected(t, brand, sitetest.Deployed(t), sitetest.Configuration(t)...)
		if s.Info("maxmemory_policy") != "noeviction" || s.Info("aof_enabled") != "1" {
			t.Error("the server would lose locks")
		}
		h, github := repository(t)
		h.Open("an issue")

		// The addresses are those of the test; all else is as it is written.
		at, done := keywrighttest.Address(t), filepath.Join(t.TempDir(), "done")
		secrets := map[string][]string{
			"/etc/broker/poll.env": {"BROKER_REDIS=" + sitetest.URL(s, "sync_issues"), "GITHUB_TOKEN=" + token,
				"BROKER_GITHUB=" + github},
			"/etc/broker/serve.env": {"BROKER_REDIS=" + sitetest.URL(s, "task_service")},
		}
		moved := strings.NewReplacer("owner/name", repo, "127.0.0.1:8090", at)
		agent := sitetest.ReadUnit(t, "brokerd-agent@.service", "agent-7")
		command := slices.Index(agent.Run, "--")
		if command < 0 || strings.Join(agent.Run[command+1:], " ") != "claude -p" {
			t.Fatalf("the agent runs %v", agent.Run)
		}
		// The agent's program is one of the test.
		agent.Run = append(agent.Run[:command+1], "sh", "-c", `cat >"`+done+`.new" && mv "`+done+`.new" "`+done+`"`)
		var running []*sitetest.Process
		for _, u := range []sitetest.Unit{sitetest.ReadUnit(t, "brokerd-poll.service", ""),
			sitetest.ReadUnit(t, "brokerd-serve.service", ""), agent} {
			running = append(running, u.Start(t, secrets, moved))
		}
		await(t, "the issue is done", func() bool {
			text, err := os.ReadFile(done)
			return err == nil && strings.Contains(string(text), `"agent":"agent-7"`) &&
				fmt.Sprint(s.Do("EXISTS", "task_done:1")) == "1"
		})
		for _, p := range running {
			if err := p.Stop(); err != nil {
				t.Errorf("%v", err)
			}
		}
		sitetest.Refusals(t, s)
		sitetest.Survives(t, s)
	})
}
