package keywrighttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/keywright/keywright/internal/wire"
)

// reuses says whether servers without options are used by one test after another: a start costs a fifth of a second of
// a processor, and what brings a server back to how it was costs some milliseconds. The variable REUSE_SERVERS turns
// it on. A server that cannot be brought back is ended as ever.
var reuses = os.Getenv("REUSE_SERVERS") != ""

// idle holds the servers that wait for the next test, by program. They end with the process: their shell removes what
// they had.
var idle struct {
	sync.Mutex
	servers map[string][]*Server
}

// startAgain returns a server that an earlier test has used, or one that later tests may use.
func startAgain(t testing.TB, brand Brand, program string) *Server {
	t.Helper()
	s := takeIdle(program)
	if s == nil {
		dir, err := os.MkdirTemp("", "keywright")
		if err != nil {
			t.Fatal(err)
		}
		s = &Server{t: t, Brand: brand, program: program, Dir: dir, again: true}
		s.start()
		c, err := s.dial()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if s.asStarted, err = s.traits(c); err != nil {
			t.Fatal(err)
		}
	}
	s.t = t
	t.Cleanup(s.giveBack)
	return s
}

// takeIdle returns a server that is as a new one is, nil if there is none.
func takeIdle(program string) *Server {
	idle.Lock()
	defer idle.Unlock()
	list := idle.servers[program]
	if len(list) == 0 {
		return nil
	}
	s := list[len(list)-1]
	idle.servers[program] = list[:len(list)-1]
	return s
}

// giveBack keeps the server for the next test if it can be made as new; else it ends it.
func (s *Server) giveBack() {
	if s.process == nil || s.state() == "T" || !s.renew() {
		s.Kill()
		release(s.ports)
		_ = os.RemoveAll(s.Dir)
		return
	}
	idle.Lock()
	defer idle.Unlock()
	if idle.servers == nil {
		idle.servers = map[string][]*Server{}
	}
	idle.servers[s.program] = append(idle.servers[s.program], s)
}

// renewals bring a server back to how it was, as far as commands can.
var renewals = [][]string{{"CLIENT", "UNPAUSE"}, {"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"},
	{"CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes"}, {"CLIENT", "KILL", "TYPE", "replica", "SKIPME", "yes"},
	{"DEBUG", "SET-ACTIVE-EXPIRE", "1"}, {"FLUSHALL", "SYNC"}, {"SCRIPT", "FLUSH", "SYNC"}, {"FUNCTION", "FLUSH", "SYNC"},
	{"SLOWLOG", "RESET"}, {"LATENCY", "RESET"}, {"ACL", "LOG", "RESET"}, {"CONFIG", "RESETSTAT"}}

// renew makes the server as new: empty, without scripts, functions, clients and counts. It is false if that cannot be
// done: a setting, a user, the role or a file is not as it was at the start, or something is being written.
func (s *Server) renew() bool {
	c, err := s.dial()
	if err != nil {
		return false
	}
	defer c.Close()
	for _, args := range renewals {
		if _, err := ask(c, args...); err != nil {
			return false
		}
	}
	if now, err := s.traits(c); err != nil || now != s.asStarted {
		return false
	}
	files, err := os.ReadDir(s.Dir)
	if err != nil {
		return false
	}
	for _, f := range files {
		if name := f.Name(); name != "log" && name != "pid" && name != "s" {
			return false
		}
	}
	return os.Truncate(filepath.Join(s.Dir, "log"), 0) == nil
}

// traits returns all that makes a server another one than a new one and that no renewal undoes.
func (s *Server) traits(c *wire.Conn) (string, error) {
	var out strings.Builder
	for _, args := range [][]string{{"CONFIG", "GET", "*"}, {"ACL", "LIST"}, {"MODULE", "LIST"}, {"INFO", "server"},
		{"INFO", "replication"}, {"INFO", "persistence"}} {
		reply, err := ask(c, args...)
		if err != nil {
			return "", err
		}
		for _, line := range strings.FieldsFunc(fmt.Sprint(reply), func(r rune) bool { return r == '\r' || r == '\n' }) {
			name, _, _ := strings.Cut(line, ":")
			if args[0] != "INFO" || lasting[name] {
				out.WriteString(line + "\n")
			}
		}
	}
	return out.String(), nil
}

// lasting lists the fields of INFO that stay as they are on a server that nothing was done to.
var lasting = map[string]bool{"run_id": true, "process_id": true, "tcp_port": true, "role": true,
	"connected_slaves": true,
	"master_replid2":   true, "loading": true, "rdb_bgsave_in_progress": true, "rdb_last_bgsave_status": true,
	"aof_enabled": true, "aof_rewrite_in_progress": true, "rdb_saves": true, "async_loading": true}
