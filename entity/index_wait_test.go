package entity

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/entity/internal/crossslot"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/internal/upkeep"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
)

// TestIntentsOfABuild: an intent is of before a building unless it names its builder, whatever
// the clock says: it may have been put back by less than the building has lasted.
func TestIntentsOfABuild(t *testing.T) {
	t.Parallel()
	b := &upkeep.Indexing{Store: &itemkeys.Keys{Spec: &itemkeys.Description{}}, Builder: "BUILDER1",
		Builds: true}
	intent := func(opened int64, builders string) string {
		text := fmt.Sprintf("t=1:tm=0:k=1:wo=%d:%d", len(fmt.Sprint(opened)), opened)
		if builders != "" {
			text += fmt.Sprintf("b=%d:%s", len(builders), builders)
		}
		return fmt.Sprintf("!=%d:%s", len(text), text)
	}
	now := time.Now().UnixMilli()
	for entry, want := range map[string]bool{
		intent(now, "BUILDER1"):                                                      false,
		intent(now, "BUILDER0BUILDER1"):                                              false,
		intent(now-time.Hour.Milliseconds(), "BUILDER1"):                             false,
		intent(now+time.Hour.Milliseconds(), "BUILDER1"):                             false,
		intent(now, "BUILDER0"):                                                      true,
		intent(now, ""):                                                              true,
		intent(now+1, ""):                                                            true,
		intent(now+time.Hour.Milliseconds(), ""):                                     true,
		intent(now, "BUILDER1") + intent(now+1, ""):                                  true,
		intent(now, "") + intent(now+1, "BUILDER1"):                                  true,
		intent(now, "BUILDER1") + intent(now+1, "BUILDER1BUILDER2"):                  false,
		strings.Replace(intent(now, "BUILDER1"), "k=1:w", "k=1:"+crossslot.Taken, 1): true,
		"#=1:x": false,
	} {
		if got := b.IsWritten("=" + entry); got != want {
			t.Errorf("%s: %t", entry, got)
		}
	}
	b.Builds = false // all is complete: no intent may make it less
	if b.IsWritten("=" + intent(now, "")) {
		t.Error("an item waits though nothing is built")
	}
}

// TestIntentsNameTheBuilders: what is opened while indexes are built says by which calls; what
// was opened before does not, and what is opened after the end neither.
func TestIntentsNameTheBuilders(t *testing.T) {
	t.Parallel()
	c := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 0)
	notes := spread(t, c.URL(), "n")
	server := serverOf(c, notes.core.Spec.Records)
	_, err := notes.Create(t.Context(), "whole", a("k", 1))
	must(t, err)
	builders := func(id string) []string {
		t.Helper()
		must(t, crossslot.Open(t.Context(), notes.core, crossslot.NewIntent(id, crossslot.Writing), ""))
		record, _ := server.Do("HGET", notes.core.Spec.Records, id).(string)
		return crossslot.IntentsOf(record).Builders
	}
	if got := builders("before"); len(got) != 1 || got[0] != "" {
		t.Errorf("before: %q", got)
	}
	b := &upkeep.Indexing{Store: notes.core, Options: IndexOptions{Apply: true}, Builder: "BUILDER1"}
	must(t, b.Begin(t.Context()))
	if b.Builds {
		t.Error("all is complete, and it builds")
	}
	said := server.Do("HGET", notes.core.Spec.Records, "").(string)
	server.Do("HSET", notes.core.Spec.Records, "", said[:indexrecord.TokenSize]+strings.ReplaceAll(said[indexrecord.TokenSize:],
		"+", "-"))
	must(t, b.Begin(t.Context()))
	if !b.Builds {
		t.Error("it does not build")
	}
	if got := builders("meanwhile"); len(got) != 1 || got[0] != "BUILDER1" {
		t.Errorf("meanwhile: %q", got)
	}
	if got := builders("before"); len(got) != 2 || got[0] != "" || got[1] != "BUILDER1" {
		t.Errorf("one more of an item that was being written before: %q", got)
	}
	must(t, b.End(t.Context()))
	if got := builders("after"); len(got) != 1 || got[0] != "" {
		t.Errorf("after: %q", got)
	}
}

// TestABuildThatWaits: an intent that was opened later than now, before the clock was put
// back or by a hand that is not ours, holds a build up no longer than one of this moment;
// and what is gone, or was settled meanwhile, is not left.
func TestABuildThatWaits(t *testing.T) {
	t.Parallel()
	c := keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, 0)
	notes := spread(t, c.URL(), "n")
	notes.core.Windows = quick
	_, err := notes.Create(t.Context(), "whole", a("k", 1))
	must(t, err)
	now, err := notes.core.Now(t.Context())
	must(t, err)
	if off := time.Since(time.UnixMilli(now)).Abs(); off > time.Minute {
		t.Errorf("the clock of the server with the index records is off by %v", off)
	}
	for what, opened := range map[string]string{
		"tomorrow": strconv.FormatInt(now+86_400_000, 10), "a number that is too long": strings.Repeat("9", 30),
	} {
		intent := "t=1:tm=0:k=1:wo=" + strconv.Itoa(len(opened)) + ":" + opened
		serverOf(c, notes.core.Spec.Records).Do("HSET", notes.core.Spec.Records, "open",
			"=!="+strconv.Itoa(len(intent))+":"+intent)
		b := &upkeep.Indexing{Store: notes.core, Options: IndexOptions{Apply: true}, Waiting: []string{"open"}}
		ctx, cancel := context.WithTimeout(t.Context(), expect.Patience)
		if err := b.Sweep(ctx); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		cancel()
	}

	b := &upkeep.Indexing{Store: notes.core, Options: IndexOptions{Apply: true}, Builds: true}
	b.Again()
	b.Waiting, b.Report.Items = []string{"gone", "whole", "open"}, 3
	must(t, b.GiveUp(t.Context()))
	if b.Left != 1 || len(b.Waiting) > 0 || b.Report.Items != 2 {
		t.Errorf("%d left, %d wait, %d items", b.Left, len(b.Waiting), b.Report.Items)
	}
	for _, ix := range b.Report.Indexes {
		if ix.Missing != 1 || ix.Items != 1 {
			t.Errorf("%s has %d items and may miss %d", ix.Name, ix.Items, ix.Missing)
		}
	}
}
