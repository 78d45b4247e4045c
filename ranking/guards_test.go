package ranking

import (
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// writes checks, with the scripts given, what TestNoWriteWithoutItsTTL,
// TestScoresBeyondTheExactAreRefused, TestFirstToReach and TestWindowIsBuiltOnce
// check with the real ones.
func writes(t *testing.T, s *keywrighttest.Server, c *keywright.Client, sc scripts) error {
	s.Do("DEL", "g:2026-11-21", "f:2026-11-21", "g:window:2026-11-21")
	b, f := board(t, c, "g:", &numbers, ByMember), board(t, c, "f:", &numbers, FirstToReach)
	b.script, f.script = sc, sc
	if _, err := b.Increase(t.Context(), today, 1, maxScore); err != nil {
		return err
	}
	if ms := s.Do("PTTL", "g:2026-11-21").(int64); ms < 1 {
		return fmt.Errorf("a ranking with a TTL of %d ms", ms)
	}
	if _, err := b.LaterIncrease(today, []Change[int64, int64]{{2, 5}, {1, 1}}).Do(t.Context()); err == nil {
		return fmt.Errorf("2^53 was counted")
	}
	for i, m := range []int64{2, 1} { // 1 is a day later than 2
		f.Step.Begin = func(time.Time) time.Time { return time.Now().Add(-time.Duration(i) * 20 * time.Hour) }
		if _, err := f.Increase(t.Context(), today, m, 10); err != nil {
			return err
		}
	}
	if rows, err := f.Of(today).Top(t.Context(), 1); err != nil || rows[0].Member != 2 {
		return fmt.Errorf("first to reach: %v, %v", rows, err)
	}
	w, err := NewWindows(keywright.Binding{Entry: expires("w", time.Minute)}, b,
		WindowConfig[float64]{Key: dayKey("g:window:"),
			Score: &floats, Weights: []float64{1, 2}})
	if err != nil {
		return err
	}
	for range 2 {
		if _, err := w.Ending(today).Top(t.Context(), 1); err != nil {
			return err
		}
		if ms := s.Do("PTTL", "g:window:2026-11-21").(int64); ms < 1 {
			return fmt.Errorf("a window with a TTL of %d ms", ms)
		}
		s.Do("PEXPIRE", "g:window:2026-11-21", "30000")
	}
	if _, err := w.Ending(today).Top(t.Context(), 1); err != nil || s.Do("PTTL", "g:window:2026-11-21").(int64) > 30_000 {
		return fmt.Errorf("a window that is there was built again, %v", err)
	}
	return nil
}

func TestGuardsOfWritesMatter(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	c := open(t, s.URL())
	if err := writes(t, s, c, standard); err != nil {
		t.Fatal(err)
	}
	for what, edit := range map[string][3]string{
		"the TTL of a ranking":    {"write", "redis.call('PEXPIRE', KEYS[1], ttl)", ""},
		"the bound of scores":     {"write", "math.abs(new) > most", "false"},
		"the time":                {"write", "new == score and have or new + early", "new"},
		"the server's time":       {"write", "math.floor(clock() / 1000) - begins", "0"},
		"the TTL of a window":     {"window", "redis.call('PEXPIRE', KEYS[1], ttl)", ""},
		"only if it is not there": {"window", "if left < 0 then", "if true then"},
	} {
		mutant, n := parts.Mutant(edit[0], edit[1], edit[2])
		if n != 1 {
			t.Errorf("%q is not once in the script", edit[1])
		}
		if writes(t, s, c, newScripts(mutant)) == nil {
			t.Errorf("without %s: nothing notices", what)
		}
	}
}

// TestGuardOfAKeptWindowMatters: a client that adds up reads the window's key only
// if it is there.
func TestGuardOfAKeptWindowMatters(t *testing.T) {
	t.Parallel()
	c := open(t, keywrighttest.Start(t, keywrighttest.Redis).URL())
	for name, script := range map[string]*keywright.Script{"": standard.cached,
		"mutant": keywright.NewReadOnlyScript("mutant", parts.Script("read"))} {
		v, model := windowOf(t, c, "kept"+name+":", 5)
		v.script.cached = script
		err := agrees(t.Context(), v.merged, v.encode, model)
		if (err == nil) != (name == "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
