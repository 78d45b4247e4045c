package kernel_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// TestAServerThatRefusesPings ends no program: the client library sends a PING after
// each UNSUBSCRIBE, and a server that cannot save, or a replica that has lost its
// primary, answers that with an error.
func TestAServerThatRefusesPings(t *testing.T) {
	for refusal, refuse := range map[string]func(t *testing.T, s *keywrighttest.Server){
		"MISCONF": func(t *testing.T, s *keywrighttest.Server) {
			file := fmt.Sprint(s.Do("CONFIG", "GET", "dbfilename").([]any)[1])
			dir := fmt.Sprint(s.Do("CONFIG", "GET", "dir").([]any)[1])
			must(t, os.MkdirAll(filepath.Join(dir, file, "not empty"), 0o700)) // no snapshot can be renamed to it
			s.Do("CONFIG", "SET", "save", "3600 1")
			s.Do("BGSAVE")
			s.Await("rdb_last_bgsave_status", "err")
		},
		"MASTERDOWN": func(t *testing.T, s *keywrighttest.Server) {
			s.Do("CONFIG", "SET", "replica-serve-stale-data", "no")
			s.Do("REPLICAOF", "127.0.0.1", "1")
		},
	} {
		t.Run(refusal, func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, keywrighttest.Redis)
			c := open(t, s.URL(), keywright.Options{})
			listener := keywright.Listener{Message: func(string) {}}
			stays, err := c.Subscribe(t.Context(), "stays", listener)
			must(t, err)
			defer stays()
			refuse(t, s)
			if _, err := s.Try("PING"); err == nil || !strings.HasPrefix(err.Error(), refusal) {
				t.Fatalf("it answers a PING with %v", err)
			}
			for i := range 50 {
				for _, subscribe := range []func() (func(), error){
					func() (func(), error) { return c.Subscribe(t.Context(), fmt.Sprint("a", i), listener) },
					func() (func(), error) { return c.SubscribePattern(t.Context(), fmt.Sprint("a", i, "*"), listener) },
					func() (func(), error) { return c.SubscribeShard(t.Context(), fmt.Sprint("a", i), listener) },
				} {
					stop, err := subscribe()
					if must(t, err); stop != nil {
						stop()
					}
				}
			}
		})
	}
}
