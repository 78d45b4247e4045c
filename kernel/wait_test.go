package kernel_test

import (
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/keywrighttest"
)

// TestAWaitBelowAMillisecond is short: to the server, 0 ms means for ever.
func TestAWaitBelowAMillisecond(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	k := everykeys.New(open(t, s.URL(), keywright.Options{}))
	s.Do("XGROUP", "CREATE", "every:strm:1", "g", "$", "MKSTREAM")
	within(t, "a read of a group", func() {
		if got, err := k.StrmGGroup(1).Read(t.Context(), "c", 1, time.Microsecond); err != nil || len(got) > 0 {
			t.Errorf("%v, %v", got, err)
		}
	})
	within(t, "a wait for replicas", func() {
		if _, confirmed, err := k.Bin(1).Delete().DoAndWait(t.Context(), 1, time.Microsecond); err != nil ||
			confirmed != 0 {
			t.Errorf("%d replicas, %v", confirmed, err)
		}
	})
}
