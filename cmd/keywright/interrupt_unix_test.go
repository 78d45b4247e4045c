//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Commands that look at no context, since they read or compute, end when they are
// told to: with code 130, and long before the bound of this test.
func TestEveryCommandEndsWhenItIsInterrupted(t *testing.T) {
	declaration := filepath.Join(t.TempDir(), "keyspace.yaml")
	if err := os.WriteFile(declaration, []byte("keywright: 1\nkeys:\n  a: {key: \"a:{x}\", type: string, ttl: 1h}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// a snapshot with a string that goes on, and a line that does for match
	unending := append([]byte("REDIS0011\x00\x01k\x80\x7f\xff\xff\xff"), bytes.Repeat([]byte("a:x\n"), 1<<18)...)
	program, err := exec.LookPath("keywright")
	if err != nil {
		t.Fatal(err) // testscript.Main puts it into PATH
	}
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		for _, args := range [][]string{{"match", "--file", declaration}, {"top", "-"}, {"audit", "--file", declaration, "-"}} {
			in, begun := io.Pipe()
			cmd := exec.Command(program, args...)
			var said bytes.Buffer
			cmd.Stdin, cmd.Stderr = in, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := begun.Write(unending); err != nil { // more than a pipe holds: it is up and reads
				t.Fatal(err)
			}
			late := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			state, err := cmd.Process.Wait()
			late.Stop()
			begun.Close()
			_ = cmd.Wait()
			if err != nil || state.ExitCode() != 130 {
				t.Errorf("%v of %v: %v, %v, %s", signal, args, state, err, said.String())
			}
		}
	}
}
