package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
)

// loading lists the calls that wait for a loader.
var loading = map[string]func(ctx context.Context, c *cache.Cache[string], load cache.Loader[string]) error{
	"get or load": func(ctx context.Context, c *cache.Cache[string], load cache.Loader[string]) error {
		return expect.Err(c.Key("page:1", nil).GetOrLoad(ctx, load))
	},
	"refresh": func(ctx context.Context, c *cache.Cache[string], load cache.Loader[string]) error {
		return expect.Err(c.Key("page:1", nil).Refresh(ctx, load))
	},
	"get or load many": func(ctx context.Context, c *cache.Cache[string], load cache.Loader[string]) error {
		return c.GetOrLoadMany(ctx, []cache.Item[string]{c.Key("page:1", nil)},
			func(ctx context.Context, _ []int) (map[int]string, error) {
				v, err := load(ctx)
				return map[int]string{0: v}, err
			})[0].Err
	},
}

// closed returns an error for one that does not say that the client is closed.
func closed(err error) error {
	if class, _ := keywright.ClassOf(err); !errors.Is(err, keywright.ErrClosed) || class != keywright.NotApplied {
		return fmt.Errorf("%v does not say that the client is closed", err)
	}
	return nil
}

// TestCloseEndsLoads: their callers return, whether or not the loader looks at its context, and what comes later
// loads nothing, whatever the options say about a server that does not answer.
func TestCloseEndsLoads(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	for name, call := range loading {
		for _, looks := range []bool{true, false} {
			s.Do("FLUSHALL")
			client := open(t, s.URL(), keywright.Options{})
			c := cache.New(keywright.Binding{Client: client, Entry: &page}, &text, cache.Options{Limit: time.Hour})
			entered, leave, cause := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			done := make(chan error, 1)
			go func() {
				done <- call(t.Context(), c, func(ctx context.Context) (string, error) {
					close(entered)
					if !looks {
						<-leave
					}
					<-ctx.Done()
					cause <- context.Cause(ctx)
					return "", ctx.Err()
				})
			}()
			<-entered
			client.Close()
			expect.Return(t, name+" returns", func() { must(t, closed(<-done)) })
			close(leave)
			expect.Return(t, name+": the loader's context ends", func() {
				expect.Equal(t, "why the context ended", <-cause, keywright.ErrClosed)
			})
			for _, down := range []cache.Down{cache.Fail, cache.LoadThrough, cache.ServeStale} {
				c := cache.New(keywright.Binding{Client: client, Entry: &page}, &text, cache.Options{Down: down})
				must(t, closed(call(t.Context(), c, never)))
			}
		}
	}
}

// TestCloseEndsARefresh in the background: the loader's context ends.
func TestCloseEndsARefresh(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	client := open(t, s.URL(), keywright.Options{})
	i := cache.New(keywright.Binding{Client: client, Entry: &page}, &text,
		cache.Options{Limit: time.Hour, Fresh: 30 * time.Second}).Key("page:1", nil)
	must(t, i.Set(t.Context(), "old", keywright.ExpiresIn(20*time.Second)))
	entered, cause := make(chan struct{}), make(chan error, 1)
	v, err := i.GetOrLoad(t.Context(), func(ctx context.Context) (string, error) {
		close(entered)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return "", ctx.Err()
	})
	must(t, err)
	expect.Equal(t, "the value", v, "old")
	<-entered
	client.Close()
	expect.Return(t, "the loader's context ends", func() {
		expect.Equal(t, "why it ended", <-cause, keywright.ErrClosed)
	})
}

// TestNoCopyIsServedByAClosedClient: nothing takes it back any more.
func TestNoCopyIsServedByAClosedClient(t *testing.T) {
	t.Parallel()
	w := oneServer(t, keywrighttest.Redis, keywright.Options{})
	c := w.cache(cache.Options{Down: cache.ServeStale})
	i := c.Key("page:1", nil)
	must(t, i.Set(t.Context(), "x"))
	must(t, expect.Err(i.Get(t.Context())))
	w.c.Close()
	must(t, closed(expect.Err(i.Get(t.Context()))))
	must(t, closed(expect.Err(i.GetOrLoad(t.Context(), never))))
	must(t, closed(c.GetMany(t.Context(), []cache.Item[string]{i})[0].Err))
}
