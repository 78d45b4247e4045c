//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// TestAKilledAuditGoesOn: an audit of all values that is killed again and again, in the
// middle of values too, reports in the end what one without a break does, and has
// looked at nothing twice.
func TestAKilledAuditGoesOn(t *testing.T) {
	gate.Skip(t, "kills by the clock")
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	dir := t.TempDir()
	declaration, kept := filepath.Join(dir, "keyspace.yaml"), filepath.Join(dir, "kept")
	if err := os.WriteFile(declaration, []byte(checkpointed), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, db := range []string{"0", "3"} {
		s.Do("EVAL", "redis.call('SELECT', "+db+")"+fillCheckpointed, "0")
	}
	args := []string{"audit", "-f", declaration, "-u", s.URL(), "--values=all", "-o", "json", "--progress", "none"}
	want := report(t, args...)

	args = append(args, "--checkpoint", kept)
	last, inValues, inPages := "", 0, 0
	for audits := 0; audits < 1 || audits < 20 && (inValues == 0 || inPages == 0); audits++ {
		for round := range 5 {
			var said bytes.Buffer
			cmd := keywrightWith(t, &said, append(args, "--rate", "9000")...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			begun, over := time.Now(), false
			for seen := 0; seen < 2 && !over; { // the first comes at once
				select {
				case <-ended: // it came to its end before it wrote one more
					over = true
					continue
				case <-time.After(10 * time.Millisecond):
				}
				if b, err := os.ReadFile(kept); err == nil && string(b) != last {
					last, seen = string(b), seen+1
				}
				if time.Since(begun) > time.Minute {
					_ = cmd.Process.Kill()
					t.Fatalf("round %d has written no checkpoint: %s", round, said.String())
				}
			}
			if over {
				last = ""
				break
			}
			_ = cmd.Process.Kill()
			<-ended
			b, err := os.ReadFile(kept)
			if err != nil {
				t.Fatal(err)
			}
			last = string(b)
			if strings.Contains(last, `"values":[{`) {
				inValues++
			}
			if strings.Contains(last, `"had":[`) {
				inPages++
			}
		}
		if got := report(t, args...); got != want {
			t.Errorf("with breaks:\n%s\nwithout:\n%s", got, want)
		}
		if _, err := os.Stat(kept); err == nil {
			t.Error("the checkpoint of an audit that came to its end is there")
		}
	}
	if inValues == 0 || inPages == 0 {
		t.Errorf("%d rounds were killed in the middle of a value, %d in the middle of a page", inValues, inPages)
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
	for begun := time.Now(); ; <-time.After(10 * time.Millisecond) {
		if _, err := os.Stat(kept); err == nil || time.Since(begun) > time.Minute {
			break
		}
	}
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
