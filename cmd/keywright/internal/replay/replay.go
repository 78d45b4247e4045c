// Package replay loads a copy of an append-only folder into a server of its own, so that what the commands changed can
// be read. The server is a redis-server or valkey-server from PATH. It listens on a Unix socket in a folder that only
// this user can enter, and is gone, with its folder, when it is closed or when this program ends in whatever way.
//
// It changes nothing in the original folder, and reads no keys itself.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source/aof"
)

// programs lists the servers that are tried, in their order: the first that loads the folder is read.
var programs = []string{"valkey-server", "redis-server"}

// Server represents a throw-away server that has loaded a folder.
type Server struct {
	Program  string // its name in PATH
	Cut      bool   // the last file ended in the middle of a command, which was left out
	dir      string
	process  *exec.Cmd
	lifeline io.Closer
	ended    chan struct{}
}

// Start copies the folder of a manifest, and starts a server that loads the copy. It returns when the server has loaded
// it, which takes as long as a restart would, and as much memory. It needs as much room in the folder for temporary
// files (TMPDIR) as the original has. The error of a folder that no server loads has what each of them said.
func Start(ctx context.Context, manifest string) (*Server, error) {
	var tried []error
	for _, program := range programs {
		path, err := exec.LookPath(program)
		if err != nil {
			tried = append(tried, fmt.Errorf("%s is not in PATH", program))
			continue
		}
		s, err := start(ctx, path, manifest)
		if err == nil || ctx.Err() != nil {
			return s, cmp.Or(ctx.Err(), err)
		}
		tried = append(tried, fmt.Errorf("%s: %w", program, err))
	}
	return nil, fmt.Errorf("no server has loaded %s: %w", manifest, errors.Join(tried...))
}

// script runs the server, and ends it and removes its folder when the pipe from this program breaks.
const script = `exec 3<&0; "$@" </dev/null >/dev/null 2>&1 & p=$!
(read -r _ <&3; kill -9 $p; rm -rf "$DIR") >/dev/null 2>&1 & wait $p`

func start(ctx context.Context, program, manifest string) (s *Server, err error) {
	dir, err := os.MkdirTemp("", "keywright-replay") // 0700
	if err != nil {
		return nil, err
	}
	if err := copyFolder(ctx, manifest, filepath.Join(dir, "aof")); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s = &Server{Program: filepath.Base(program), dir: dir, ended: make(chan struct{})}
	s.process = exec.Command("sh", "-c", script, "sh", program, "--port", "0", "--unixsocket", s.socket(),
		"--unixsocketperm", "700", "--dir", dir, "--logfile", filepath.Join(dir, "log"), "--save", "",
		"--appendonly", "yes", "--appenddirname", "aof", "--appendfilename",
		strings.TrimSuffix(filepath.Base(manifest), ".manifest"), "--auto-aof-rewrite-percentage", "0",
		"--maxmemory", "0", "--enable-module-command", "no")
	s.process.Env = append(os.Environ(), "DIR="+dir)
	read, write, err := os.Pipe()
	if err == nil {
		s.process.Stdin, s.lifeline = read, write
		err = errors.Join(s.process.Start(), read.Close())
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	go func() { defer close(s.ended); _ = s.process.Wait() }()
	if err := s.await(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// URL returns where the server listens.
func (s *Server) URL() string { return "unix://" + s.socket() }

func (s *Server) socket() string { return filepath.Join(s.dir, "s") }

// Close ends the server and removes its folder. It may be called twice.
func (s *Server) Close() {
	_ = s.lifeline.Close()
	<-s.ended
	_ = os.RemoveAll(s.dir)
}

// await waits until the server has loaded all, or has ended because it cannot.
func (s *Server) await(ctx context.Context) error {
	for !s.loaded() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ended:
			return errors.New(s.lastWords())
		case <-time.After(20 * time.Millisecond):
		}
	}
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	s.Cut = strings.Contains(string(log), "Truncating the AOF")
	return nil
}

// loaded reports whether the server answers, and not with LOADING.
func (s *Server) loaded() bool {
	nc, err := net.DialTimeout("unix", s.socket(), time.Second)
	if err != nil {
		return false
	}
	c := wire.New(nc, time.Second)
	defer c.Close()
	c.Command("PING")
	if err := c.Flush(); err != nil {
		return false
	}
	_, err = c.Status()
	return err == nil
}

// lastWords returns why the server has ended, as its log says.
func (s *Server) lastWords() string {
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	why := "it has ended and said nothing"
	for line := range strings.Lines(string(log)) {
		if _, warning, ok := strings.Cut(line, " # "); ok {
			why = strings.TrimSpace(warning)
		}
	}
	return why
}

// copyFolder copies a manifest and the files that it needs.
func copyFolder(ctx context.Context, manifest, to string) error {
	in, err := os.Open(manifest)
	if err != nil {
		return err
	}
	files, err := aof.Parse(in)
	_ = in.Close()
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	names := append([]string{filepath.Base(manifest), files.Base}, files.Increments...)
	for _, name := range names {
		if name == "" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := copyFile(filepath.Join(filepath.Dir(manifest), name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
