//go:build unix

package main

import (
	"bytes"
	"io"
	"net"
	"os/exec"
	"sync"
	"testing"
)

// halting is between the program and servers: it passes requests on until there were so many. What is asked then is not
// answered, or by a bomb, or waits for the test.
type halting struct {
	mu     sync.Mutex
	left   int // requests that are passed on; below 0: all
	seen   int
	halted chan struct{}
	bomb   func(io.Writer) // nil: there is no answer
	held   chan bool       // nil: nothing is passed on any more; else one request waits for this, and all others pass
}

func (h *halting) front(t *testing.T, server string) string {
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
			go h.relay(c, server)
		}
	}()
	return l.Addr().String()
}

// relay ends when the program has.
func (h *halting) relay(c net.Conn, server string) {
	defer c.Close()
	s, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer s.Close()
	a := &repliesTo{Conn: c}
	go func() { _, _ = io.Copy(a, s); c.Close() }()
	for p := make([]byte, 64<<10); ; {
		n, err := c.Read(p)
		if err != nil {
			return
		}
		passes, lost, bomb := h.passes()
		if lost {
			a.lose()
		}
		if !passes {
			if bomb != nil {
				a.end(s, bomb)
			}
			continue
		}
		if _, err := s.Write(p[:n]); err != nil {
			return
		}
	}
}

// passes counts a request, and says whether the server gets it and whether its reply is lost.
func (h *halting) passes() (passes, lost bool, bomb func(io.Writer)) {
	h.mu.Lock()
	h.seen++
	if h.left != 0 {
		h.left--
		h.mu.Unlock()
		return true, false, nil
	}
	select {
	case <-h.halted:
	default:
		close(h.halted)
	}
	bomb, held := h.bomb, h.held
	if held != nil {
		h.left = -1
	}
	h.mu.Unlock()
	if held == nil {
		return false, false, bomb
	}
	return true, <-held, nil
}

// set begins a run.
func (h *halting) set(left int) (halted <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left, h.seen, h.halted, h.bomb, h.held = left, 0, make(chan struct{}), nil, nil
	return h.halted
}

// asked returns how many requests there were in this run.
func (h *halting) asked() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen
}

// hold begins a run in which the request after so many waits until goOn, which says whether its reply is lost.
func (h *halting) hold(after int) (holds <-chan struct{}, goOn func(lost bool)) {
	holds = h.set(after)
	h.mu.Lock()
	defer h.mu.Unlock()
	held := make(chan bool, 1)
	h.held = held
	return holds, func(lost bool) { held <- lost }
}

// harmed runs a program to its end, and does harm at the request after so many, which waits meanwhile. That of a dead
// program or to a dead server comes late, as it may. midway says whether the program asked that often.
func (h *halting) harmed(t *testing.T, cmd *exec.Cmd, after int, lost bool, harm func()) (said string, midway bool) {
	t.Helper()
	holds, goOn := h.hold(after)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	select {
	case <-holds:
		midway = true
		harm()
	case <-ended:
	}
	goOn(lost)
	<-ended
	h.set(-1)
	return out.String(), midway
}

// marker is a reply that only we ask for.
const marker = "$20\r\nhere-comes-the-bomb!\r\n"

// repliesTo passes on what a server says, until it is to end in a bomb.
type repliesTo struct {
	net.Conn // the program's
	mu       sync.Mutex
	bomb     func(io.Writer)
	lost     bool   // the program receives nothing any more
	held     []byte // begins with what was not passed on
}

// lose breaks the connection when the next reply comes: the server has executed it, and its reply is lost.
func (r *repliesTo) lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = true
}

// end asks the server for the marker: what comes before it are replies to requests that
// were passed on, and the bomb comes in its place.
func (r *repliesTo) end(server io.Writer, bomb func(io.Writer)) {
	r.mu.Lock()
	again := r.bomb != nil
	r.bomb = bomb
	r.mu.Unlock()
	if !again {
		_, _ = io.WriteString(server, "*2\r\n$4\r\nECHO\r\n"+marker) // else the connection is over
	}
}

func (r *repliesTo) Write(p []byte) (int, error) {
	r.mu.Lock()
	bomb, lost := r.bomb, r.lost
	r.mu.Unlock()
	if lost {
		return 0, io.ErrClosedPipe
	}
	if bomb == nil {
		return r.Conn.Write(p)
	}
	r.held = append(r.held, p...)
	before, _, here := bytes.Cut(r.held, []byte(marker))
	if !here {
		return len(p), nil
	}
	if _, err := r.Conn.Write(before); err != nil {
		return 0, err
	}
	bomb(r.Conn)
	return 0, io.ErrClosedPipe
}
