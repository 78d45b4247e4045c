package entity

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
)

// tally counts how often a client waits for servers, and what it sends.
type tally struct {
	rueidis.Client
	trips, sent atomic.Int64 // CreateAll sends from several goroutines
}

// Count notes a round trip and its commands.
func (c *tally) Count(commands int) {
	c.trips.Add(1)
	c.sent.Add(int64(commands))
}

// Do counts a command.
func (c *tally) Do(ctx context.Context, command rueidis.Completed) rueidis.RedisResult {
	return c.DoMulti(ctx, command)[0]
}

// DoMulti counts commands that go out together.
func (c *tally) DoMulti(ctx context.Context, commands ...rueidis.Completed) []rueidis.RedisResult {
	c.Count(len(commands))
	return c.Client.DoMulti(ctx, commands...)
}

// DoCache counts a command whose reply is kept: it takes one trip, and says first that it
// is to be kept, in a transaction with its TTL.
func (c *tally) DoCache(ctx context.Context, command rueidis.Cacheable, ttl time.Duration) rueidis.RedisResult {
	result := c.Client.DoCache(ctx, command, ttl)
	if !result.IsCacheHit() {
		c.Count(5)
	}
	return result
}

// cost describes what one call takes.
type cost struct{ trips, sent, executed int }

// least takes the least of two: a script that a server does not know yet costs more.
func (c cost) least(d cost) cost {
	return cost{min(c.trips, d.trips), min(c.sent, d.sent), min(c.executed, d.executed)}
}

// costed represents an operation: what is done before, which does not count, and itself.
type costed struct {
	name   string
	before func(n *Store[string, note], id string) error
	do     func(n *Store[string, note], id string) error
}

func makes(n *Store[string, note], id string) error {
	_, err := n.Create(context.Background(), id, a("k", 1))
	return err
}

func nothing(*Store[string, note], string) error { return nil }

// tenOf makes ten items of a kind.
func tenOf(n *Store[string, note], id string) error {
	var items []Item[string, note]
	for i := range 10 {
		items = append(items, Item[string, note]{ID: fmt.Sprint(id, "-", i), Value: a(id, 1)})
	}
	_, err := n.CreateAll(context.Background(), items)
	return err
}

func idsFrom(id string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint(id, "-", i))
	}
	return ids
}

// pageOf lists ten items of a kind.
func pageOf(n *Store[string, note], id string, and ...Of[note]) error {
	p, err := n.List(context.Background(), Query[note]{Of: n.By("kind", id), And: and, Limit: 10})
	if err == nil && len(p.Items) != 10 {
		return fmt.Errorf("%d items", len(p.Items))
	}
	return err
}

var operations = []costed{
	{"`Create`", nothing, makes},
	{"`Create` of one that is there", makes, func(n *Store[string, note], id string) error {
		if err := makes(n, id); !errors.Is(err, ErrExists) {
			return fmt.Errorf("made twice: %w", err)
		}
		return nil
	}},
	{"`Put`, `Replace`, `Save`: the same indexes", makes, func(n *Store[string, note], id string) error {
		_, err := n.Put(context.Background(), id, a("k", 1))
		return err
	}},
	{"`Put`, `Replace`: in another index", makes, func(n *Store[string, note], id string) error {
		_, err := n.Put(context.Background(), id, a("k2", 1))
		return err
	}},
	{"`Update` of a field without an index", makes, func(n *Store[string, note], id string) error {
		_, err := n.Update(context.Background(), id, setText.Set("x"))
		return err
	}},
	{"`Update` of an indexed field", makes, func(n *Store[string, note], id string) error {
		_, err := n.Update(context.Background(), id, setKind.Set("k2"))
		return err
	}},
	{"`Modify`", makes, func(n *Store[string, note], id string) error {
		_, err := n.Modify(context.Background(), id, func(v *note) error { v.Text = "y"; return nil })
		return err
	}},
	{"`Get`, `Exists`", makes,
		func(n *Store[string, note], id string) error { _, err := n.Get(context.Background(), id); return err }},
	{"`Cached`, the first time", makes, func(n *Store[string, note], id string) error {
		_, err := n.Cached(context.Background(), id, time.Minute)
		return err
	}},
	{"`Cached`, after it", func(n *Store[string, note], id string) error {
		if err := makes(n, id); err != nil {
			return err
		}
		_, err := n.Cached(context.Background(), id, time.Minute)
		return err
	}, func(n *Store[string, note], id string) error {
		_, err := n.Cached(context.Background(), id, time.Minute)
		return err
	}},
	{"`GetMany` of 10", tenOf, func(n *Store[string, note], id string) error {
		_, err := n.GetMany(context.Background(), idsFrom(id, 10)...)
		return err
	}},
	{"`Touch`", makes, func(n *Store[string, note], id string) error { return n.Touch(context.Background(), id) }},
	{"`Shorten`", makes, func(n *Store[string, note], id string) error {
		_, err := n.Shorten(context.Background(), id, time.Minute)
		return err
	}},
	{"`List` of 10", tenOf, func(n *Store[string, note], id string) error { return pageOf(n, id) }},
	{"`List` of 10, listed before", func(n *Store[string, note], id string) error {
		return errors.Join(tenOf(n, id), pageOf(n, id))
	}, func(n *Store[string, note], id string) error { return pageOf(n, id) }},
	{"`List` of 10 in two indexes", tenOf,
		func(n *Store[string, note], id string) error { return pageOf(n, id, n.By("updated", "")) }},
	{"`Count`", tenOf, func(n *Store[string, note], id string) error {
		_, _, err := n.Count(context.Background(), n.By("kind", id), "", "")
		return err
	}},
	{"`Delete`", makes, func(n *Store[string, note], id string) error {
		_, err := n.Delete(context.Background(), id)
		return err
	}},
	{"`Delete` of one that is not there", nothing, func(n *Store[string, note], id string) error {
		_, err := n.Delete(context.Background(), id)
		return err
	}},
	{"`Sweep` of 10 that have expired", func(n *Store[string, note], id string) error {
		err := tenOf(n, id)
		raw := n.core.Client.Raw()
		for _, one := range idsFrom(id, 10) {
			err = errors.Join(err, raw.Do(context.Background(), raw.B().Unlink().Key(n.core.Key(one)).Build()).Error(),
				raw.Do(context.Background(), raw.B().Zadd().Key(n.core.Spec.Expires).ScoreMember().ScoreMember(1,
					one).Build()).Error())
		}
		return err
	}, func(n *Store[string, note], _ string) error {
		done, err := n.Sweep(context.Background(), SweepOptions{})
		if err == nil && done.Gone+done.Lives != 10 {
			return fmt.Errorf("%+v", done)
		}
		return err
	}},
}

// costs counts operations of a store, with what the servers have executed.
func costs(t *testing.T, notes *Store[string, note], count *tally, executed func() int) (all []cost) {
	t.Helper()
	must(t, makes(notes, "always"))
	for n, op := range operations {
		least := cost{1 << 20, 1 << 20, 1 << 20}
		for i := range 5 {
			id := fmt.Sprintf("c%d.%d", n, i)
			must(t, op.before(notes, id))
			before := executed()
			count.trips.Store(0)
			count.sent.Store(0)
			if err := op.do(notes, id); err != nil {
				t.Fatalf("%s: %v", op.name, err)
			}
			c := cost{int(count.trips.Load()), int(count.sent.Load()), 0}
			c.executed = executed() - before
			least = least.least(c)
		}
		all = append(all, least)
	}
	return all
}

func tallied(t *testing.T, url string) (*keywright.Client, *tally) {
	count := &tally{}
	c := servertest.Open(t, url,
		keywright.Options{Wrap: func(raw rueidis.Client) rueidis.Client { count.Client = raw; return count }})
	return c, count
}

var callsOf = regexp.MustCompile(`cmdstat_([a-z|]+):calls=(\d+)`)

// executedBy returns how many commands servers have executed, those in scripts too, but not those
// that connections and this test send.
func executedBy(servers ...*keywrighttest.Server) func() int {
	return func() (n int) {
		for _, s := range servers {
			for _, m := range callsOf.FindAllStringSubmatch(fmt.Sprint(s.Do("INFO", "commandstats")), -1) {
				switch strings.SplitN(m[1], "|", 2)[0] {
				case "info", "hello", "client", "cluster", "ping", "script", "command", "auth", "select", "readonly":
				default:
					calls, _ := strconv.Atoi(m[2])
					n += calls
				}
			}
		}
		return n
	}
}

const costsBegin, costsEnd = "<!-- costs -->\n", "<!-- end of costs -->"

// TestCosts: the table of costs in docs/entities.md is what is counted.
// KEYWRIGHT_UPDATE=1 writes it.
func TestCosts(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c, count := tallied(t, s.URL())
	together := costs(t, storeOf(c, noteSpec("n")), count, executedBy(s))
	cluster := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 0)
	c, count = tallied(t, cluster.URL())
	apart := costs(t, spreadOn(t, c, "n"), count, executedBy(cluster.Nodes...))
	text := costsBegin +
		"\n| | round trips | commands | executed | over slots: round trips | commands | executed " +
		"|\n|---|---|---|---|---|---|---|\n"
	for i, op := range operations {
		o, a := together[i], apart[i]
		text += fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d |\n", op.name, o.trips, o.sent, o.executed, a.trips, a.sent,
			a.executed)
	}
	text += "\n" + costsEnd
	const file = "../docs/entities.md"
	page, err := os.ReadFile(file)
	must(t, err)
	before, rest, begins := strings.Cut(string(page), costsBegin)
	is, after, ends := strings.Cut(rest, costsEnd)
	switch want := strings.TrimSuffix(strings.TrimPrefix(text, costsBegin), costsEnd); {
	case !begins || !ends:
		t.Errorf("%s has no table of costs", file)
	case is == want:
	case os.Getenv("KEYWRIGHT_UPDATE") != "":
		must(t, os.WriteFile(file, []byte(before+text+after), 0o600))
	default:
		t.Errorf("the table of costs in %s is\n%s\nand counted was\n%s\nKEYWRIGHT_UPDATE=1 writes it", file, is, want)
	}
}
