package examples

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/examples/cunningbot/cunningkeys"
	"github.com/keywright/keywright/examples/harca/harcakeys"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/kernel/guard"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
)

// guarded returns a client that refuses what the team's declaration does not have.
func guarded(t *testing.T, team, url string) *keywright.Client {
	t.Helper()
	ks, _ := load.File(os.DirFS(team), "keyspace.yaml")
	g, err := guard.New(ks, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return servertest.Open(t, url, keywright.Options{Wrap: g.Wrap, Sealer: servertest.Ring(t, "a")})
}

// TestScriptsAsFunctions: the pages' scripts, corrected, as typed functions on
// real servers, with a guard.
func TestScriptsAsFunctions(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			s := keywrighttest.Start(t, brand)
			t.Run("trivia", func(t *testing.T) { trivia(t, s) })
			t.Run("history", func(t *testing.T) { history(t, s) })
			t.Run("items", func(t *testing.T) { items(t, s) })
		})
	}
}

func trivia(t *testing.T, s *keywrighttest.Server) {
	ctx, k := t.Context(), cunningkeys.New(guarded(t, "cunningbot", s.URL()))
	const guild, game = "844003671334977607", "quiz-1"
	key, err := cunningkeys.TriviaGameKey(guild, game)
	if err != nil {
		t.Fatal(err)
	}
	s.Do("HSET", key, "question", "?", "options", "[]", "answer", "a", "channel_id", guild, "started_at", "1", "ends_at",
		"99999999999", "status", "open", "submission_count", "0")
	s.Do("PEXPIRE", key, "60000")
	submit := func(user, answer string) int64 {
		n, err := k.TriviaSubmit(guild, game, user, json.RawMessage(answer)).Do(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	equal(t, "the first answer", submit("123456789012345678", `{"options":[]}`), int64(1))
	equal(t, "the same user again", submit("123456789012345678", `{"options":[1]}`), int64(1))
	equal(t, "another user", submit("223456789012345678", `{}`), int64(2))
	got, err := k.TriviaGame(guild, game).Get().Do(ctx)
	if err != nil || got.SubmissionCount == nil || *got.SubmissionCount != 2 || got.ChannelID != guild {
		t.Errorf("%+v %v", got, err)
	}
	answers, err := k.TriviaSubmissions(guild, game).All().Do(ctx)
	if err != nil || string(answers["123456789012345678"]) != `{"options":[1]}` || len(answers) != 2 {
		t.Errorf("%s %v", answers, err)
	}
	if left, err := k.TriviaSubmissions(guild, game).TTL().Do(ctx); err != nil || left <= 0 || left > time.Minute {
		t.Errorf("%v %v", left, err)
	}
	for what, call := range map[string]func() error{
		"a user that is no snowflake": func() error { _, err := k.TriviaSubmit(guild, game, "me", nil).Do(ctx); return err },
		"an answer that is no JSON": func() error {
			_, err := k.TriviaSubmit(guild, game, "123456789012345678", json.RawMessage("{")).Do(ctx)
			return err
		},
		"a guild that is none": func() error {
			_, err := k.TriviaSubmit("x:y", game, "123456789012345678", json.RawMessage("{}")).Do(ctx)
			return err
		},
	} {
		if class, ok := keywright.ClassOf(call()); !ok || class != keywright.Invalid {
			t.Errorf("%s: %v", what, call())
		}
	}
}

func history(t *testing.T, s *keywrighttest.Server) {
	ctx, k := t.Context(), cunningkeys.New(guarded(t, "cunningbot", s.URL()))
	const guild, channel = "844003671334977607", "123456789"
	stories := k.HistoryStories(guild, channel)
	now := time.Now()
	if _, err := stories.AddAll([]typed.Scored[string, time.Time]{{Member: "aa", Score: now.Add(-48 * time.Hour)},
		{Member: "bb", Score: now}}).Do(ctx); err != nil {
		t.Fatal(err)
	}
	n, err := k.CleanupHistory(guild, channel, 24).Do(ctx)
	if err != nil || n != 1 {
		t.Errorf("%d %v", n, err)
	}
	if _, err := k.CleanupHistory(guild, channel, 500).Do(ctx); err == nil {
		t.Error("500 hours were taken; the declaration says 6..168")
	}
	seen, err := k.BatchAddSeen(guild, "san_diego", 10, json.RawMessage(`["a","b"]`)).Do(ctx)
	if err != nil || string(seen) != `["a","b"]` {
		t.Errorf("%s %v", seen, err)
	}
}

// items is the conditional update of the memory store: of writers that read the
// same version one gets through.
func items(t *testing.T, s *keywrighttest.Server) {
	ctx, k := t.Context(), harcakeys.New(guarded(t, "harca", s.URL()))
	const id = "01932f6e-7c1a-4d3e-8f60-2b1c9a4d5e6f"
	key, err := harcakeys.ItemKey(id)
	if err != nil {
		t.Fatal(err)
	}
	handle := k.Item(id)
	sealed := func(text string) value.Sealed { // a script gets what its caller has sealed
		sealed, err := k.Client().Seal(handle.Entry(), key, "content", strconv.Quote(text))
		if err != nil {
			t.Error(err)
		}
		return value.Sealed(sealed)
	}
	s.Do("HSET", key, "id", id, "type", "fact", "content", string(sealed("v")), "contextId", "global", "priority", "5",
		"createdAt", "1795167000000", "version", "1", "metadata", "{}")
	s.Do("PEXPIRE", key, "60000")
	channel, err := harcakeys.ItemUpdatedChannel()
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan event.Message[harcakeys.ItemUpdatedMessage], 20)
	stop, err := k.ItemUpdatedTopic().Subscribe(ctx, event.Options{},
		func(m event.Message[harcakeys.ItemUpdatedMessage], err error) {
			if err != nil {
				t.Errorf("an event that is not as declared: %v", err)
			}
			told <- m
		})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	won := make(chan int64, 20)
	for i := range cap(won) {
		go func() {
			n, err := k.UpdateItem(id, 1, sealed(fmt.Sprint("v", i)), channel,
				int64(k.Client().Database())).Do(context.Background())
			if err != nil {
				n = -9
			}
			won <- n
		}()
	}
	through := 0
	for range cap(won) {
		switch n := <-won; n {
		case 2:
			through++
		case 0:
		default:
			t.Errorf("update gave %d", n)
		}
	}
	select {
	case m := <-told:
		if m.Data.ID != id || m.Data.Type != "fact" || m.Data.ContextID != "global" || m.Time.IsZero() {
			t.Errorf("the event of the update: %+v", m)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("no event of the update in two minutes")
	}
	item, err := k.Item(id).Get().Do(ctx)
	if through != 1 || err != nil || item.Version != 2 || item.UpdatedAt == nil ||
		!strings.HasPrefix(string(item.Content), `"v`) || item.CreatedAt.UnixMilli() != 1795167000000 {
		t.Errorf("%d writers got through, %+v, %v", through, item, err)
	}
	for _, c := range []struct{ field, value string }{{"priority", ""}, {"createdAt", "yesterday"}, {"version", ""}} {
		s.Do("HSET", key, "priority", "5", "createdAt", "1", "version", "2")
		if s.Do("HDEL", key, c.field); c.value != "" {
			s.Do("HSET", key, c.field, c.value)
		}
		_, err := k.Item(id).Get().Do(ctx)
		if broken, ok := errors.AsType[*keywright.DecodeError](err); !ok || broken.Field != c.field || broken.Key != key ||
			broken.Entry != "item" {
			t.Errorf("%s: %v", c.field, err)
		}
	}
	if n, err := k.UpdateItem("01932f6e-7c1a-4d3e-8f60-000000000000", 1, nil, channel, 0).Do(ctx); err != nil || n != -1 {
		t.Errorf("an item that is gone: %d %v", n, err)
	}
	if _, err := k.Item("01932f6e-7c1a-4d3e-8f60-000000000000").Get().Do(ctx); !errors.Is(err, keywright.ErrNotFound) {
		t.Errorf("%v", err)
	}
}
