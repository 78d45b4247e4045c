package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

// A process that starts while Redis is away works where the files decide, says of the rest why it cannot be reached,
// and brings to Redis what it wrote meanwhile once Redis answers.
func TestAProcessStartsWithoutRedis(t *testing.T) {
	t.Parallel()
	server, root := kt.Start(t, kt.Redis, kt.Config("appendonly", "yes"), kt.Config("appendfsync", "always")), t.TempDir()
	two := plain{map[string]string{"string": "a", "field": "b", "hash": "c"}}
	first := open(t, root, server.URL(), two, nil)
	to(t, first, "a", phase.Shadow)
	to(t, first, "b", phase.Live)
	if err := first.Write(t.Context(), change(id("field:b:1"), "in Redis")); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	config := migrate.With(migrate.Config{Name: "test", Root: root, Lease: 400 * time.Millisecond,
		Connect: func(ctx context.Context) (*keywright.Client, error) {
			return keywright.Open(ctx, server.URL(), keywright.Options{Attempts: 1})
		}}, two, nil)
	m, err := migrate.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[string]string{"string:a:1": "shadow", "hash:c:1": "off="} {
		if err := m.Write(t.Context(), change(id(i), strings.TrimSuffix(want, "="))); err != nil {
			t.Errorf("%s: %v", i, err)
		}
		if got, err := m.Read(t.Context(), id(i)); err != nil || !slices.Equal(shown(got), []string{want}) {
			t.Errorf("%s is %v, %v", i, shown(got), err)
		}
	}
	err = m.Write(t.Context(), change(id("field:b:1"), "without Redis"))
	var failed *keywright.Error
	if !errors.As(err, &failed) || failed.Class != keywright.NotApplied || failed.Server == "" {
		t.Errorf("where Redis decides: %v", err)
	}
	if _, err := m.Client(); err == nil {
		t.Error("there is a client before there is a server")
	}
	if f, err := m.Facts(t.Context(), "a"); err != nil || len(f.Unfit) == 0 {
		t.Errorf("facts: %+v, %v", f, err)
	}
	server.Restart()
	eventually(t, func() error {
		c, err := m.Client()
		if err != nil {
			return err
		}
		if has := redisHas(t, c, id("string:a:1")); !slices.Equal(has, []string{"shadow"}) {
			return fmt.Errorf("Redis has %v", has)
		}
		return nil
	})
	if err := m.Write(t.Context(), change(id("field:b:1"), "with Redis")); err != nil {
		t.Errorf("once Redis answers: %v", err)
	}
	c, err := m.Client()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Raw().Do(t.Context(), c.Raw().B().Ping().Build()).Error(); err == nil {
		t.Error("Close left the client open that Connect has opened")
	}
}

// What time does not heal fails Open.
func TestConnectIsRefused(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis, kt.Config("requirepass", "right"))
	cluster := kt.StartCluster(t, kt.Redis, 3, 0)
	for name, url := range map[string]string{"a login": "redis://:wrong@" + server.Addr(), "a URL": "nothing://",
		"a cluster": cluster.URL()} {
		m, err := migrate.Open(t.Context(), migrate.With(migrate.Config{Name: "test", Root: t.TempDir(),
			Connect: func(ctx context.Context) (*keywright.Client, error) {
				return keywright.Open(ctx, url, keywright.Options{})
			}}, oneOfEach, nil))
		if err == nil {
			_ = m.Close()
			t.Errorf("%s that is wrong was taken", name)
		}
	}
}
