package expect_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/keywright/keywright/internal/expect"
)

// recordingTest is a test that keeps what is reported to it, and goes on when it has failed.
type recordingTest struct {
	testing.TB
	said   string
	failed bool
}

func (t *recordingTest) Helper() {}

func (t *recordingTest) Errorf(format string, args ...any) {
	t.said, t.failed = fmt.Sprintf(format, args...), true
}

func (t *recordingTest) Fatal(args ...any) { t.said, t.failed = fmt.Sprint(args...), true }

// TestItFails: each expectation fails the test when it is not met, and only then.
func TestItFails(t *testing.T) {
	away := errors.New("away")
	var kept []byte
	for name, c := range map[string]struct {
		run  func(testing.TB)
		said string
	}{
		"no error": {func(t testing.TB) { expect.NoError(t, nil) }, ""},
		"an error": {func(t testing.TB) { expect.NoError(t, away) }, "away"},
		"second":   {func(t testing.TB) { expect.NoError(t, expect.Err(3, away)) }, "away"},
		"equal":    {func(t testing.TB) { expect.Equal(t, "n", 1, 1) }, ""},
		"unequal":  {func(t testing.TB) { expect.Equal(t, "n", 1, 2) }, "n: 1, want 2"},
		"equal maps": {func(t testing.TB) {
			expect.EqualMaps(t, map[string]string{"a": "1"}, map[string]string{"a": "1"})
		}, ""},
		"another text": {func(t testing.TB) { expect.EqualMaps(t, map[string]string{"a": "1"}, map[string]string{"a": "2"}) },
			"a: 2, want 1"},
		"one more": {func(t testing.TB) { expect.EqualMaps(t, nil, map[string]string{"a": "2"}) },
			"the number of keys: 1, want 0"},
		"little memory": {func(t testing.TB) { expect.Allocates(t, 1<<20, func() { kept = make([]byte, 1<<10) }) }, ""},
		"much memory": {func(t testing.TB) { expect.Allocates(t, 1<<20, func() { kept = make([]byte, 2<<20) }) },
			"bytes were"},
	} {
		is := &recordingTest{TB: t}
		c.run(is)
		if is.failed != (c.said != "") || c.said != "bytes were" && is.said != c.said {
			t.Errorf("%s: %q, want %q", name, is.said, c.said)
		}
	}
	_ = kept
}

// TestItWaits: what becomes true after a while is waited for.
func TestItWaits(t *testing.T) {
	asked := 0
	expect.Eventually(t, "the fifth time", func() bool { asked++; return asked == 5 })
	expect.Success(t, func() error {
		if asked++; asked < 9 {
			return errors.New("not yet")
		}
		return nil
	})
	expect.Return(t, "a function", func() { asked++ })
	if asked != 10 {
		t.Errorf("asked %d times", asked)
	}
}
