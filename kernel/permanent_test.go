package kernel_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keywrighttest"
)

// TestPermanentRefusals: a right, a command or a type that is not there is distinguished from what passes, and the
// error names the command and the key. The log has the code and the command, and never a word of a sentence or a key.
func TestPermanentRefusals(t *testing.T) {
	brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		s.Do("ACL", "SETUSER", "app", "on", ">p", "~*", "&*", "+@all", "-get", "-zadd")
		s.Do("RPUSH", "list", "x")
		var log bytes.Buffer
		c := open(t, "redis://app:p@"+s.Addr(), keywright.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		do := func(script *keywright.Script, key string, words ...string) error {
			o := kernel.Spec[struct{}]{Action: kernel.Action{Client: c, Name: "try", Effect: keywright.Writes, Key: key},
				Decode: func(r kernel.Reply) (struct{}, error) { return struct{}{}, r.Error() }}
			if o.Script, o.Keys = script, []string{key}; script == nil {
				o.Keys = nil
				o.Build = func(b kernel.Builder) kernel.Command { return b.Arbitrary(words...).Keys(key).Build() }
			}
			_, err := kernel.NewOp(o).Do(t.Context())
			return err
		}
		zadd := keywright.NewScript("puts", "return redis.call('ZADD', KEYS[1], 1, 'x')")
		for _, x := range []struct {
			err      error
			commands []string
			key      string
		}{
			{do(nil, "secret", "GET"), []string{"get"}, "secret"},
			{do(zadd, "secret"), []string{"zadd", "script puts"}, "secret"}, // Redis 7.0 does not say which command it was
			{do(nil, "secret", "NOSUCH"), []string{"nosuch"}, "secret"},
			{do(nil, "list", "STRLEN"), []string{"strlen"}, "list"},
		} {
			e, _ := kernel.Permanent(x.err).(*keywright.Error)
			if e == nil || e.Class != keywright.Refused || !slices.Contains(x.commands, e.Command) || e.Key != x.key {
				t.Errorf("%+v: want %q and %q", x.err, x.commands, x.key)
			}
		}
		for _, err := range []error{nil, keywright.ErrNotFound, do(nil, "list", "EXPIRE")} { // a wrong number of arguments
			if kernel.Permanent(err) != nil {
				t.Errorf("%v is permanent", err)
			}
		}
		text := log.String()
		if strings.Contains(text, "error=The") || strings.Contains(text, "secret") || strings.Count(text, "NOPERM") != 2 ||
			!strings.Contains(text, `error="NOPERM get"`) || !strings.Contains(text, "error=ERR") {
			t.Errorf("the log:\n%s", text)
		}
	})
}

// TestWhatNoCallerHearsIsLogged: without a logger of its own a client writes to that of slog, and nothing of
// operations.
func TestWhatNoCallerHearsIsLogged(t *testing.T) {
	var log bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(old)
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("ACL", "SETUSER", "app", "on", ">p", "~*", "&*", "+@all", "-get")
	c := open(t, "redis://app:p@"+s.Addr())
	quiet := open(t, "redis://app:p@"+s.Addr(), keywright.Options{Logger: slog.New(slog.DiscardHandler)})
	h := everykeys.New(c).Str(1)
	_, err := h.Get().Do(t.Context())
	if err == nil || c.Observed() || quiet.Observed() || log.Len() > 0 {
		t.Errorf("%v, observed: %t, the log: %s", err, c.Observed(), log.String())
	}
	for range 3 {
		c.Unheard("run", h.Entry(), err)
		quiet.Unheard("run", h.Entry(), err)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 ||
		!strings.Contains(text, `entry=str op=run error="NOPERM get"`) {
		t.Errorf("the log: %s", text)
	}
}

// TestANoticeOfNothing: a notice without a kind is none, and no panic.
func TestANoticeOfNothing(t *testing.T) {
	c := kernel.New(nothing{}, keywright.Options{Hooks: []keywright.Hook{{}, {Notice: func(_ context.Context,
		n keywright.Notice) {
		t.Errorf("%+v", n)
	}}}})
	c.Notice(t.Context(), keywright.Notice{})
}
