package apply_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/server"
)

func TestMain(m *testing.M) {
	if url := os.Getenv("RENAME_URL"); url != "" {
		renameChild(url, os.Getenv("RENAME_FOLDER"), os.Getenv("RENAME_BACK") != "")
	}
	if verb := os.Getenv("CHANGE_VERB"); verb != "" {
		childKeys(verb)
	}
	applytest.Main(m)
}

// renameChild renames all keys of a server, or brings them back, and ends with 0 if that is
// done.
func renameChild(url, folder string, back bool) {
	fail := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	ctx := context.Background()
	config, err := connect.New(connect.Options{URL: url})
	fail(err)
	values, err := server.NewReader(ctx, config, server.Options{OnlyDB: -1, Role: server.Primary},
		server.ContentsRequest{Largest: 256})
	fail(err)
	clients := map[int]*keywright.Client{}
	ks := &keyspace.Keyspace{}
	pairs, err := plan.Mapped(ks, allKinds())
	fail(err)
	o, scan := apply.KeysOptions{Live: values}, scanOf(url)
	rule, err := plan.NewRename(ks, pairs, plan.RenameOptions{})
	fail(err)
	var decides plan.Rule = rule
	if back {
		u, err := apply.ReadUndo(folder + "/undo")
		fail(err)
		undo, err := plan.NewUndo(ks, pairs, true)
		fail(err)
		decides, scan = undo, u.Scan(func(old []byte, _ int64) { undo.Known(old) })
	} else {
		p := &plan.Plan{Format: plan.Format, Verb: "rename"}
		fail(p.Seal())
		o.Undo, err = apply.OpenUndo(folder+"/undo", p)
		fail(err)
		o.Journal, _, err = journal.Open(folder+"/journal", p.ID)
		fail(err)
	}
	r, err := apply.Keys(ctx, func(db int) (*keywright.Client, error) {
		if clients[db] == nil {
			at := url
			if db > 0 {
				at += "/" + strconv.Itoa(db)
			}
			if clients[db], err = keywright.Open(ctx, at, applytest.Mortals()); err != nil {
				return nil, err
			}
		}
		return clients[db], nil
	}, scan, decides, o)
	if errors.Is(err, journal.ErrDone) {
		os.Exit(0)
	}
	if err != nil || r.Refused+r.KeyCounts.Left > 0 {
		fmt.Fprintln(os.Stderr, err, r.KeyCounts, r.Left)
		os.Exit(1)
	}
	os.Exit(0)
}

// A rename that is killed, at any moment, is run again, and so is its undo: nothing is lost,
// nothing is there twice, and no expiry changes; in a slot and over slots.
func TestKilledRenames(t *testing.T) {
	t.Parallel()
	for cluster, moments := range map[bool]int{false: 60, true: 3000} { // moments of a rename
		t.Run(map[bool]string{false: "server", true: "cluster"}[cluster], func(t *testing.T) {
			t.Parallel()
			r, kills := gate.Rand(t), gate.Count(t, "KEYWRIGHT_KILLS", 1, 12)
			url, dbs := "", []int{0, 2}
			if cluster {
				url, dbs = kt.StartCluster(t, kt.Redis, 2, 0).URL(), dbs[:1]
			} else {
				url = kt.Start(t, kt.Valkey).URL()
			}
			clients := applytest.Open(t, url)
			for _, db := range dbs {
				applytest.Fill(t, clients, db)
				applytest.FillMore(t, clients, db)
				for i := range 500 {
					applytest.Do(t, clients, db, "SET", "string:"+strconv.Itoa(i), strings.Repeat("x", i), "PXAT",
						strconv.Itoa(4102444800000+i))
				}
			}
			was := digests(t, url, clients)
			now := under("a:", was)
			for died := 0; died < kills; {
				folder := t.TempDir()
				for _, back := range []bool{false, true} {
					for times, again := 0, true; again; times++ {
						at := 0
						if times < 2 {
							at = 1 + r.IntN(moments)
						}
						if _, again = applytest.Dies(t, at, "RENAME_URL="+url, "RENAME_FOLDER="+folder,
							"RENAME_BACK="+map[bool]string{true: "1"}[back]); again {
							died++
						}
					}
					want := map[bool]map[string]string{false: now, true: was}[back]
					got := digests(t, url, clients)
					maps.DeleteFunc(got, func(at, _ string) bool {
						return strings.Contains(at, " keywright:") && ends(t, clients,
							at)
					})
					equalMaps(t, fmt.Sprintf("back %v", back), got, want)
					if t.Failed() {
						t.Fatal(slices.Sorted(maps.Keys(got)))
					}
				}
			}
		})
	}
}

// ends reports whether what a killed process has left expires.
func ends(t testing.TB, clients restore.Clients, at string) bool {
	db, name, _ := strings.Cut(at, " ")
	n, err := strconv.Atoi(db)
	must(t, err)
	return applytest.Do(t, clients, n, "PTTL", name).(int64) > 0
}
