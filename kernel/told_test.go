package kernel

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/keywright/keywright/kernel/notice"
)

// TestASlowHookIsToldWhatItMissed: of notices of connections that wait for a slow hook the
// oldest go, the last one is delivered, and what was not delivered is counted.
func TestASlowHookIsToldWhatItMissed(t *testing.T) {
	const many = 5 * maxWaiting
	heard, goOn := make(chan Notice), make(chan struct{})
	c := &Client{noticing: true, life: t.Context(), hooks: []Hook{{Notice: func(_ context.Context, n Notice) {
		heard <- n
		<-goOn
	}}}}
	x := &connections{client: c}
	x.tell(Notice{Kind: notice.Disconnected})
	first := <-heard // the hook is slow from now on
	for i := range many {
		x.tell(Notice{Kind: notice.Reconnecting, Attempt: i + 1})
		x.mu.Lock()
		waiting := len(x.waiting)
		x.mu.Unlock()
		if waiting > maxWaiting {
			t.Fatalf("%d notices wait", waiting)
		}
	}
	x.tell(Notice{Kind: notice.Reconnected})
	goOn <- struct{}{}
	told, dropped, last := 1, first.Dropped, first
	for last.Kind != notice.Reconnected {
		last = <-heard
		if told++; told == 2 && last.Dropped == 0 {
			t.Error("what was dropped is not said at once")
		}
		dropped += last.Dropped
		goOn <- struct{}{}
	}
	if told+dropped != many+2 || told > maxWaiting+1 {
		t.Errorf("%d were told and %d dropped, of %d", told, dropped, many+2)
	}
	var log bytes.Buffer
	c = &Client{log: slog.New(slog.NewTextHandler(&log, nil))}
	c.Notice(t.Context(), Notice{Kind: notice.Reconnected, Dropped: 7})
	if !strings.Contains(log.String(), "not_told=7") {
		t.Errorf("the log says %s", log.String())
	}
}
