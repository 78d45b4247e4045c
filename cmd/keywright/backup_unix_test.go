//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// runProgram makes a command that runs keywright in a folder.
func runProgram(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("keywright") // testscript.Main puts it into PATH
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	return cmd
}

// ran runs it to its end, and fails if it exits with another code.
func ran(t *testing.T, code int, dir string, args ...string) string {
	t.Helper()
	cmd := runProgram(t, dir, args...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	return string(text)
}

// fillKeys says how many keys filled makes: small ones, and ten values that are read in parts.
const fillKeys = 3000 + 10

// filled returns a server with many small keys, and some values that are read in parts.
func filled(t *testing.T, brand keywrighttest.Brand) *keywrighttest.Server {
	t.Helper()
	s := keywrighttest.Start(t, brand)
	s.Do("EVAL", `for i = 1, ARGV[1] - 10 do redis.call('SET', 'key:'..i, string.rep('v', i % 300), 'PXAT', 4102444800000 + i) end
		for i = 1, 5 do
			for j = 1, 2500 do
				redis.call('HSET', 'hash:'..i, 'field'..j, string.rep('x', 300)..j); redis.call('RPUSH', 'list:'..i, string.rep('x', 300)..j)
			end
		end`, "0", strconv.Itoa(fillKeys))
	return s
}

// someWritten waits until a backup has written a part of its archive.
func someWritten(t *testing.T, dir string) {
	t.Helper()
	expect.Eventually(t, "some of it is written", func() bool {
		info, err := os.Stat(filepath.Join(dir, "a.kwa.part"))
		return err == nil && info.Size() > 0
	})
}

// A backup that is killed, at any moment, and gone on with, has each key once and as it
// is. What a killed run leaves is not called whole, unless it had only its name still to get.
func TestKilledBackups(t *testing.T) {
	t.Parallel()
	s, dir, halt, r := filled(t, gate.Pick(t, keywrighttest.Brands())[0]), t.TempDir(), &halting{}, gate.Rand(t)
	url := "redis://" + halt.front(t, s.Addr())
	halt.set(-1)
	ran(t, 0, dir, "backup", "--to", "want.kwa", "-u", url)
	requests, midway := halt.asked(), 0
	kills := gate.Count(t, "KEYWRIGHT_KILLS", 2, 10)
	for range kills {
		cmd := runProgram(t, dir, "backup", "--to", "got.kwa", "--resume", "-u", url)
		halt.harmed(t, cmd, 1+r.IntN(requests-1), false, func() { _ = cmd.Process.Kill() })
		if _, there := os.Stat(filepath.Join(dir, "got.kwa")); there == nil { // it was quicker than we were
			if err := os.Remove(filepath.Join(dir, "got.kwa")); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if cmd.ProcessState.Success() {
			t.Fatal("it ended well, and there is no archive")
		}
		if info, err := os.Stat(filepath.Join(dir, "got.kwa.part")); err == nil && info.Size() > 1<<10 {
			midway++
			if runProgram(t, dir, "archive", "verify", "got.kwa.part").Run() == nil {
				ran(t, 0, dir, "archive", "diff", "want.kwa", "got.kwa.part")
			} else {
				ran(t, 5, dir, "archive", "verify", "got.kwa.part")
			}
		}
	}
	ran(t, 0, dir, "backup", "--to", "got.kwa", "--resume", "-u", url)
	ran(t, 0, dir, "archive", "verify", "got.kwa")
	if text := ran(t, 0, dir, "archive", "diff", "want.kwa", "got.kwa"); !strings.Contains(text, "The same: 3,010 keys") {
		t.Error(text)
	}
	if text := ran(t, 0, dir, "archive", "ls", "got.kwa", "-o", "names"); strings.Count(text, "\x00") != fillKeys {
		t.Errorf("%d keys, not each once", strings.Count(text, "\x00"))
	}
	t.Logf("%d of %d kills left a part", midway, kills)
}

// A backup that goes on says how many keys the run before had saved, and no more, and a restore of a part how many it
// has read, all of which are there.
func TestResumedBackupCounts(t *testing.T) {
	t.Parallel()
	s, dir := filled(t, keywrighttest.Valkey), t.TempDir()
	ran(t, 0, dir, "backup", "--to", "want.kwa", "-u", s.URL())
	text, err := os.ReadFile(filepath.Join(dir, "want.kwa"))
	must(t, err)
	good := regexp.MustCompile(`good so far: ([0-9,]+) keys`)
	midway := 0
	parts := gate.Count(t, "KEYWRIGHT_KILLS", 3, 10)
	for part := range parts {
		must(t, os.WriteFile(filepath.Join(dir, "got.kwa.part"), text[:len(text)*(part+1)/(parts+1)], 0o600))
		keys := good.FindStringSubmatch(ran(t, 5, dir, "archive", "info", "got.kwa.part"))
		restored := ran(t, 5, dir, "restore", "got.kwa.part", "-u", s.URL(), "--apply")
		if keys != nil && !strings.Contains(restored, "INCOMPLETE: 0 of "+keys[1]+" keys that were read were restored: ") {
			t.Errorf("the part has %s keys: %s", keys[1], restored)
		}
		said := ran(t, 0, dir, "backup", "--to", "got.kwa", "--resume", "--replace-file", "-u", s.URL())
		switch {
		case keys == nil:
			t.Fatal("it is not said how many keys are good")
		case keys[1] == "0" && strings.Contains(said, "by the run before"),
			keys[1] != "0" && !strings.Contains(said, "\n"+keys[1]+" keys were saved by the run before\n"):
			t.Errorf("the part had %s keys: %s", keys[1], said)
		case keys[1] != "0" && keys[1] != "3,010":
			midway++
		}
	}
	if midway == 0 {
		t.Error("no part had some keys")
	}
}

// A disk that is full leaves what could be written, and no archive.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s, dir := filled(t, keywrighttest.Valkey), t.TempDir()
	keywright, err := exec.LookPath("keywright")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--snapshot"}, nil} {
		command := append([]string{"-c", `ulimit -f 16; trap '' XFSZ; exec "$0" "$@"`, keywright, "backup", "--to", "a.kwa",
			"--replace-file", "-u", s.URL()}, args...)
		cmd := exec.Command("bash", command...)
		cmd.Dir = dir
		text, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 5 || !bytes.Contains(text, []byte("could not be written")) {
			t.Errorf("%q: %v\n%s", args, cmd.ProcessState, text)
		}
		if _, err := os.Stat(filepath.Join(dir, "a.kwa")); err == nil {
			t.Error("there is an archive")
		}
		ran(t, 5, dir, "archive", "verify", "a.kwa.part")
	}
}

// A server that is killed while it sends a snapshot leaves what came, and no archive.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	s, dir := filled(t, keywrighttest.Redis), t.TempDir()
	s.Do("CONFIG", "SET", "rdb-key-save-delay", "5000") // microseconds for each key: 15 s
	cmd := runProgram(t, dir, "backup", "--to", "a.kwa", "--snapshot", "-u", s.URL())
	var said bytes.Buffer
	cmd.Stderr, cmd.Stdout = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	someWritten(t, dir)
	s.Kill()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 5 && code != 3 {
		t.Errorf("%d: %s", code, said.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "a.kwa")); err == nil {
		t.Error("there is an archive")
	}
}

// What moves a hash in one step: as MONITOR shows it, and of RESTORE as INFO commandstats counts it, which says how often
// it failed. A DUMP of no key, and a RESTORE that fails, ask what the user may do.
var (
	readWhole    = regexp.MustCompile(`(?i)"(dump|hgetall)" "hash"`)
	writtenWhole = regexp.MustCompile(`cmdstat_restore:calls=(\d+),.*failed_calls=(\d+)`)
)

// A hash of very many fields is saved, exported and restored without a step that moves much
// of it at once: no command has more than elementsAtOnce elements, and none holds the server
// for longer than 20 ms. KEYWRIGHT_FIELDS is how many fields.
func TestManyFields(t *testing.T) {
	gate.Skip(t, "measures milliseconds")
	t.Parallel()
	const elementsAtOnce = 1000
	fields := gate.Count(t, "KEYWRIGHT_FIELDS", 100_000, 100_000)
	s, dir := keywrighttest.Start(t, keywrighttest.Redis), t.TempDir()
	s.Do("EVAL", `for i = 1, ARGV[1] do redis.call('HSET', 'hash', 'field'..i, 'value'..i) end`, "0", strconv.Itoa(fields))
	want := s.Do("DEBUG", "DIGEST-VALUE", "hash")
	for i, way := range [][]string{nil, {"--snapshot"}} {
		file := fmt.Sprint(i, ".kwa")
		s.Do("CONFIG", "RESETSTAT")
		long := s.Long(20*time.Millisecond, func() {
			stop := s.Monitor()
			ran(t, 0, dir, append([]string{"backup", "--to", file, "--replace-file", "-u", s.URL()}, way...)...)
			s.Do("UNLINK", "hash")
			ran(t, 0, dir, "restore", file, "-u", s.URL(), "--apply")
			most := 0
			for _, line := range stop() {
				words := strings.Count(line, `" "`) + 1
				if _, count, ok := strings.Cut(line, `"COUNT" "`); ok && strings.Contains(line, `"HSCAN"`) {
					n, _, _ := strings.Cut(count, `"`)
					words, _ = strconv.Atoi(n)
				}
				most = max(most, words)
				if readWhole.MatchString(line) {
					t.Errorf("%q read it whole: %.200s", way, line)
				}
			}
			if most > 2*elementsAtOnce+16 || most < 100 {
				t.Errorf("%q: a command has %d words", way, most)
			}
		})
		if len(long) > 0 {
			t.Errorf("%q held the server: %q", way, long)
		}
		stats := fmt.Sprint(s.Do("INFO", "commandstats"))
		if sent := writtenWhole.FindStringSubmatch(stats); sent != nil && sent[1] != sent[2] {
			t.Errorf("%q wrote it whole: %s", way, sent[0])
		}
		if got := s.Do("DEBUG", "DIGEST-VALUE", "hash"); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %v, not %v", way, got, want)
		}
	}
	ran(t, 0, dir, "archive", "diff", "0.kwa", "1.kwa")
	ran(t, 0, dir, "archive", "export", "1.kwa", "--as", "rdb", "--to", "dump.rdb")
	ran(t, 0, dir, "backup", "--to", "2.kwa", "dump.rdb")
	ran(t, 0, dir, "archive", "diff", "0.kwa", "2.kwa")
}
