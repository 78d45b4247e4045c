package link

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/history"
)

// held represents a store whose range waits until its caller goes.
type held struct {
	history.Store
	asked, left chan struct{}
}

func (h *held) Range(ctx context.Context, _ history.Query) ([]history.Point, error) {
	close(h.asked)
	<-ctx.Done()
	close(h.left)
	return nil, ctx.Err()
}

func (h *held) First(context.Context, string) (time.Time, error) { return time.Time{}, nil }

func (h *held) Close() error { return nil }

// served returns a client of a store in a goroutine, and what Serve has returned.
func served(t *testing.T, store history.Store) (*Client, net.Conn, chan error) {
	t.Helper()
	here, there := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(t.Context(), there, func(context.Context, string) (history.Store, error) { return store, nil })
		there.Close()
	}()
	c, err := Open(t.Context(), here, "x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, there, ended
}

// TestACallerThatLeaves: what it has asked for ends, and the others go on.
func TestACallerThatLeaves(t *testing.T) {
	t.Parallel()
	store := &held{asked: make(chan struct{}), left: make(chan struct{})}
	c, _, _ := served(t, store)
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-store.asked; leave() }()
	if _, err := c.Range(ctx, history.Query{Target: "a"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-store.left
	if _, err := c.First(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if n := len(c.waiting); n != 0 {
		t.Errorf("%d requests still wait", n)
	}
}

// TestTheOtherEndGoes: those that wait get an error, and so do those that come after them.
func TestTheOtherEndGoes(t *testing.T) {
	t.Parallel()
	store := &held{asked: make(chan struct{}), left: make(chan struct{})}
	c, there, ended := served(t, store)
	go func() { <-store.asked; there.Close() }()
	if _, err := c.Range(t.Context(), history.Query{Target: "a"}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := c.First(t.Context(), "a"); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	<-ended
	<-store.left
}

// both represents an input and an output.
type both struct {
	io.Reader
	io.Writer
}

func frame(message any) string {
	text, _ := json.Marshal(message)
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(text)))) + string(text)
}

// TestHostileRequests: no bytes end the program, and what is refused says why.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	open := frame(request{ID: 1, Do: "open", Form: Form})
	for name, c := range map[string]struct{ in, ends, replies string }{
		"a length that is too large": {"\xff\xff\xff\xff", "a message of 4294967295 bytes", ""},
		"a cut length":               {open + "\x00\x00", "unexpected EOF", `{"id":1}`},
		"a cut text":                 {"\x00\x00\x00\x09{", "unexpected EOF", ""},
		"no JSON":                    {"\x00\x00\x00\x01x", "invalid character", ""},
		"nothing is open":            {frame(request{ID: 1, Do: "first"}), "nothing is open", ""},
		"opened twice":               {open + open, "", "a store is open already"},
		"another form": {frame(request{ID: 1, Do: "open", Form: Form + 1}), "",
			"install both of the same version"},
		"an unknown request": {open + frame(request{ID: 2, Do: "x"}), "", "it is not known how to"},
		"damaged points": {open + frame(request{ID: 2, Do: "append", Rows: []row{{Points: []byte("x")}}}), "",
			"it is not what was written"},
		"more than can be at once": {open + many(), "more than 300 requests at once", ""},
	} {
		var out bytes.Buffer
		store := &waiting{}
		err := Serve(t.Context(), both{strings.NewReader(c.in), &out},
			func(context.Context, string) (history.Store, error) { return store, nil })
		if got := ""; err != nil {
			got = err.Error()
			if c.ends == "" || !strings.Contains(got, c.ends) {
				t.Errorf("%s: it ends with %q", name, got)
			}
		} else if c.ends != "" {
			t.Errorf("%s: no error", name)
		}
		if !strings.Contains(out.String(), c.replies) {
			t.Errorf("%s: the replies are %q", name, out.String())
		}
	}
}

// waiting represents a store whose turns are had until their callers go.
type waiting struct{ history.Store }

func (*waiting) Turn(context.Context, string) (func(), error) { return func() {}, nil }

func (*waiting) Close() error { return nil }

func many() string {
	var all strings.Builder
	for i := range atOnce + 1 {
		all.WriteString(frame(request{ID: uint64(i + 10), Do: "turn"}))
	}
	return all.String()
}
