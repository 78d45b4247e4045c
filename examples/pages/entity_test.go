package pages

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/entity/pressure"
	"github.com/keywright/keywright/examples/pages/appkeys"
	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/fallback/bbolt"
)

// Items with indexes.
func Example_entity() {
	ctx, _, app, done := open(keywright.Options{})
	defer done()
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	logError := func(error) {}
	//doc:begin entity
	memos := app.MemoStore()
	memo, err := memos.Create(ctx, "m-1", appkeys.MemoValue{Kind: "note", Text: "milk", Priority: 5},
		keywright.ExpiresIn(time.Hour))
	check(err)
	version, err := memos.UpdateIf(ctx, "m-1", memo.Version, appkeys.MemoFields.Kind.Set("task"))
	check(err)
	page, err := memos.List(ctx, entity.Query[appkeys.MemoValue]{Of: memos.ByKind("task"), Limit: 20})

	sweeping.Go(func() { app.Sweeper(ctx, entity.SweepOptions{}, logError) }) // in any process, or in all
	//doc:end
	check(err)
	fmt.Println(version > memo.Version, page.Items[0].Value.Text)
	// Output: true milk
}

// TestAnItemIsNoOtherKey: an id that would give an item the key of an index is none, and a check reads the items that
// there are.
func TestAnItemIsNoOtherKey(t *testing.T) {
	ctx, client, app, done := open(keywright.Options{})
	defer done()
	for _, id := range []string{"expiry", "pressure"} {
		key, err := appkeys.MemoKey(id)
		if !strings.Contains(fmt.Sprint(err), "{#memo}:"+id) {
			t.Errorf("%s: the key %q, %v", id, key, err)
		}
		if _, ok := appkeys.ParseMemoKey("{memo}:" + id); ok {
			t.Errorf("{memo}:%s is the key of an item", id)
		}
		_, err = app.MemoStore().Create(ctx, id, appkeys.MemoValue{Kind: "note", Text: "milk", Priority: 5})
		if class, _ := keywright.ClassOf(err); class != keywright.Invalid ||
			!strings.Contains(fmt.Sprint(err), "{#memo}:"+id) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if keys, err := client.Raw().Do(ctx, client.Raw().B().Dbsize().Build()).AsInt64(); err != nil || keys > 0 {
		t.Errorf("%d keys, %v", keys, err)
	}
	_, err := app.MemoStore().Create(ctx, "m-1", appkeys.MemoValue{Kind: "note", Text: "milk", Priority: 5})
	check(err)
	checked, err := app.MemoStore().Check(ctx, entity.CheckOptions{})
	if err != nil || checked != (entity.Checked{Items: 1, Entries: 2}) {
		t.Errorf("%+v, %v", checked, err)
	}
}

// A second store for when the server is away.
func Example_fallback() {
	ctx, _, app, done := open(keywright.Options{})
	defer done()
	dir, err := os.MkdirTemp("", "pages")
	check(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "second.db")
	lost := func(string, []string) {}
	v := appkeys.MemoValue{Kind: "note", Text: "milk", Priority: 5}
	//doc:begin fallback
	file, err := bbolt.Open(path, bbolt.Options{}) // package fallback/bbolt, a module of its own
	check(err)
	second, err := file.Store("memos", fallback.Limits{}) // or fallback.NewMemory(fallback.Limits{})
	check(err)
	memos, err := fallback.NewEntities(app.MemoStore().Store, second, fallback.Options{
		OnConflict: func(c fallback.Conflict) { lost(c.Kind.String(), c.Fields) }, // newer data was there
	})
	check(err)

	r, err := memos.Create(ctx, "m-1", v)
	check(err)
	a, err := memos.Get(ctx, "m-1") // a.Source, a.AsOf, a.Pending
	check(err)
	r, err = memos.Update(ctx, "m-1", []entity.Change[appkeys.MemoValue]{appkeys.MemoFields.Priority.Set(9)})
	waits := err == nil && r.Pending // accepted, and not done yet
	check(err)
	r, err = memos.Put(ctx, "m-1", v, fallback.If(r.Version), fallback.ExpiresIn(time.Hour)) // fallback.ErrConflict
	check(err)

	err = memos.Close() // before the file
	check(err)
	err = file.Close()
	//doc:end
	check(err)
	fmt.Println(a.Source, a.Value.Value.ID, waits, r.Pending)
	// Output: server m-1 false false
}

// What goes first when memory runs short.
func Example_pressure() {
	ctx, _, app, done := open(keywright.Options{})
	defer done()
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	info := func(string, ...any) {}
	//doc:begin pressure
	watcher := app.Pressure(pressure.Options{Done: func(r pressure.Report) { info("memory", "report", r) }})
	err := watcher.Run(ctx) // until ctx ends; in as many processes as you like
	//doc:end
	fmt.Println(err)
	// Output: <nil>
}
