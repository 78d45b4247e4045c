package entity

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/keywrighttest"
)

// TestABuildThatWaits: an intent that was opened later than now, before the clock was put
// back or by a hand that is not ours, holds a build up no longer than one of this moment;
// and what is gone, or was settled meanwhile, is not left.
func TestABuildThatWaits(t *testing.T) {
	t.Parallel()
	c := keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, 0)
	notes := spread(t, c.URL(), "n")
	notes.windows = quick
	_, err := notes.Create(t.Context(), "whole", a("k", 1))
	must(t, err)
	now, err := notes.now(t.Context())
	must(t, err)
	if off := time.Since(time.UnixMilli(now)).Abs(); off > time.Minute {
		t.Errorf("the clock of the ledger is off by %v", off)
	}
	for what, opened := range map[string]string{
		"tomorrow": strconv.FormatInt(now+86_400_000, 10), "a number that is too long": strings.Repeat("9", 30),
	} {
		intent := "t=1:tm=0:k=1:wo=" + strconv.Itoa(len(opened)) + ":" + opened
		serverOf(c, notes.spec.Ledger).Do("HSET", notes.spec.Ledger, "open", "=!="+strconv.Itoa(len(intent))+":"+intent)
		b := &indexing[string, note]{store: notes, options: IndexOptions{Apply: true}, waiting: []string{"open"}}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if err := b.sweep(ctx); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		cancel()
	}

	b := &indexing[string, note]{store: notes, options: IndexOptions{Apply: true}}
	b.again()
	b.began, b.waiting, b.report.Items = now+time.Hour.Milliseconds(), []string{"gone", "whole", "open"}, 3
	must(t, b.giveUp(t.Context()))
	if b.left != 1 || len(b.waiting) > 0 || b.report.Items != 2 {
		t.Errorf("%d left, %d wait, %d items", b.left, len(b.waiting), b.report.Items)
	}
	for _, ix := range b.report.Indexes {
		if ix.Missing != 1 || ix.Items != 1 {
			t.Errorf("%s has %d items and may miss %d", ix.Name, ix.Items, ix.Missing)
		}
	}
}
