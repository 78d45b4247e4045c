package event_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/gen/acl"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
)

const declared = `keywright: 1
owner: shop
keys:
  kept: {key: "kept:{n}", type: string, ttl: 1h, owner: keeper}
channels:
  open: {channel: "notes:open", readers: [mail]}
  plain: {channel: "notes:plain", envelope: plain, readers: [mail]}
  shard: {channel: "notes:shard", sharded: true, readers: [mail]}
  journal: {channel: journal, durable: {maxlen: 1000, age: 7d}, readers: [mail]}
  ask: {channel: "notes:ask", reply: {n: int}, reply_channel: "answers:{caller}", readers: [mail]}
`

// as returns a client that logs in as a component.
func as(t *testing.T, s *keywrighttest.Server, user string) *keywright.Client {
	return open(t, strings.Replace(s.URL(), "://", "://"+user+":secret@", 1))
}

// The users that the declaration gives suffice for all that the package does.
func TestUnderTheirUsers(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(declared)}}, "k.yaml")
			if len(found) > 0 {
				t.Fatal(found)
			}
			users, err := acl.Users(ks)
			must(t, err)
			for _, u := range users {
				s.Do(append([]string{"ACL", "SETUSER"}, append(u.SetUser(), "on", ">secret")...)...)
			}
			shop, mail := as(t, s, "shop"), as(t, s, "mail")
			for who, config := range map[string]event.Config{"open": {}, "plain": {Plain: true}, "shard": {Sharded: true}} {
				var h received
				_, err := topic(mail, config, who).Subscribe(t.Context(), event.Options{}, h.receive)
				must(t, err)
				must(t, topic(shop, config, who).Publish(t.Context(), note{N: 1}))
				eventually(t, who+" is heard", func() bool { return len(h.messages()) == 1 })
			}
			testJournal(t, journal(shop, event.StreamConfig{MaxLen: 1000}), journal(mail, event.StreamConfig{Retry: 1}))
			serving(t, exchange(mail, event.Config{}), event.ServeOptions{}, double)
			first(t, exchange(shop, event.Config{}))
			// it may use no channel, and the connection of a transaction ends what it may have subscribed to
			keeper := as(t, s, "keeper")
			must(t, keeper.Raw().Dedicated(func(own rueidis.DedicatedClient) error {
				return own.Do(t.Context(), own.B().Exists().Key("kept:1").Build()).Error()
			}))
			// Redis 7.0 does not know the first two, so no rule has them; a client works without the third
			newer := regexp.MustCompile(`object client\|(setinfo|no-touch|tracking) `)
			for _, refused := range s.Do("ACL", "LOG", "1000").([]any) {
				if text := fmt.Sprint(refused); !newer.MatchString(text) {
					t.Errorf("a program was refused what it needs: %s", text)
				}
			}
		})
	}
}

// testJournal does all that there is with a stream, as its owner and a reader.
func testJournal(t *testing.T, owner, reader event.Stream[note]) {
	publish(t, owner, 0, 10)
	stop := started(t, reader, "g", event.RunOptions[note]{OnError: func(err error) {
		if class, ok := keywright.ClassOf(err); ok && class == keywright.Refused {
			t.Error(err)
		}
	}}, func(_ context.Context, m event.Stored[note]) error {
		if m.Data.N == 5 {
			return event.Discard(context.Canceled)
		}
		return nil
	})
	eventually(t, "the reader has all", func() bool {
		stats, err := reader.Stats(t.Context())
		return err == nil && len(stats.Groups) == 1 && stats.Groups[0].Lag+stats.Groups[0].Pending == 0 && stats.Dead == 1
	})
	stop()
	dead, err := reader.Dead(t.Context(), event.Begin, 1)
	must(t, err)
	_, err = reader.Redrive(t.Context(), dead[0].ID)
	must(t, err)
	_, err = owner.Trim(t.Context(), event.Policy{MaxLen: 1, Apply: true})
	must(t, err)
}
