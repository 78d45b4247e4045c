package entity

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
)

// stampable represents an item with a last use, and an event of its updates.
type stampable struct {
	Kind    string
	Used    time.Time
	Updated time.Time
	Version int64
}

var stampUsed = Field[stampable, time.Time]{"used", func(n *stampable) *time.Time { return &n.Used }}

func stampableSpec(used value.Codec[time.Time]) *Spec[string, stampable] {
	base := noteSpec("n")
	base.Records, base.Lease, base.Expires = "{n}:ledger", "{n}:sweep", "{n}:expiry"
	kind := "n:idx:kind:"
	return &Spec[string, stampable]{entry: base.entry, Prefix: base.Prefix, Key: base.Key, Parse: base.Parse,
		Fields: &value.Fields[stampable]{Columns: []value.Column[stampable]{
			value.Required("kind", value.Text(0), func(n *stampable) *string { return &n.Kind }),
			value.Required("used", used, func(n *stampable) *time.Time { return &n.Used }),
			value.Required("updated", value.UnixMS(), func(n *stampable) *time.Time { return &n.Updated }),
			value.Required("version", value.Int(1, math.MaxInt64), func(n *stampable) *int64 { return &n.Version }),
		}},
		Indexes: []Index[stampable]{
			{Name: "kind", Field: "kind", Prefix: kind, Key: func(n *stampable) (string, error) { return part(kind, n.Kind) }},
			{Name: "used", Score: "used", Prefix: "n:idx:used"},
		},
		Expires: base.Expires, Records: base.Records, Lease: base.Lease, IndexTTL: base.IndexTTL,
		Updated: "updated", Version: "version",
		OnUpdate: []Event{{Mode: Publish, Channel: "updated", Data: []Part{{Name: "id", Form: value.Quoted}}}},
	}
}

// TestStamp: a stamp moves what is sorted by it and prolongs the item. The version, the stamp of
// the update and the listeners of updates do not notice.
func TestStamp(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		heard := s.Monitor()
		stamping(t, storeOf(notes.core.Client, stampableSpec(value.UnixMS())))
		published := 0
		for _, line := range heard() {
			if strings.Contains(strings.ToUpper(line), `"PUBLISH" "UPDATED"`) {
				published++
			}
		}
		if published != 1 {
			t.Errorf("%d events, of one update", published)
		}
	})
	clusters(t, func(t *testing.T, c *keywrighttest.Cluster) {
		stamping(t, storeOf(open(t, c.URL()), stampableSpec(value.UnixMS())))
	})
}

func stamping(t *testing.T, s *Store[string, stampable]) {
	ctx := t.Context()
	long := time.Now().Add(-time.Hour)
	for _, id := range []string{"1", "2"} {
		_, err := s.Create(ctx, id, stampable{Kind: "a", Used: long})
		must(t, err)
	}
	before, err := s.Get(ctx, "1")
	must(t, err)
	must(t, s.Stamp(ctx, "1", stampUsed, keywright.ExpiresIn(5*time.Hour)))
	after, err := s.Get(ctx, "1")
	must(t, err)
	if v := after.Value; v.Used.Before(long.Add(30*time.Minute)) || after.Version != before.Version ||
		!v.Updated.Equal(before.Value.Updated) {
		t.Errorf("before %+v, after %+v", before, after)
	}
	page, err := s.List(ctx, Query[stampable]{Of: s.By("used", ""), Newest: true})
	must(t, err)
	if len(page.Items) != 2 || page.Items[0].ID != "1" {
		t.Errorf("by the last use: %+v", page.Items)
	}
	version, err := s.UpdateIf(ctx, "1", before.Version,
		Field[stampable, string]{"kind", func(n *stampable) *string { return &n.Kind }}.Set("b"))
	if err != nil || version <= before.Version {
		t.Errorf("an update of the version that was read before the stamp: %d %v", version, err)
	}
	if err := s.Stamp(ctx, "3", stampUsed); !errors.Is(err, keywright.ErrNotFound) {
		t.Errorf("an item that is not there: %v", err)
	}
	if err := s.Stamp(ctx, "1",
		Field[stampable, time.Time]{"updated", func(n *stampable) *time.Time { return &n.Updated }}); err == nil {
		t.Error("the server's own stamp was stamped")
	}
	got, err := s.Check(ctx, CheckOptions{Found: func(p Problem) { t.Errorf("%+v", p) }})
	if err != nil || got.Problems != 0 {
		t.Errorf("%+v %v", got, err)
	}
}

// TestStampInSeconds: the unit is that of the field.
func TestStampInSeconds(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	store := storeOf(open(t, s.URL()), stampableSpec(value.UnixS()))
	_, err := store.Create(t.Context(), "1", stampable{Kind: "a", Used: time.Unix(1, 0)})
	must(t, err)
	must(t, store.Stamp(t.Context(), "1", stampUsed))
	item, err := store.Get(t.Context(), "1")
	if err != nil || time.Since(item.Value.Used).Abs() > time.Hour {
		t.Errorf("%+v %v", item, err)
	}
}
