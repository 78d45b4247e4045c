package apply_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/compare"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/gate"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/server"
)

// copyChild copies all keys of a server, and ends with 0 if that is done.
func copyChild(from, to string) {
	ctx := context.Background()
	open := func(url string) *server.Reader {
		config, err := connect.New(connect.Options{URL: url})
		if err != nil {
			panic(err)
		}
		r, err := server.NewReader(ctx, config, server.Options{OnlyDB: -1, Role: server.Primary},
			server.ContentsRequest{Largest: 64})
		if err != nil {
			panic(err)
		}
		return r
	}
	clients := func(db int) (*keywright.Client, error) {
		return keywright.Open(ctx, to+"/"+strconv.Itoa(db), keywright.Options{NoCache: true})
	}
	r, err := apply.Copy(ctx, open(from), open(to), clients,
		apply.CopyOptions{RestoreOptions: apply.RestoreOptions{Existing: apply.Existing(os.Getenv("COPY_MODE"))}})
	if err != nil || !r.Settled() {
		fmt.Fprintln(os.Stderr, err, r.Counts, r.Reasons)
		os.Exit(1)
	}
	os.Exit(0)
}

// A copy that is killed, at any moment, is run again: nothing is lost, nothing is doubled,
// and what is left of values in parts ends by itself.
func TestKilledCopies(t *testing.T) {
	gate.Skip(t, "kills many processes")
	kills := 3
	if n, err := strconv.Atoi(os.Getenv("KEYWRIGHT_KILLS")); err == nil {
		kills = n
	}
	from, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Valkey)
	sources := open(t, from.URL())
	for _, db := range []int{0, 2} {
		fill(t, sources, db)
		fillMore(t, sources, db)
	}
	whole := time.Duration(0)
	for i := range kills + 1 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "COPY_FROM="+from.URL(), "COPY_TO="+to.URL(),
			"COPY_MODE="+[]string{"fail", "different", "skip"}[i%3])
		cmd.Stderr = os.Stderr
		began := time.Now()
		must(t, cmd.Start())
		if i == 0 {
			must(t, cmd.Wait())
			whole = time.Since(began)
			continue
		}
		if i%2 == 0 {
			to.Do("FLUSHALL")
		}
		kill := time.AfterFunc(rand.N(whole), func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
	}
	for _, mode := range []apply.Existing{apply.Fail, apply.Different} {
		r := copyAll(t, from.URL(), to.URL(), apply.CopyOptions{RestoreOptions: apply.RestoreOptions{Existing: mode}}, 64)
		if !r.Settled() || r.Kept > 0 {
			t.Errorf("%s: %+v", mode, r)
		}
	}
	targets := open(t, to.URL())
	r, err := compare.Run(t.Context(), live(t, from.URL(), 0), live(t, to.URL(), 0),
		compare.Options{Each: func(d compare.Difference) error {
			if name := string(d.Key.Name); !strings.HasPrefix(name, apply.TemporaryPrefix) || d.What != compare.Extra {
				t.Errorf("%s: %q", d.What, name)
			} else if ttl := do(t, targets, d.Key.DB, "PTTL", name).(int64); ttl < 0 {
				t.Errorf("%q is left, with the TTL %d", name, ttl)
			}
			return nil
		}})
	must(t, err)
	if r.Differ() != r.Extra {
		t.Errorf("%+v", r)
	}
}
