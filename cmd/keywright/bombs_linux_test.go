//go:build linux && !race

// The race detector multiplies memory: .ci/run runs this without it.

package main

import (
	"bytes"
	"fmt"
	"github.com/keywright/keywright/internal/gate"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// replyBombs are replies of which a program could make much.
var replyBombs = []struct {
	name, head, more string
	mib              int
}{
	{"levels", "", "*1\r\n", 64},
	{"levels of maps", "", "%1\r\n+k\r\n", 64},
	{"a string of 2^40 bytes", "$1099511627776\r\n", "x", 1024},
	{"a list of 2^40 elements", "*1099511627776\r\n", ":1\r\n", 1024},
	{"a map of 2^40 elements", "%1099511627776\r\n", ":1\r\n", 1024},
	{"a line without end", "+", "x", 1024},
	{"an error without end", "-ERR ", "x", 1024},
	{"millions of elements", "*4000000\r\n", ":1\r\n", 17},
	{"millions of lists", "*4000\r\n", "*1000\r\n" + strings.Repeat(":1\r\n", 1000), 512},
	{"millions of lists of one", "*2000000\r\n", "*1\r\n:1\r\n", 64},
	{"millions of strings", "*4000000\r\n", "$1\r\nx\r\n", 29},
	{"attributes", "", "|1\r\n+a\r\n+b\r\n", 512},
}

// TestNoReplyInTheMiddleOfACommandTakesMoreMemoryThanTheCeiling: a server answers as it
// should, and then one request of a command by a bomb, and each after it. The command
// ends by itself, says which server it was, and has at no moment more memory than the
// ceiling. The last line of a command meets one bomb; with KEYWRIGHT_BOMBS=all each line meets all, at
// its first request, in the middle and at the last one.
func TestNoReplyInTheMiddleOfACommandTakesMoreMemoryThanTheCeiling(t *testing.T) {
	gate.Skip(t, "bombs of hundreds of MB")
	t.Parallel()
	all, next := os.Getenv("KEYWRIGHT_BOMBS") == "all", 0
	for _, name := range slices.Sorted(maps.Keys(interruptions)) { // so that each meets the same bomb each time
		i := interruptions[name]
		if len(i.server) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := newInterrupter(t, i)
			lines := i.server
			if !all {
				lines = lines[len(lines)-1:]
			}
			for n, line := range lines {
				for part := range 3 {
					if !all && part != 1 {
						continue
					}
					bombs := replyBombs
					if !all {
						bombs = bombs[(next+n)%len(bombs):][:1]
					}
					for _, b := range bombs {
						r.atRequest(line, part, func(waits string, halted <-chan struct{}) bool {
							return r.bombed(line, b.name+" for "+waits, func(w io.Writer) {
								if _, err := io.WriteString(w, b.head); err == nil {
									unending(b.more, b.mib)(w)
								}
							}, halted)
						})
					}
				}
			}
		})
		next++
	}
}

// durations say what a command may say of how long it took: no two runs take equally long.
var durations = regexp.MustCompile(`\b[0-9]+(\.[0-9]+)?(ns|µs|ms|s|m|h|d|w)([0-9]+(ms|s|m|h|d))?\b`)

func timeless(said string) string { return durations.ReplaceAllString(said, "some time") }

// bombed runs a program in a cage.
func (r *interrupter) bombed(line, waits string, bomb func(io.Writer), halted <-chan struct{}) bool {
	r.halt.mu.Lock()
	r.halt.bomb = bomb
	r.halt.mu.Unlock()
	peakFile := filepath.Join(r.TempDir(), "peak")
	program, err := exec.LookPath("keywright")
	if err != nil {
		r.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, cage<<10), "measured", program)
	cmd.Args = append(cmd.Args, strings.Fields(r.replace.Replace(line))...)
	cmd.Dir, cmd.Env = r.dir,
		append(bare(os.Environ()), "LC_ALL=C", "TMPDIR="+filepath.Join(r.dir, "tmp"), "PEAK="+peakFile)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said bytes.Buffer
	both := &bounded{&said} // one writer: two would be written at once
	cmd.Stdout, cmd.Stderr = both, both
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	began := time.Now()
	late := time.AfterFunc(2*time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	_ = cmd.Wait() // the exit code is looked at
	late.Stop()
	kib, err := os.ReadFile(peakFile)
	if err != nil {
		r.Fatalf("%s, %s: %v, %v: %s", line, waits, err, cmd.ProcessState, said.String())
	}
	select {
	case <-halted:
	default:
		return false // it ended before that
	}
	used, _ := strconv.Atoi(string(kib))
	used >>= 10
	code := cmd.ProcessState.ExitCode()
	r.Logf("%s, %s: %d MiB, exit code %d, %v: %s", line, waits, used, code, time.Since(began).Round(time.Millisecond),
		said.String())
	if used > peak {
		r.Errorf("%s, %s: %d MiB", line, waits, used)
	}
	if code == r.complete || code == 0 && timeless(said.String()) == timeless(r.whole) {
		return true // it had said all, or did without the answer
	}
	_, server, _ := strings.Cut(r.replace.Replace("URL"), "//")
	_, other, _ := strings.Cut(r.replace.Replace("OTHER"), "//")
	if code <= 0 || code > 5 || !strings.Contains(said.String(), server) && !strings.Contains(said.String(), other) {
		r.Errorf("%s, %s: %v, %s", line, waits, cmd.ProcessState, said.String())
	}
	return true
}
