//go:build unix

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// byHand returns the verbs without a plan file: a server that was started again is another one to a
// plan.
func byHand() (out []moved) {
	for _, v := range movedVerbs {
		if v.last == nil {
			out = append(out, v)
		}
	}
	return append(out,
		moved{name: "delete that keeps", set: planned("ttl -u FROM --plan a.plan"),
			line: "delete -u FROM --entry user,page,b1,b2,b3,b4,b5,b6,note --apply --keep gone.kwa",
			check: func(t *testing.T, p *place) {
				allDeleted(t, p)
				broughtBack(t, p)
			}},
		moved{name: "ttl", line: "ttl -u FROM --entry user --apply", check: haveTTL})
}

// A server that is killed while a verb works on it, and started again, has in the end what the
// verb was told, if the verb is run again where it had to give up.
func TestKilledServers(t *testing.T) {
	gate.Skip(t, "kills by the clock")
	t.Parallel()
	kills := min(killsOr(1), 50)
	for _, v := range byHand() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, 300, keywrighttest.Config("appendonly", "yes"), keywrighttest.Config("appendfsync", "always"))
			p.reset(t, &v)
			began := time.Now()
			p.again(t, &v)
			whole := time.Since(began)
			v.check(t, p)
			victim := p.from
			if v.other {
				victim = p.to
			}
			for range kills {
				p.reset(t, &v)
				cmd := runProgram(t, p.dir, p.words(v.line)...)
				var said bytes.Buffer
				cmd.Stdout, cmd.Stderr = &said, &said
				must(t, cmd.Start())
				killed := make(chan struct{})
				time.AfterFunc(rand.N(whole), func() { victim.Kill(); close(killed) })
				<-killed
				victim.Restart()
				_ = cmd.Wait() // the code is looked at
				code := cmd.ProcessState.ExitCode()
				if !slices.Contains([]int{0, 1, 3, 4, 5}, code) {
					t.Fatalf("exit code %d: %s", code, said.String())
				}
				if code != 0 { // it had to give up
					p.again(t, &v)
				}
				v.check(t, p)
				if t.Failed() {
					t.Logf("the killed run said: %s", said.String())
					return
				}
			}
		})
	}
}

// A verb that is run a second time changes nothing.
func TestVerbsTwice(t *testing.T) {
	t.Parallel()
	for _, v := range byHand() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, 200)
			p.reset(t, &v)
			p.again(t, &v)
			from, to := keysOf(t, p.from.URL()), keysOf(t, p.to.URL())
			p.again(t, &v)
			sameKeys(t, from, keysOf(t, p.from.URL()))
			sameKeys(t, to, keysOf(t, p.to.URL()))
		})
	}
}

// A process that was stopped for so long that another one took its place does no harm when it
// goes on.
func TestStoppedVerbs(t *testing.T) {
	gate.Skip(t, "stops by the clock")
	t.Parallel()
	half := rand.IntN(2)
	for i, v := range movedVerbs {
		if i%2 == half && killsOr(0) == 0 {
			continue // all with KEYWRIGHT_KILLS, else now these, now the others
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, 300)
			p.reset(t, &v)
			began := time.Now()
			p.again(t, &v)
			whole := time.Since(began)
			v.check(t, p)
			for range 1 + min(killsOr(0), 20) {
				p.reset(t, &v)
				cmd := runProgram(t, p.dir, p.words(v.line)...)
				must(t, cmd.Start())
				stopped := make(chan error, 1)
				time.AfterFunc(rand.N(whole), func() { stopped <- cmd.Process.Signal(syscall.SIGSTOP) })
				<-stopped
				for _, s := range []*keywrighttest.Server{p.from, p.to} { // its TTL has ended
					s.Do("DEL", apply.ActingKey)
				}
				other := p.words(strings.Replace(v.line, "gone.kwa", "gone-other.kwa", 1))
				text, err := runProgram(t, p.dir, other...).CombinedOutput()
				_ = cmd.Process.Signal(syscall.SIGCONT)
				_ = cmd.Wait() // the keys are looked at
				if err != nil && !bytes.Contains(text, []byte("was executed to its end")) {
					t.Logf("the second run: %v: %s", err, text)
				}
				p.again(t, &v)
				v.check(t, p)
			}
		})
	}
}

// Connections that break while keys are changed cost nothing: all is done once.
func TestVerbsOverConnectionsThatBreak(t *testing.T) {
	gate.Skip(t, "cuts by the clock")
	t.Parallel()
	for _, v := range byHand() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, 300)
			p.reset(t, &v)
			proxy := keywrighttest.NewProxy(t, map[bool]*keywrighttest.Server{true: p.to, false: p.from}[v.other].Addr(),
				keywrighttest.Rules{Delay: time.Millisecond})
			line := strings.Replace(v.line, map[bool]string{true: "TO", false: "FROM"}[v.other], "redis://"+proxy.Addr(), 1)
			cmd := runProgram(t, p.dir, p.words(line)...)
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			must(t, cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			var err error
			cut := time.NewTicker(30 * time.Millisecond)
			defer cut.Stop()
			for cuts, done := 0, false; !done; {
				select {
				case err = <-ended:
					done = true
				case <-cut.C:
					if cuts++; cuts < 8 {
						proxy.Cut()
					}
				}
			}
			if err != nil {
				t.Logf("it gave up: %s", said.String())
			}
			p.again(t, &v)
			v.check(t, p)
		})
	}
}

// limited runs keywright with files of at most so many blocks of 1 KiB.
func limited(t *testing.T, dir string, blocks int, args ...string) (text string, code int) {
	t.Helper()
	keywright, err := exec.LookPath("keywright")
	must(t, err)
	cmd := exec.Command("bash",
		append([]string{"-c", fmt.Sprintf(`ulimit -f %d; trap '' XFSZ; exec "$0" "$@"`, blocks), keywright}, args...)...)
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput() // the code is looked at
	return string(out), cmd.ProcessState.ExitCode()
}

// Where the disk is full nothing is deleted that was not kept, and nothing is changed that is
// not in the journal.
func TestVerbsOnAFullDisk(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 1000)
	keeps := moved{name: "delete that keeps"}
	p.reset(t, &keeps)
	line := p.words("delete -u FROM --entry user,page --apply --keep gone.kwa")
	text, code := limited(t, p.dir, 8, line...)
	if code != 5 || !strings.Contains(text, "file too large") {
		t.Errorf("%d: %s", code, text)
	}
	if n := len(only(keysOf(t, p.from.URL()), "user:", "page:")); n == 0 || n == 4*p.n {
		t.Errorf("%d keys are left", n)
	}
	ran(t, 2, p.dir, line...) // what was kept gets its name
	line[len(line)-1] = "gone1.kwa"
	ran(t, 0, p.dir, line...)
	if n := len(only(keysOf(t, p.from.URL()), "user:", "page:")); n > 0 {
		t.Errorf("%d keys are left", n)
	}
	for _, file := range keptFiles(t, p) {
		ran(t, 0, p.dir, "restore", file, "-u", p.from.URL(), "--existing", "skip", "--apply")
	}
	sameKeys(t, only(p.before, "user:", "page:"), only(keysOf(t, p.from.URL()), "user:", "page:"))

	text, code = limited(t, p.dir, 8, p.words("backup -u FROM --since a.kwa --to b.kwa")...)
	if code != 5 || !strings.Contains(text, "b.kwa could not be written to its end") {
		t.Errorf("%d: %s", code, text)
	}
	for _, v := range []struct{ plan, apply string }{
		{"restore a.kwa -u TO --plan a.plan", "apply a.plan -u TO"},
		{"delete -u FROM --entry user,page --plan a.plan", "apply a.plan -u FROM"},
		{"rename -u FROM --map user:{id}=usr:{id} --plan a.plan", "apply a.plan -u FROM"},
	} {
		planned(v.plan)(t, p)
		journal := filepath.Join(p.dir, "a.plan.journal")
		must(t, os.WriteFile(journal, nil, 0o600))
		from, to := keysOf(t, p.from.URL()), keysOf(t, p.to.URL())
		if text, code = limited(t, p.dir, 0, p.words(v.apply)...); code == 0 || code == 130 {
			t.Errorf("%s: %d: %s", v.apply, code, text)
		}
		sameKeys(t, from, keysOf(t, p.from.URL()))
		sameKeys(t, to, keysOf(t, p.to.URL()))
		p.again(t, &moved{line: v.apply})
	}
}

// A target whose memory is full takes what it can; with more memory the next run writes the
// others.
func TestVerbsIntoFullMemory(t *testing.T) {
	gate.Skip(t, "slow")
	t.Parallel()
	for _, line := range []string{"restore a.kwa -u TO --apply", "copy FROM TO --apply"} {
		p := newPlace(t, 2000)
		p.reset(t, &moved{})
		var used int
		_, err := fmt.Sscan(p.to.Info("used_memory"), &used)
		must(t, err)
		p.to.Do("CONFIG", "SET", "maxmemory", fmt.Sprint(used+1_500_000))
		ran(t, 5, p.dir, p.words(line)...)
		now := keysOf(t, p.to.URL())
		for key, value := range now {
			if _, name, _ := strings.Cut(key, " "); !strings.HasPrefix(name, "keywright:") && p.before[key] != value {
				t.Errorf("%s: %s is %.80s", line, key, value)
			}
		}
		if len(now) == 0 || len(now) >= len(p.before) {
			t.Errorf("%s: %d of %d keys", line, len(now), len(p.before))
		}
		p.to.Do("CONFIG", "SET", "maxmemory", "0")
		p.again(t, &moved{line: line})
		allMoved(t, p)
	}
}
