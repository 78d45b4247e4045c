package keywrighttest

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ScriptCall represents one run of a script, as MONITOR shows it.
type ScriptCall struct {
	SHA      string     // as in EVALSHA, or the first line of the text
	Keys     []string   // as they were declared
	Commands [][]string // that the script sent, in their order
}

// Scripts records the scripts that a server runs.
type Scripts struct {
	server *Server
	conn   net.Conn
	names  map[string]command

	mu    sync.Mutex
	calls []ScriptCall
	open  bool // the last line was of a script
	plain bool // what is sent in no script is recorded, too: it has "-- from unix" or the address as SHA
	done  chan struct{}
}

// command describes what a server says of a command.
type command struct {
	writes            bool
	first, last, step int
}

// WatchScripts records every script that the server runs from now on, and fails
// the test at its end for each script that breaks the rule of [Scripts.Broken]. Of
// a server that was killed or stopped it judges what it has seen until then;
// scripts that run after a restart are not seen.
func (s *Server) WatchScripts() *Scripts {
	s.t.Helper()
	w := s.RecordScripts()
	s.t.Cleanup(func() {
		if s.process != nil && !s.stopped() && s.alive() {
			w.waitSeen() // as far as it can: the server may have been restarted
		}
		for _, broken := range w.broken(w.seen()) {
			s.t.Error(broken)
		}
	})
	return w
}

// RecordScripts records every script that the server runs from now on, by MONITOR.
func (s *Server) RecordScripts() *Scripts {
	s.t.Helper()
	conn, err := net.DialTimeout("unix", s.Socket(), patience)
	if err != nil {
		s.t.Fatal(err)
	}
	w := &Scripts{server: s, conn: conn, names: s.commands(), done: make(chan struct{})}
	login := ""
	if words := s.login(); words != nil {
		login = strings.Join(words, " ") + "\r\n"
	}
	if _, err := io.WriteString(conn, login+"MONITOR\r\n"); err != nil {
		s.t.Fatal(err)
	}
	go w.read()
	w.Calls() // it listens
	s.t.Cleanup(func() {
		conn.Close()
		<-w.done
	})
	return w
}

// commands asks the server which commands write, and where their keys are.
func (s *Server) commands() map[string]command {
	out := map[string]command{}
	for _, row := range s.Do("COMMAND").([]any) {
		about := row.([]any)
		out[strings.ToUpper(about[0].(string))] = command{
			writes: slices.Contains(about[2].([]any), any("write")),
			first:  int(about[3].(int64)), last: int(about[4].(int64)), step: int(about[5].(int64)),
		}
	}
	return out
}

func (w *Scripts) read() {
	defer close(w.done)
	lines := bufio.NewReader(w.conn)
	for {
		text, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		w.line(text)
	}
}

// line takes `1700000000.000000 [0 127.0.0.1:5000] "EVALSHA" "…"`, or the same
// with `[0 lua]` for what a script sends.
func (w *Scripts) line(text string) {
	_, rest, _ := strings.Cut(text, "[")
	from, rest, ok := strings.Cut(rest, "] ")
	if !ok {
		return
	}
	words := unquote(rest)
	if len(words) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	name := strings.ToUpper(words[0])
	switch {
	case strings.HasSuffix(from, " lua"):
		if w.open {
			last := &w.calls[len(w.calls)-1]
			last.Commands = append(last.Commands, words)
		}
	case strings.HasPrefix(name, "EVAL") && len(words) > 2:
		n, _ := strconv.Atoi(words[2])
		id, _, _ := strings.Cut(words[1], "\n")
		w.calls, w.open = append(w.calls, ScriptCall{SHA: id, Keys: words[3:min(3+n, len(words))]}), true
	default:
		if w.open = false; w.plain {
			from, _, _ := strings.Cut(from[strings.Index(from, " ")+1:], ":")
			w.calls = append(w.calls, ScriptCall{SHA: "-- from " + from, Commands: [][]string{words}})
		}
	}
}

// unquote splits `"a" "b\x00"` into words.
func unquote(text string) []string {
	var words []string
	for {
		text = strings.TrimLeft(text, " ")
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return words
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return words
		}
		words, text = append(words, word), text[len(quoted):]
	}
}

// Calls returns the scripts that ran until now. It waits until the server has shown
// everything that was sent before. Of a server that was killed, restarted or stopped it gives
// what was seen until then.
func (w *Scripts) Calls() []ScriptCall {
	w.server.t.Helper()
	if err := w.waitSeen(); err != nil {
		w.server.t.Fatal(err)
	}
	return w.seen()
}

// waitSeen waits until the server has shown what was sent before, or has gone.
func (w *Scripts) waitSeen() error {
	mark := fmt.Sprintf("mark:%d", time.Now().UnixNano())
	seen := func() bool {
		select {
		case <-w.done: // the connection has ended, and what it said was read
			return true
		default:
		}
		if w.server.stopped() { // it shows nothing
			return true
		}
		_, _ = w.server.Try("EVAL", "-- "+mark+"\nreturn 1", "0")
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.ContainsFunc(w.calls, func(c ScriptCall) bool { return c.SHA == "-- "+mark })
	}
	return within(patience, "MONITOR shows nothing", seen)
}

// seen returns the scripts that were seen until now.
func (w *Scripts) seen() []ScriptCall {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.calls),
		func(c ScriptCall) bool { return strings.HasPrefix(c.SHA, "-- mark:") })
}

// untyped lists the commands that no type of a key refuses.
var untyped = []string{
	"DEL", "UNLINK", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST", "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME",
	"EXISTS", "TYPE", "TOUCH", "OBJECT", "SET", "PSETEX", "SETEX", "SETNX", "MSETNX", "MSET", "RENAME", "DUMP",
}

// Broken says which scripts could have stopped in the middle: after their first
// write they send a command that a server may refuse, because of a key that was
// not looked at before. Such a command is one on a key that the script did not
// declare (in a cluster it may have moved), or one that needs a type on a key
// whose type the script has not seen. One line per script and command.
func (w *Scripts) Broken() []string {
	w.server.t.Helper()
	return w.broken(w.Calls())
}

func (w *Scripts) broken(calls []ScriptCall) []string {
	broken := map[string]string{}
	for _, call := range calls {
		declared, known, wrote := map[string]bool{}, map[string]bool{}, false
		seen := map[string]bool{}
		for _, key := range call.Keys {
			declared[key] = true
		}
		for _, words := range call.Commands {
			name := strings.ToUpper(words[0])
			about := w.names[name]
			typed := !slices.Contains(untyped, name)
			for _, key := range about.keys(words) {
				if wrote && (!declared[key] && !seen[key] || typed && !known[key]) {
					id := call.SHA + " " + name
					broken[id] = fmt.Sprintf("script %.60s sends %.200q after its first write, and has not looked at that key before",
						call.SHA, words)
				}
				seen[key] = true
				known[key] = known[key] || typed || name == "TYPE" || name == "SET" || name == "DEL" || name == "UNLINK"
			}
			wrote = wrote || about.writes
		}
	}
	return slices.SortedFunc(maps.Values(broken), cmp.Compare[string])
}

// keys returns the keys among the words of a command.
func (c command) keys(words []string) []string {
	if c.first == 0 || c.step == 0 {
		return nil
	}
	last := c.last
	if last < 0 {
		last += len(words)
	}
	var out []string
	for i := c.first; i <= last && i < len(words); i += c.step {
		out = append(out, words[i])
	}
	return out
}
