//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// byHand returns the verbs without a plan file: a server that was started again is another one to a
// plan.
func byHand() (out []moved) {
	for _, v := range movedVerbs {
		if v.last == nil && (!v.beyond || gate.All()) {
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
// verb was asked for, if the verb is run again where it had to give up.
func TestKilledServers(t *testing.T) {
	t.Parallel()
	for _, v := range gate.Pick(t, byHand()) {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, 100, keywrighttest.Config("appendonly", "yes"), keywrighttest.Config("appendfsync", "always"))
			requests := p.whole(t, &v)
			victim := p.from
			if v.other {
				victim = p.to
			}
			for range gate.Count(t, "KEYWRIGHT_KILLS", 1, 2) {
				p.reset(t, &v)
				cmd := runProgram(t, p.dir, p.words(v.line)...)
				said, _ := p.halt.harmed(t, cmd, moment(p.r, requests), false, func() {
					victim.Kill()
					victim.Restart()
				})
				code := cmd.ProcessState.ExitCode()
				if !slices.Contains([]int{0, 1, 3, 4, 5}, code) {
					t.Fatalf("exit code %d: %s", code, said)
				}
				// It had to give up, or left a key: Redis that replays its journal has lost how far a group of a stream has read.
				if code != 0 || strings.Contains(said, "run it again") {
					p.again(t, &v)
				}
				v.check(t, p)
				if t.Failed() {
					t.Logf("the killed run said: %s", said)
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
			p := newPlace(t, 50)
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
	t.Parallel()
	for _, v := range movedVerbs {
		if !gate.All() && !slices.Contains([]string{"restore", "delete that keeps", "rename of a plan"}, v.name) {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, 100)
			requests := p.whole(t, &v)
			for range min(gate.Count(t, "KEYWRIGHT_KILLS", 1, 2), 20) {
				p.reset(t, &v)
				cmd := runProgram(t, p.dir, p.words(v.line)...)
				p.halt.harmed(t, cmd, moment(p.r, requests), false, func() {
					must(t, cmd.Process.Signal(syscall.SIGSTOP))
					p.releaseLeases() // its TTL has ended
					other := p.words(strings.Replace(v.line, "gone.kwa", "gone-other.kwa", 1))
					text, err := runProgram(t, p.dir, other...).CombinedOutput()
					_ = cmd.Process.Signal(syscall.SIGCONT)
					if err != nil && !bytes.Contains(text, []byte("was executed to its end")) {
						t.Logf("the second run: %v: %s", err, text)
					}
				})
				p.again(t, &v)
				v.check(t, p)
			}
		})
	}
}

// A reply that is lost with its connection while keys are changed costs nothing: all is done once.
func TestVerbsOverConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	for _, v := range byHand() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, 100)
			requests, some := p.whole(t, &v), false
			rounds := min(gate.Count(t, "KEYWRIGHT_KILLS", 1, 8), 50)
			for n := 0; n < rounds || !some && n < rounds+10; n++ {
				p.reset(t, &v)
				cmd := runProgram(t, p.dir, p.words(v.line)...)
				said, broken := p.halt.harmed(t, cmd, moment(p.r, requests), true, func() {})
				if !cmd.ProcessState.Success() {
					t.Logf("it gave up: %s", said)
				}
				if some = some || broken; !broken { // it sends fewer requests than the whole run did
					requests = max(1, requests*3/4)
				}
				p.again(t, &v)
				v.check(t, p)
			}
			if !some {
				t.Error("no connection was broken")
			}
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
	p := newPlace(t, 300)
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
		// More than the commands in flight take, which count too: two strings of 400 KB for each database.
		p.to.Do("CONFIG", "SET", "maxmemory", fmt.Sprint(used+3_000_000))
		said := ran(t, 5, p.dir, p.words(line)...)
		now := keysOf(t, p.to.URL())
		for key, value := range now {
			if _, name, _ := strings.Cut(key, " "); !strings.HasPrefix(name, "keywright:") && p.before[key] != value {
				t.Errorf("%s: %s is %.80s", line, key, value)
			}
		}
		if len(now) == 0 || len(now) >= len(p.before) {
			t.Errorf("%s: %d of %d keys: %s", line, len(now), len(p.before), said)
		}
		t.Logf("%s: %d of %d keys", line, len(now), len(p.before))
		p.to.Do("CONFIG", "SET", "maxmemory", "0")
		p.again(t, &moved{line: line})
		allMoved(t, p)
	}
}
