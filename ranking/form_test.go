package ranking

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/keywrighttest"
)

// TestFormOfFirstToReach: what an earlier program stored is read, and today's
// program stores the same: its fraction has not changed.
func TestFormOfFirstToReach(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	b := board(t, open(t, s.URL()), "first:", &numbers, FirstToReach)
	text, err := os.ReadFile("testdata/first_to_reach_day")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		s.Do(strings.Fields(line)...)
	}
	rows, err := b.Of(today).Top(t.Context(), 10)
	want := []Row[int64, int64]{{Member: 5, Score: 10}, {Member: 9, Score: 10}, {Member: 1, Score: 10},
		{Member: 7, Score: -3}}
	if err != nil || len(rows) != len(want) {
		t.Fatalf("%v, %v", rows, err)
	}
	for i, row := range rows {
		if row.Member != want[i].Member || row.Score != want[i].Score {
			t.Errorf("%d: %+v, want %+v", i, row, want[i])
		}
	}
	if _, err := b.Increase(t.Context(), today, 5, 0); err != nil ||
		scored(t, s.Do("ZSCORE", "first:2026-11-21", "5")) != 10.972526550292969 {
		t.Errorf("a score that stays is written in another way, %v", err)
	}
	b.Step.Begin = func(time.Time) time.Time { return time.Unix(0, 0) } // long over: the fraction is 0
	if _, err := b.Increase(t.Context(), today, 8, 4); err != nil || s.Do("ZSCORE", "first:2026-11-21", "8") != "4" {
		t.Errorf("%v, %v", s.Do("ZSCORE", "first:2026-11-21", "8"), err)
	}
	b.Step.Begin = func(time.Time) time.Time { return time.Now().Add(1000 * time.Hour) } // not begun: the whole fraction
	if _, err := b.Increase(t.Context(), today, 6, 4); err != nil ||
		scored(t, s.Do("ZSCORE", "first:2026-11-21", "6")) != 4.9999923706054688 {
		t.Errorf("%v, %v", s.Do("ZSCORE", "first:2026-11-21", "6"), err)
	}
}

// scored reads a score: servers write the same one with as many digits as it needs, or with seventeen.
func scored(t *testing.T, score any) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(fmt.Sprint(score), 64)
	if err != nil {
		t.Error(err)
	}
	return f
}
