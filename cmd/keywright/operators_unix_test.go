//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

const operatorsKeyspace = `keywright: 1
keys:
  user: {key: "user:{id}", type: string, ttl: 1h}
`

// Two operators at once: while a plan is executed, no other one of the same server is, whatever its
// verb, and the same plan is not executed twice. The second operator learns which process is at
// work, and has changed nothing; when the first has ended, the second goes on, and nothing is lost.
func TestTwoOperators(t *testing.T) {
	t.Parallel()
	const n = 2000
	const ones = 1111 // of them begin with 1
	for _, c := range gate.Pick(t, []struct {
		first, second string
		left          int    // keys
		good          string // a script that counts those that are as they should be
	}{
		{"rename --map user:{id}=usr:{id}", "delete --match user:1*", n, `return #redis.call('KEYS', 'usr:*')`},
		{"delete --match user:1*", "ttl", n - ones, withTTL},
		{"ttl", "delete --match user:1*", n - ones, withTTL},
	}) {
		t.Run(c.first+" and "+c.second, func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, keywrighttest.Valkey)
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "keyspace.yaml"), []byte(operatorsKeyspace), 0o600))
			s.Do("EVAL", `for i = 1, tonumber(ARGV[1]) do redis.call('SET', 'user:'..i, i) end`, "0", fmt.Sprint(n))
			of := []string{"-u", s.URL(), "--progress", "none"}
			with := func(line string) []string { return append(strings.Fields(line), of...) }
			ran(t, 0, dir, with(c.first+" --plan a.plan")...)
			ran(t, 0, dir, with(c.second+" --plan b.plan")...)
			ran(t, 0, dir, with("backup --to all.kwa")...)

			slow := runProgram(t, dir, with("apply a.plan --rate 20")...) // it lasts for over a minute
			var said strings.Builder
			slow.Stdout, slow.Stderr = &said, &said
			must(t, slow.Start())
			ended := make(chan error, 1)
			go func() { ended <- slow.Wait() }()
			t.Cleanup(func() { _ = slow.Process.Kill() })
			working(t, s, dir, ended)

			for _, again := range []struct{ line, why string }{
				{"apply b.plan --drift 100", "another process changes keys on this server"},
				{c.second + " --apply", "another process changes keys on this server"},
				{"apply a.plan", "a.plan is being executed by another process"},
				{c.first + " --apply", "another process changes keys on this server"},
				{"restore all.kwa --existing replace --apply", "another process changes keys on this server"},
			} {
				text := ran(t, 4, dir, with(again.line)...)
				if !strings.Contains(text, again.why) || !strings.Contains(text, "hint: ") {
					t.Errorf("%s: %s", again.line, text)
				}
				if strings.Contains(again.why, "this server") && !strings.Contains(text, fmt.Sprint(slow.Process.Pid)) {
					t.Errorf("%s: it does not say which process that is: %s", again.line, text)
				}
			}
			select {
			case <-ended:
				t.Fatalf("the first one has ended, and was to be at work: %s", said.String())
			default:
			}
			must(t, slow.Process.Signal(syscall.SIGINT))
			<-ended
			if slow.ProcessState.ExitCode() != 130 || !strings.Contains(said.String(), "INCOMPLETE: interrupted\n") {
				t.Errorf("%v: %s", slow.ProcessState, said.String())
			}

			ran(t, 0, dir, with("apply a.plan")...)
			ran(t, 2, dir, with("apply a.plan")...)
			ran(t, 0, dir, with(c.second+" --apply")...)
			counted(t, s, c.good, c.left)
			counted(t, s, `return #redis.call('KEYS', '*')`, c.left)
		})
	}
}

// withTTL counts the keys that have a TTL.
const withTTL = `local n = 0
for _, key in ipairs(redis.call('KEYS', 'user:*')) do if redis.call('TTL', key) > 0 then n = n + 1 end end
return n`

// working waits until a.plan is being executed: its process has the right to change keys.
func working(t *testing.T, s *keywrighttest.Server, dir string, ended chan error) {
	t.Helper()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for limit := time.After(expect.Patience); ; {
		select {
		case err := <-ended:
			t.Fatalf("it has ended: %v", err)
		case <-limit:
			t.Fatal("no batch is in the journal")
		case <-look.C:
			if lines, _ := planEnded(t, dir); lines >= 2 && s.Do("EXISTS", "keywright:acting") == int64(1) {
				return
			}
		}
	}
}

func counted(t *testing.T, s *keywrighttest.Server, script string, want int) {
	t.Helper()
	if got := s.Do("EVAL", script, "0"); got != int64(want) {
		t.Errorf("%v keys in place of %d by %s", got, want, script)
	}
}
