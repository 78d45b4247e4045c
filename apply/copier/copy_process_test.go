package copier_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply/copier"
	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/apply/writelease"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/gate"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/compare"
	"github.com/keywright/keywright/source/server"
)

func TestMain(m *testing.M) {
	if from := os.Getenv("COPY_FROM"); from != "" {
		copyChild(from, os.Getenv("COPY_TO"))
	}
	applytest.Main(m)
}

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
		return keywright.Open(ctx, to+"/"+strconv.Itoa(db), applytest.Mortals())
	}
	r, err := copier.Copy(ctx, open(from), open(to), clients,
		copier.Options{Options: restore.Options{Existing: restore.Existing(os.Getenv("COPY_MODE"))}})
	if err != nil || !r.Settled() {
		fmt.Fprintln(os.Stderr, err, r.Counts, r.Reasons)
		os.Exit(1)
	}
	os.Exit(0)
}

// A copy that is killed, at any moment, is run again: nothing is lost, nothing is doubled,
// and what is left of values in parts ends by itself.
func TestKilledCopies(t *testing.T) {
	t.Parallel()
	const moments = 100 // of a copy
	r, kills := gate.Rand(t), gate.Count(t, "KEYWRIGHT_KILLS", 2, 12)
	from, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Valkey)
	sources := applytest.Open(t, from.URL())
	for _, db := range []int{0, 2} {
		applytest.Fill(t, sources, db)
		applytest.FillMore(t, sources, db)
	}
	died := 0
	for i := range kills {
		if i%2 == 0 {
			to.Do("FLUSHALL")
		}
		if _, now := applytest.Dies(t, 1+r.IntN(moments), "COPY_FROM="+from.URL(), "COPY_TO="+to.URL(),
			"COPY_MODE="+[]string{"different", "skip", "fail"}[i%3]); now {
			died++
		}
	}
	if died == 0 {
		t.Errorf("no copy of %d was killed", kills)
	}
	for _, mode := range []restore.Existing{restore.Fail, restore.Different} {
		r := copyAll(t, from.URL(), to.URL(), copier.Options{Options: restore.Options{Existing: mode}}, 64)
		if !r.Settled() || r.Kept > 0 {
			t.Errorf("%s: %+v", mode, r)
		}
	}
	targets := applytest.Open(t, to.URL())
	compared, err := compare.Run(t.Context(), applytest.Live(t, from.URL(), 0), applytest.Live(t, to.URL(), 0),
		compare.Options{Each: func(d compare.Difference) error {
			if name := string(d.Key.Name); !strings.HasPrefix(name, writelease.TemporaryPrefix) || d.What != compare.Extra {
				t.Errorf("%s: %q", d.What, name)
			} else if ttl := applytest.Do(t, targets, d.Key.DB, "PTTL", name).(int64); ttl < 0 {
				t.Errorf("%q is left, with the TTL %d", name, ttl)
			}
			return nil
		}})
	must(t, err)
	if compared.Differ() != compared.Extra {
		t.Errorf("%+v", compared)
	}
}
