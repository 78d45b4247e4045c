//go:build linux && !race

// The race detector multiplies memory: .ci/run runs this without it.

package main

import (
	"bytes"
	"errors"
	"fmt"
	"github.com/keywright/keywright/internal/gate"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// peak is the memory in MiB that the whole program may have at any moment,
	// whatever it reads: what it uses, and what the collector has not freed yet.
	peak = 256
	// cage is the address space in MiB above which the kernel ends it.
	cage = 4096
)

// bomb represents a command and what makes it read too much.
type bomb struct {
	args  []string
	files map[string]func(io.Writer) error
	in    func(io.Writer) // standard input, written until the program ends
	serve func(net.Conn)  // a server; its URL is the last argument
	setUp func(dir string) error
	says  string // in what it prints
}

// TestNoInputTakesMoreMemoryThanTheCeiling runs the program itself, in a cage, over what
// foreigners may give it, and looks at the most that it has ever had.
func TestNoInputTakesMoreMemoryThanTheCeiling(t *testing.T) {
	gate.Skip(t, "100 programs over files of hundreds of MB")
	t.Parallel()
	program, err := exec.LookPath("keywright")
	if err != nil {
		t.Fatal(err) // testscript.Main puts it into PATH
	}
	all := bombs()
	maps.Copy(all, packedBombs())
	maps.Copy(all, keptBombs())
	for name, b := range all {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, write := range b.files {
				f, err := os.Create(filepath.Join(dir, file))
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(write(f), f.Chmod(0o600), f.Close()); err != nil {
					t.Fatal(err)
				}
			}
			if b.setUp != nil {
				if err := b.setUp(dir); err != nil {
					t.Fatal(err)
				}
			}
			args := b.args
			if b.serve != nil {
				args = append(args[:len(args):len(args)], "redis://"+listen(t, b.serve))
			}
			measure := filepath.Join(t.TempDir(), "peak")
			cmd := exec.Command("bash", "-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, cage<<10), "measured", program)
			cmd.Args = append(cmd.Args, args...)
			cmd.Dir, cmd.Env = dir, append(bare(os.Environ()), "LC_ALL=C", "PEAK="+measure)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			var said bytes.Buffer
			out := &bounded{&said}
			cmd.Stdout, cmd.Stderr = out, out // one writer: one goroutine
			if b.in != nil {
				r, w := io.Pipe()
				go func() { b.in(w); w.Close() }()
				defer r.Close()
				cmd.Stdin = r
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			late := time.AfterFunc(2*time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
			state, err := cmd.Process.Wait()
			late.Stop()
			if in, ok := cmd.Stdin.(io.Closer); ok {
				in.Close()
			}
			_ = cmd.Wait() // for its outputs
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(measure); err != nil {
				t.Fatalf("%v, %v: %s", err, state, said.String())
			}
			used := figure(t, measure)
			t.Logf("%d MiB, exit code %d, %v: %.200s", used, state.ExitCode(), state.UserTime()+state.SystemTime(),
				said.String())
			if code := state.ExitCode(); used > peak || code < 0 || code > 5 || !strings.Contains(said.String(), b.says) ||
				strings.Contains(said.String(), "bug in keywright") {
				t.Errorf("%d MiB, %v: %s", used, state, said.String())
			}
		})
	}
}

// bounded keeps the beginning of what is printed.
type bounded struct{ kept *bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.kept.Write(p[:min(len(p), max(0, 4096-b.kept.Len()))])
	return len(p), nil
}

// listen serves every connection until the test ends.
func listen(t *testing.T, serve func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); serve(c) }()
		}
	}()
	return l.Addr().String()
}

// unending writes a text again and again until no program reads it, or so many MiB.
func unending(text string, mib int) func(io.Writer) {
	return func(w io.Writer) {
		piece := bytes.Repeat([]byte(text), 1+(1<<20)/len(text))
		for n := 0; n < mib<<20; n += len(piece) {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}
}

// answers reads what the client says and answers each command with the same reply,
// which goes on for a gigabyte.
func answers(reply, more string) func(net.Conn) {
	return func(c net.Conn) {
		p := make([]byte, 4096)
		if _, err := c.Read(p); err != nil {
			return
		}
		if _, err := io.WriteString(c, reply); err != nil {
			return
		}
		unending(more, 1024)(c)
	}
}

func sparse(head string, size int64) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, head)
		return errors.Join(err, w.(*os.File).Truncate(size))
	}
}

func text(head, line string, n int, tail string) func(io.Writer) error {
	return func(w io.Writer) error {
		var b strings.Builder
		b.WriteString(head)
		for i := range n {
			b.WriteString(strings.ReplaceAll(line, "#", fmt.Sprint(i)))
		}
		_, err := io.WriteString(w, b.String()+tail)
		return err
	}
}

const small = "keywright: 1\nkeys:\n  a: {key: \"a:{x}\", type: string, ttl: 1h}\n"

func bombs() map[string]bomb {
	type files = map[string]func(io.Writer) error
	ok := text(small, "", 0, "")
	secret := text("keywright: 1\npackage: p\nkeys:\n  a: {key: \"a:{x}\", type: string, value: text encrypted, ttl: 1h}\n", "", 0, "")
	locked := text("keywright: 1\nkeys:\n  l: {key: l, type: lock, ttl: 5s}\n", "", 0, "")
	head := "keywright: 1\nkeys:\n"
	queue := "  q#: {key: \"q#:{x}\", type: queue, ttl: none}\n"
	entry := "{key: \"e#:{x}\", type: string, ttl: 1h}"
	return map[string]bomb{
		// snapshots
		"snapshot, blown names": {
			args:  []string{"audit", "-f", "k", "s"},
			files: files{"k": ok, "s": blownUp(0, 4, 16<<20)},
		},
		"snapshot, blown values": {
			args:  []string{"audit", "-f", "k", "--values", "s"},
			files: files{"k": ok, "s": blownUp(1, 200, 1<<20)},
		},
		"snapshot, blown for top":   {args: []string{"top", "s"}, files: files{"s": blownUp(1, 60, 16<<20)}},
		"snapshot, a draft of it":   {args: []string{"infer", "s"}, files: files{"s": blownUp(1, 200, 1<<20)}},
		"snapshot, different names": {args: []string{"infer", "s"}, files: files{"s": manyKeys(300_000)}},
		"snapshot, a length that lies": {
			args:  []string{"audit", "-f", "k", "s"},
			files: files{"k": ok, "s": sparse("REDIS0011\x00\x01k\x80\x7f\xff\xff\xff", 64<<20)},
		},
		"snapshot, unending": {
			args: []string{"top", "-"},
			in:   unending("REDIS0011\x00\x01k\x80\x7f\xff\xff\xff", 128),
		},
		// declarations
		"declaration, large": {args: []string{"lint", "-f", "k"}, files: files{"k": sparse(small, 3<<30)}},
		"declaration, entries": {
			args:  []string{"lint", "-f", "k"},
			files: files{"k": text(head, "  e#: "+entry+"\n", 9_999, "")},
		},
		"declaration, faults": {
			args:  []string{"lint", "-f", "k"},
			files: files{"k": text(head, "  e#: {kye: 1}\n", 60_000, "")},
		},
		"declaration, nesting": {
			args:  []string{"lint", "-f", "k"},
			files: files{"k": text("keywright: 1\nkeys: ", "[", 900_000, "")},
		},
		"declaration, patterns": {
			args: []string{"lint", "-f", "k"},
			files: files{
				"k": text(head, "  e#: {key: \"{a:/([a-z]*x){1,20}/}:{b:/([0-9]?){40}[a-z]#/}\", type: string, ttl: 1h}\n",
					400, "")},
		},
		"declaration, the most patterns": {
			args:  []string{"lint", "-f", "k"},
			files: files{"k": text(head, queue, 1_818, "")},
		},
		"declaration, more patterns": {
			args:  []string{"lint", "-f", "k"},
			files: files{"k": text(head, queue, 9_000, "")},
			says:  "at most 20000 patterns",
		},
		"declaration, the most patterns, compared": {
			args: []string{"breaking", "-f", "k", "--against", "o"},
			files: files{"k": text(head, queue, 1_818, ""),
				"o": text(head, strings.ReplaceAll(queue, "q#", "p#"), 1_818, "")},
		},
		"declaration, the most patterns, as Go": {
			args:  []string{"gen", "go", "-f", "k", "--out", "go"},
			files: files{"k": text(head, queue, 1_818, "")},
		},
		"declaration, laid out": {
			args:  []string{"fmt", "k"},
			files: files{"k": text(head, "  e#: "+entry+"\n", 20_000, "")},
		},
		"baseline": {
			args:  []string{"audit", "-f", "k", "--baseline", "b", "s"},
			files: files{"k": ok, "s": manyKeys(10), "b": sparse("[", 3<<30)},
		},
		// git
		"a blob of git": {args: []string{"breaking", "-f", "k", "--against", "HEAD"}, setUp: committed,
			says: "larger than 8 MiB"},
		// key rings
		"key ring, a large file": {
			args:  []string{"seal", "status", "-f", "k", "--keys-file", "r"},
			files: files{"k": secret, "r": sparse("{", 3<<30)},
		},
		"key ring, a talking program": {
			args: []string{"seal", "status", "-f", "k", "--keys-exec", "head", "--keys-exec", "-c", "--keys-exec", "64000000",
				"--keys-exec", "/dev/zero"},
			files: files{"k": secret},
		},
		// replies
		"reply, a large string": {
			args:  []string{"audit", "-f", "k", "-u"},
			files: files{"k": ok},
			serve: answers("$2147483647\r\n", "x"),
		},
		"reply, a large list":       {args: []string{"doctor", "-u"}, serve: answers("*1000000000\r\n", "+OK\r\n")},
		"reply, lists in lists":     {args: []string{"doctor", "-u"}, serve: answers("", "*1\r\n")},
		"reply, a line without end": {args: []string{"top", "-u"}, serve: answers("+", "x")},
		"reply, a map of maps": {
			args:  []string{"locks", "-f", "k", "-u"},
			files: files{"k": locked},
			serve: answers("", "%100\r\n"),
		},
		"reply, to the client": {
			args:  []string{"queues", "-f", "k", "-u"},
			files: files{"k": text(head, "  q: {key: q, type: queue, ttl: none}\n", 1, "")},
			serve: answers("%1000000000\r\n", "+a\r\n"),
		},
		"reply, pushes": {
			args:  []string{"locks", "-f", "k", "-u"},
			files: files{"k": locked},
			serve: answers("", ">2\r\n+a\r\n+b\r\n"),
		},
		"reply, a snapshot": {
			args:  []string{"audit", "-f", "k", "--snapshot", "-u"},
			files: files{"k": ok},
			serve: answers("+OK\r\n", "+OK\r\n"),
		},
		// pages and keys
		"page, large": {args: []string{"infer", "--from-doc", "p"}, files: files{"p": sparse("# a\n", 3<<30)}},
		"page, a line": {
			args:  []string{"infer", "--from-doc", "p"},
			files: files{"p": text("| `a:{x}` |", " `a#:{x}` |", 60_000, "\n")},
		},
		"page, tables": {
			args:  []string{"infer", "--from-doc", "p"},
			files: files{"p": text("| key | ttl |\n|---|---|\n", "| `a#:{x}` | 1h |\n", 1_000, "")},
		},
		"page, unending": {args: []string{"infer", "--from-doc", "-"}, in: unending("`a:{x}` ", 1024)},
		"keys, one line": {args: []string{"match", "-f", "k"}, files: files{"k": ok}, in: unending("a:x", 1024)},
	}
}

// committed makes a repository with a declaration that is small now and had 100 MiB.
func committed(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "k"), nil, 0o600); err != nil {
		return err
	}
	git := func(args ...string) error {
		cmd := exec.Command("git",
			append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.bigFileThreshold=1m"}, args...)...)
		cmd.Dir = dir
		return cmd.Run()
	}
	return errors.Join(os.Truncate(filepath.Join(dir, "k"), 100<<20), git("init", "-q"), git("add", "."),
		git("commit", "-q", "-m", "x"),
		os.WriteFile(filepath.Join(dir, "k"), []byte(small), 0o600))
}

// length returns a length as an RDB file has it, in four bytes.
func length(n int) string {
	return "\x80" + string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// zeros returns a string of n zeros in LZF, some 88 times smaller.
func zeros(n int) string {
	packed := "\x00\x00" + strings.Repeat("\xe0\xff\x00", (n-1)/264)
	return "\xc3" + length(len(packed)) + length(1+(n-1)/264*264) + packed
}

// blownUp returns a snapshot of n strings whose name (0) or value (1) is size zeros.
func blownUp(which, n, size int) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, "REDIS0011\xfe\x00")
		for i := 0; i < n && err == nil; i++ {
			pair := [2]string{zeros(size), "\x01v"}
			if which == 1 {
				name := fmt.Sprint("a:", i)
				pair = [2]string{string(rune(len(name))) + name, zeros(size)}
			}
			_, err = io.WriteString(w, "\x00"+pair[0]+pair[1])
		}
		_, end := io.WriteString(w, "\xff\x00\x00\x00\x00\x00\x00\x00\x00")
		return errors.Join(err, end)
	}
}

// manyKeys returns a snapshot of n keys of which no two look alike.
func manyKeys(n int) func(io.Writer) error {
	return func(w io.Writer) error {
		var b bytes.Buffer
		b.WriteString("REDIS0011\xfe\x00")
		for i := range n {
			name := fmt.Sprintf("%x:%x-%d", i*2654435761, i*40503, i)
			b.WriteString("\x00" + string(rune(len(name))) + name + "\x01v")
		}
		b.WriteString("\xff\x00\x00\x00\x00\x00\x00\x00\x00")
		_, err := w.Write(b.Bytes())
		return err
	}
}
