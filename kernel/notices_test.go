package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/keywright/keywright/keywrighttest"
)

// TestNotices: every hook receives every notice; the logger writes one line for what
// people must see, and nothing for a day of work.
func TestNotices(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	var log bytes.Buffer
	var heard []keywright.Notice
	hook := keywright.Hook{Notice: func(_ context.Context, n keywright.Notice) { heard = append(heard, n) }}
	c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{
		Hooks: []keywright.Hook{{}, hook}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Notice(t.Context(), keywright.Notice{Kind: notice.JobDone, Entry: "tasks", Elapsed: time.Second})
	if log.Len() > 0 || len(heard) != 1 {
		t.Errorf("a job that is done wrote %q, and hooks heard %v", log.String(), heard)
	}
	c.Notice(t.Context(), keywright.Notice{Kind: notice.JobDead, Entry: "tasks", Err: errors.New("out of attempts")})
	line := log.String()
	if strings.Count(line, "\n") != 1 ||
		!strings.Contains(line, `msg="a job is dead" entry=tasks error="out of attempts"`) || len(heard) != 2 {
		t.Errorf("a dead job wrote %q, and hooks heard %v", line, heard)
	}
	c.Close()
	if log.String() != line {
		t.Errorf("a normal stop wrote %q", log.String()[len(line):])
	}
}

// TestNoticesOutliveTheirContext: a hook that is called at an end, such as that of a lease, can still use its context.
func TestNoticesOutliveTheirContext(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	type name struct{}
	told := 0
	hook := keywright.Hook{Notice: func(ctx context.Context, _ keywright.Notice) {
		if told++; ctx.Err() != nil || ctx.Value(name{}) != "kept" {
			t.Errorf("the context of a hook: %v, %v", ctx.Err(), ctx.Value(name{}))
		}
	}}
	c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{Hooks: []keywright.Hook{hook}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	ended, end := context.WithCancel(context.WithValue(t.Context(), name{}, "kept"))
	end()
	if c.Notice(ended, keywright.Notice{Kind: notice.LeaseLost}); told != 1 {
		t.Errorf("a hook was told %d times", told)
	}
}

// TestNoticed: without a hook and with a logger that discards all a notice need not be made; the logger
// alone wants only what it writes.
func TestNoticed(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	logger, silent := slog.New(slog.NewTextHandler(io.Discard, nil)), slog.New(slog.DiscardHandler)
	for _, row := range []struct {
		o          keywright.Options
		done, dead bool
	}{
		{keywright.Options{}, false, true}, // the logger is that of slog
		{keywright.Options{Hooks: []keywright.Hook{{}}}, false, true},
		{keywright.Options{Logger: logger}, false, true},
		{keywright.Options{Logger: silent}, false, false},
		{keywright.Options{Hooks: []keywright.Hook{{Notice: func(context.Context, keywright.Notice) {}}}}, true, true},
	} {
		c, err := keywright.Open(t.Context(), s.URL(), row.o)
		if err != nil {
			t.Fatal(err)
		}
		if done, dead := c.Noticed(notice.JobDone), c.Noticed(notice.JobDead); done != row.done || dead != row.dead {
			t.Errorf("%+v: done %t, dead %t", row, done, dead)
		}
		c.Close()
	}
}
