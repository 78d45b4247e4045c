package event_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/keywrighttest"
)

// TestPermissionTakenAway: a subscription whose login may not subscribe to its channel any
// more is notified once, and again when it may.
func TestPermissionTakenAway(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("ACL", "SETUSER", "mail", "on", ">secret", "+@all", "~*", "&*")
	c := as(t, s, "mail")
	var mu sync.Mutex
	var told []string
	say := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		var refused *event.Refused
		var gap *event.Gap
		switch {
		case errors.As(err, &refused) && strings.Contains(err.Error(), "NOPERM"):
			told = append(told, "refused "+refused.Channel)
		case errors.As(err, &gap):
			told = append(told, "gap "+gap.Channel)
		case err != nil:
			told = append(told, err.Error())
		}
	}
	count := func(what string) (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, one := range told {
			if one == what {
				n++
			}
		}
		return n
	}
	var h received
	stop, err := topic(c, event.Config{}, "open").Subscribe(t.Context(), event.Options{},
		func(m event.Message[note], err error) {
			say(err)
			if err == nil {
				h.receive(m, nil)
			}
		})
	must(t, err)
	defer stop()
	serving(t, exchange(c, event.Config{}), event.ServeOptions{OnError: say}, double)
	first(t, exchange(c, event.Config{}))
	s.Do("ACL", "SETUSER", "mail", "resetchannels", "&other:*") // this closes connections with other subscriptions
	eventually(t, "both are told",
		func() bool { return count("refused notes:open") == 1 && count("refused notes:ask") == 1 })
	s.Do("ACL", "SETUSER", "mail", "&*")
	eventually(t, "they hear again", func() bool { return count("gap notes:open") >= 1 && count("gap notes:ask") >= 1 })
	must(t, topic(c, event.Config{}, "open").Publish(t.Context(), note{N: 1}))
	eventually(t, "a message is heard", func() bool { return len(h.messages()) == 1 })
	if n := count("refused notes:open"); n != 1 {
		t.Errorf("told %d times: %v", n, told)
	}
}
