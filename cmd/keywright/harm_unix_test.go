//go:build unix

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply/writelease"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/source"
	reading "github.com/keywright/keywright/source/server"
	"github.com/redis/rueidis"
)

var must = expect.NoError

// clientOf opens a client for a database of a server or a cluster.
func clientOf(t testing.TB, url string, db int) *keywright.Client {
	t.Helper()
	if db > 0 {
		url += "/" + strconv.Itoa(db)
	}
	c, err := keywright.Open(context.Background(), url, keywright.Options{NoCache: true})
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

// keysOf is, of each key in all databases of a server or a cluster, the digest of its value
// and when it ends, to the millisecond.
func keysOf(t testing.TB, url string) map[string]string {
	t.Helper()
	config, err := connect.New(connect.Options{URL: url})
	must(t, err)
	clients, out := map[int]*keywright.Client{}, map[string]string{}
	_, err = reading.New(config, reading.Options{OnlyDB: -1, Role: reading.Primary}).Scan(t.Context(), source.Request{},
		func(batch []source.Key) error {
			db := batch[0].DB
			if clients[db] == nil {
				clients[db] = clientOf(t, url, db)
			}
			c := clients[db].Raw()
			var list rueidis.Commands
			for i := range batch {
				k := string(batch[i].Name)
				value := c.B().Arbitrary("DEBUG", "DIGEST-VALUE").Keys(k).Build()
				if batch[i].Kind == source.ZSet { // the brands print a score differently into the digest
					value = c.B().Zrange().Key(k).Min("0").Max("-1").Withscores().Build()
				}
				list = append(list, value, c.B().Pexpiretime().Key(k).Build())
			}
			replies := c.DoMulti(t.Context(), list...)
			for i := range batch {
				value, err := replies[2*i].ToAny()
				if err != nil {
					return err
				}
				ends, err := replies[2*i+1].AsInt64()
				if err != nil {
					return err
				}
				out[fmt.Sprintf("%d %s", db, batch[i].Name)] = fmt.Sprint(value, " until ", ends)
			}
			return nil
		})
	must(t, err)
	return out
}

// sameKeys compares what keysOf gave. Temporary keys must have a TTL, and else do not count.
func sameKeys(t testing.TB, want, got map[string]string) {
	t.Helper()
	wrong := 0
	say := func(format string, args ...any) {
		t.Helper()
		if wrong++; wrong <= 5 {
			t.Errorf(format, args...)
		}
	}
	for key, was := range want {
		if got[key] != was {
			say("%q is %.100s, not %.100s", key, got[key], was)
		}
	}
	for key, is := range got {
		if _, name, _ := strings.Cut(key, " "); strings.HasPrefix(name,
			writelease.TemporaryPrefix) || name == writelease.Key {
			if strings.HasSuffix(is, "until -1") {
				say("%q is left, and has no TTL", key)
			}
			continue
		}
		if _, there := want[key]; !there {
			say("%q came", key)
		}
	}
	if wrong > 5 {
		t.Errorf("and %d keys more are not as they should be", wrong-5)
	}
}
