//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/command"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

const checkpointed = `keywright: 1
package: p
vars: {n: int}
owns: ["app:*"]
keys:
  album: {key: "app:album:{n}", type: hash, ttl: none, fields: {title: text, plays: int}}
  index: {key: "app:index:{n}", type: hash, ttl: none, field: int, value: int}
  tags: {key: "app:tags:{n}", type: set, ttl: none, member: int}
  feed: {key: "app:feed:{n}", type: stream, ttl: none, fields: {a: int}}
  doc: {key: "app:doc:{n}", type: string, ttl: none, value: int}
`

// fillCheckpointed writes small keys and large values with faults in them, into two
// databases.
const fillCheckpointed = `
for i = 1, 1500 do redis.call('HSET', 'app:album:' .. i, 'title', 't', i % 50 == 0 and 'play' or 'plays', i) end
for i = 1, 400 do redis.call('SET', 'app:lost:' .. i, 'x') end
local long = string.rep('x', 300000)
for n = 1, 60 do redis.call('SET', 'app:doc:' .. n, long) end -- more than is read in one step
for n = 1, 3 do
	for i = 1, 4000 do redis.call('HSET', 'app:index:' .. n, i, i % 1000 == 7 and 'x' or i) end
	for i = 1, 3000 do redis.call('SADD', 'app:tags:' .. n, i == 17 and 'x' or i) end
	for i = 1, 2000 do redis.call('XADD', 'app:feed:' .. n, '*', 'a', i == 1999 and 'x' or i) end
end
`

// keywrightWith returns keywright with its arguments, as a process of its own.
func keywrightWith(t *testing.T, out *bytes.Buffer, args ...string) *exec.Cmd {
	path, err := exec.LookPath("keywright")
	if err != nil {
		t.Fatal(err) // testscript.Main puts it into PATH
	}
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd
}

func init() { programs["hasty"] = hasty }

// hasty is keywright with a clock that goes on by a day after each checkpoint, whose file is its last argument: so each
// step of a scan writes one. With KILLED_WHERE it kills itself when it has written one that has this text.
func hasty() {
	now, where, kept := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), os.Getenv("KILLED_WHERE"), os.Args[len(os.Args)-1]
	before, _ := os.ReadFile(kept)
	os.Exit(command.Main(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Getenv: os.Getenv, Now: func() time.Time {
			looked := now
			if text, err := os.ReadFile(kept); err == nil && !bytes.Equal(text, before) { // it was written just now
				if where != "" && bytes.Contains(text, []byte(where)) {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				}
				before, now = text, now.AddDate(0, 0, 1)
			}
			return looked
		}}))
}

// TestAKilledAuditGoesOn: an audit of all values that is killed in the middle of a page and in the middle of a value
// reports in the end what one without a break does, and has looked at nothing twice.
func TestAKilledAuditGoesOn(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, gate.Pick(t, keywrighttest.Brands())[0])
	dir := t.TempDir()
	declaration, kept := filepath.Join(dir, "keyspace.yaml"), filepath.Join(dir, "kept")
	if err := os.WriteFile(declaration, []byte(checkpointed), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, db := range []string{"0", "3"} {
		s.Do("EVAL", "redis.call('SELECT', "+db+")"+fillCheckpointed, "0")
	}
	args := []string{"audit", "-f", declaration, "-u", s.URL(), "--values=all", "-o", "json",
		"--progress", "none"}
	want := report(t, args...)

	args = append(args, "--checkpoint", kept)
	for audits := range gate.Count(t, "KEYWRIGHT_KILLS", 1, 10) {
		for _, middle := range []string{`"had":[`, `"values":[{`} { // of a page, of a value
			var said bytes.Buffer
			cmd := keywrightWith(t, &said, args...)
			cmd.Path = filepath.Join(filepath.Dir(cmd.Path), "hasty")
			cmd.Args[0] = cmd.Path // by which a program is chosen
			cmd.Env = append(os.Environ(), "KILLED_WHERE="+middle)
			if _ = cmd.Run(); cmd.ProcessState.ExitCode() != -1 {
				t.Fatalf("audit %d came to its end, and never was where %s is: %s", audits, middle, said.String())
			}
		}
		if got := report(t, args...); got != want {
			t.Errorf("with breaks:\n%s\nwithout:\n%s", got, want)
		}
		if _, err := os.Stat(kept); err == nil {
			t.Error("the checkpoint of an audit that came to its end is there")
		}
	}
}

// report returns what an audit says, without what tells how long it took.
func report(t *testing.T, args ...string) string {
	var out, said bytes.Buffer
	cmd := keywrightWith(t, &said, args...)
	cmd.Stdout = &out
	_ = cmd.Run() // it has findings
	var r map[string]any
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err, said.String())
	}
	delete(r, "seconds")
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestACheckpointOfAnotherAudit: it is refused, with what to do, and stays as it is.
func TestACheckpointOfAnotherAudit(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	other := keywrighttest.Start(t, keywrighttest.Redis)
	for _, s := range []*keywrighttest.Server{s, other} {
		s.Do("EVAL", "for i = 1, 5000 do redis.call('SET', 'app:lost:' .. i, 'x') end", "0")
	}
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	declare := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ours, theirs := declare("a.yaml", checkpointed),
		declare("b.yaml", checkpointed+"  more: {key: \"more:{n}\", type: hash, ttl: none}\n")
	args := func(file string, s *keywrighttest.Server, more ...string) []string {
		return append([]string{"audit", "-f", file, "-u", s.URL(), "--progress", "none", "--checkpoint", kept}, more...)
	}
	var said bytes.Buffer
	cmd := keywrightWith(t, &said, args(ours, s, "--rate", "100")...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	expect.Eventually(t, "a checkpoint is there", func() bool { _, err := os.Stat(kept); return err == nil })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err, said.String())
	}
	refused := func(why string, args ...string) {
		t.Helper()
		var said bytes.Buffer
		cmd := keywrightWith(t, &said, args...)
		_ = cmd.Run()
		if now, _ := os.ReadFile(kept); cmd.ProcessState.ExitCode() != 2 || !strings.Contains(said.String(), why) ||
			!bytes.Equal(now, text) {
			t.Errorf("exit code %d, want 2 and %q:\n%s", cmd.ProcessState.ExitCode(), why, said.String())
		}
	}
	refused("another declaration or other flags", args(theirs, s)...)
	refused("another declaration or other flags", args(ours, s, "--include", "album")...)
	refused(fmt.Sprintf("%s is another server than %s", other.Addr(), s.Addr()), args(ours, other)...)
	refused("--checkpoint is for the scan of a server", args(ours, s, "--snapshot")...)
	s.Do("FLUSHDB")
	refused("was flushed", args(ours, s)...)
	s.Restart()
	refused("was restarted", args(ours, s)...)
	if err := os.WriteFile(kept, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	text = text[:len(text)/2]
	refused("is no checkpoint of an audit", args(ours, s)...)
}
