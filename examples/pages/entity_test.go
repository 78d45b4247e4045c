package pages

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
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
	version, err := memos.UpdateIf(ctx, "m-1", memo.Version, appkeys.MemoFields.Kind.Set("task"))
	page, err := memos.List(ctx, entity.Query[appkeys.MemoValue]{Of: memos.ByKind("task"), Limit: 20})

	sweeping.Go(func() { app.Sweeper(ctx, entity.SweepOptions{}, logError) }) // in any process, or in all
	//doc:end
	check(err)
	fmt.Println(version > memo.Version, page.Items[0].Value.Text)
	// Output: true milk
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
	file, err := bbolt.Open(path, bbolt.Options{})        // package fallback/bbolt, a module of its own
	second, err := file.Store("memos", fallback.Limits{}) // or fallback.NewMemory(fallback.Limits{})
	memos, err := fallback.NewEntities(app.MemoStore().Store, second, fallback.Options{
		OnConflict: func(c fallback.Conflict) { lost(c.Kind.String(), c.Fields) }, // newer data was there
	})

	r, err := memos.Create(ctx, "m-1", v)
	a, err := memos.Get(ctx, "m-1") // a.Source, a.AsOf, a.Pending
	r, err = memos.Update(ctx, "m-1", []entity.Change[appkeys.MemoValue]{appkeys.MemoFields.Priority.Set(9)})
	waits := err == nil && r.Pending                                                         // accepted, and not done yet
	r, err = memos.Put(ctx, "m-1", v, fallback.If(r.Version), fallback.ExpiresIn(time.Hour)) // fallback.ErrConflict

	err = memos.Close() // before the file
	err = file.Close()
	//doc:end
	check(err)
	fmt.Println(a.Source, waits, r.Pending)
	// Output: server false false
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
