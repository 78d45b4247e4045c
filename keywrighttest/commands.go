package keywrighttest

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/keywright/keywright/internal/wire"
)

func (s *Server) dial() (*wire.Conn, error) {
	nc, err := net.DialTimeout("unix", s.Socket(), patience)
	if err != nil {
		return nil, err
	}
	c := wire.New(nc, patience)
	if login := s.login(); login != nil {
		if _, err := ask(c, login...); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

func ask(c *wire.Conn, args ...string) (any, error) {
	c.Command(args...)
	if err := c.Flush(); err != nil {
		return nil, err
	}
	return c.Any()
}

// Do sends a command and returns its reply; an error reply fails the test.
func (s *Server) Do(args ...string) any {
	s.t.Helper()
	reply, err := s.Try(args...)
	if err != nil {
		s.t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return reply
}

// Try is Do that returns the error.
func (s *Server) Try(args ...string) (any, error) {
	c, err := s.dial()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return ask(c, args...)
}

// Pipe sends many commands at once; an error reply fails the test.
func (s *Server) Pipe(commands ...[]string) {
	s.t.Helper()
	c, err := s.dial()
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	for len(commands) > 0 {
		n := min(len(commands), 1000)
		for _, args := range commands[:n] {
			c.Command(args...)
		}
		if err := c.Flush(); err != nil {
			s.t.Fatal(err)
		}
		for _, args := range commands[:n] {
			if _, err := c.Any(); err != nil {
				s.t.Fatalf("%s: %v", strings.Join(args, " "), err)
			}
		}
		commands = commands[n:]
	}
}

// Info returns one field of INFO, "" if there is none. What each command has cost takes the server much longer to tell
// than all the rest, and is asked for last.
func (s *Server) Info(field string) string {
	for _, section := range []string{"default", "everything"} {
		text, _ := s.Try("INFO", section)
		for line := range strings.SplitSeq(fmt.Sprint(text), "\r\n") {
			if value, ok := strings.CutPrefix(line, field+":"); ok {
				return value
			}
		}
	}
	return ""
}

// Await polls until a field of INFO has a value.
func (s *Server) Await(field, value string) {
	s.t.Helper()
	if err := within(patience, fmt.Sprintf("%s is %q, not %q", field, s.Info(field), value),
		func() bool { return s.Info(field) == value }); err != nil {
		s.t.Fatalf("%v\n%s", err, s.Log())
	}
}

// Copied waits until replicas have applied all that the server has now, as they say themselves. WAIT is no way: it
// waits for what its own connection has written, and that is nothing on a new one.
func (s *Server) Copied(replicas ...*Server) {
	s.t.Helper()
	want, _ := strconv.ParseInt(s.Info("master_repl_offset"), 10, 64)
	for _, r := range replicas {
		if err := within(patience, "the replica lags", func() bool {
			has, _ := strconv.ParseInt(r.Info("slave_repl_offset"), 10, 64)
			return r.Info("master_link_status") == "up" && has >= want
		}); err != nil {
			s.t.Fatalf("%v\n%s", err, r.Log())
		}
	}
}

// Monitor records the commands that reach the server until the returned
// function is called, which gives them as MONITOR prints them.
func (s *Server) Monitor() (stop func() []string) {
	s.t.Helper()
	c, err := s.dial()
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := ask(c, "MONITOR"); err != nil {
		s.t.Fatal(err)
	}
	done := make(chan []string)
	go func() {
		var lines []string
		for {
			line, err := c.Status()
			if err != nil {
				break
			}
			lines = append(lines, string(line))
			if strings.Contains(lines[len(lines)-1], `"keywrighttest:end-of-monitor"`) {
				lines = lines[:len(lines)-1]
				break
			}
		}
		done <- lines
	}()
	return func() []string {
		s.Do("EXISTS", "keywrighttest:end-of-monitor")
		lines := <-done
		c.Close()
		return lines
	}
}
