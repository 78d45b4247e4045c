package memory_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/examples/harca/memory"
	"github.com/keywright/keywright/internal/mutation"
	"github.com/keywright/keywright/keywrighttest"
)

// TestGuarded: what the code of this service refuses, bounds and counts by itself, and no declaration
// does for it.
func TestGuarded(t *testing.T) {
	t.Parallel()
	_, c := start(t, options(t, keywrighttest.Start(t, keywrighttest.Redis).URL()))
	const gone = "01932f6e-7c1a-4d3e-8f60-000000000000"
	usedByServer(t, c)

	// An item goes into no context that is not there, neither when it is made nor later.
	item := c.create("note", "global", 5)
	c.do(http.StatusUnprocessableEntity, "POST", "/items", `{"type":"note","content":1,"contextId":"`+gone+`"}`, nil)
	c.do(http.StatusUnprocessableEntity, "PATCH", "/items/"+item, `{"contextId":"`+gone+`"}`, nil)

	// A change of what another one has changed, one that changes nothing, a version that is none, and
	// what is too large or too many.
	var made memory.Context
	c.do(http.StatusCreated, "POST", "/contexts", `{"name":"前","type":"conversation"}`, &made)
	for path, body := range map[string]string{"/items/" + item: `{"content":2}`,
		"/contexts/" + made.ID: `{"name":"後"}`} {
		for version, want := range map[string]int{"1": http.StatusConflict, "x": http.StatusBadRequest,
			"0": http.StatusBadRequest, "-1": http.StatusBadRequest} {
			if status, text := c.try("PATCH", path, body, version, nil); status != want {
				t.Errorf("PATCH %s of version %s: %d %s", path, version, status, text)
			}
		}
	}
	c.do(http.StatusBadRequest, "PATCH", "/contexts/"+made.ID, `{}`, nil)
	c.do(http.StatusBadRequest, "POST", "/items", `{"type":"note","content":"`+strings.Repeat("x", 1<<20)+`"}`, nil)
	many := strings.TrimSuffix(strings.Repeat(`{"type":"many","content":1},`, memory.Most+1), ",")
	c.do(http.StatusBadRequest, "POST", "/items/batch", `{"items":[`+many+`]}`, nil)
	if ids, _ := c.ids("type=many"); len(ids) > 0 {
		t.Errorf("%d items of a batch that was refused", len(ids))
	}

	notUnderstood(t, c)

	// What was computed of a context is void when an item leaves it.
	digest := func(id string) (n int) {
		var d memory.Digest
		c.do(http.StatusOK, "GET", "/contexts/"+id+"/digest", "", &d)
		return d.Items
	}
	eventually(t, "the digest knows the item", func() bool { return digest("global") == 1 })
	c.do(http.StatusOK, "PATCH", "/items/"+item, `{"contextId":"`+made.ID+`"}`, nil)
	for asked := 0; digest("global") != 0; asked++ {
		if asked == 5000 { // a result lives for a minute at least
			t.Fatal("the digest of the context that the item has left has it still")
		}
	}
	eventually(t, "the digest of its new context has it", func() bool { return digest(made.ID) == 1 })
}

// notUnderstood: a field with a wrong name, what follows the JSON, a TTL that no duration can hold, and a place of a
// list that no list gave are refused, and nothing is written.
func notUnderstood(t *testing.T, c *client) {
	t.Helper()
	const hours = "18446745073" // seconds: as nanoseconds in 64 bits they would be 17 minutes
	for _, r := range []struct{ method, path, body string }{
		{"POST", "/items", `{"type":"bad","content":1,"prority":8}`},
		{"POST", "/items", `{"type":"bad","content":1}{"type":"bad"}`},
		{"POST", "/items", `{"type":"bad","content":1,"ttl":` + hours + `}`},
		{"POST", "/contexts", `{"name":"前","type":"bad","ttl":` + hours + `}`},
		{"POST", "/contexts", `{"nam":"前","type":"bad"}`},
		{"PUT", "/state/bad?ttl=" + hours, `1`},
		{"PUT", "/state/bad?ttl=-" + hours, `1`},
		{"PUT", "/state/bad", `1 2`},
		{"GET", "/items?type=note&after=x", ""},
		{"GET", "/items?type=note&after=x%00y", ""},
		{"GET", "/contexts?after=x", ""},
	} {
		if status, text := c.try(r.method, r.path, r.body, "", nil); status != http.StatusBadRequest {
			t.Errorf("%s %s %s: %d %s", r.method, r.path, r.body, status, text)
		}
	}
	if ids, _ := c.ids("type=bad"); len(ids) > 0 {
		t.Errorf("%d items were made", len(ids))
	}
	c.do(http.StatusNotFound, "GET", "/state/bad", "", nil)
}

// TestNotes: a read prolongs the context of an item now and then, a write always.
func TestNotes(t *testing.T) {
	t.Parallel()
	o := options(t, keywrighttest.Start(t, keywrighttest.Redis).URL())
	o.Note = time.Hour
	_, c := start(t, o)
	var made memory.Context
	c.do(http.StatusCreated, "POST", "/contexts", `{"name":"前","type":"conversation"}`, &made)
	item := c.create("note", made.ID, 5)
	used := func() time.Time {
		var now memory.Context
		c.do(http.StatusOK, "GET", "/contexts/"+made.ID, "", &now)
		return now.UsedAt
	}
	before := used()
	nextMillisecond(t)
	c.do(http.StatusOK, "GET", "/items/"+item, "", nil)
	if now := used(); !now.Equal(before) {
		t.Errorf("a read prolonged the context again: %v, %v", before, now)
	}
	c.do(http.StatusCreated, "POST", "/items", fmt.Sprintf(`{"type":"note","content":1,"contextId":%q}`, made.ID), nil)
	if now := used(); !now.After(before) {
		t.Errorf("a write did not: %v, %v", before, now)
	}
}

// TestMutations: with a guard taken out, a test fails by what it asserts.
func TestMutations(t *testing.T) {
	mutation.Run(t, []mutation.Row{
		{Name: "the clock of the server",
			Guard:   "err = store.Stamp(ctx, c.ID, harcakeys.ContextFields.UsedAt, options...); err == nil",
			Instead: "err == nil", Test: "TestGuarded"},
		{Name: "an item of no context", Guard: "if err := m.use(ctx, i.ContextID, true); err != nil {",
			Instead: "if false {\n\t\tvar err error",
			Test:    "TestGuarded"},
		{Name: "an item that goes to no context", Guard: "if err := m.use(ctx, *c.ContextID, true); err != nil {",
			Instead: "if false {\n\t\t\tvar err error",
			Test:    "TestGuarded"},
		{Name: "the version of an item", Guard: "if version != 0 {", Instead: "if false {",
			Test: "TestGuarded"},
		{Name: "the version of a context", Guard: "if version == 0 {", Instead: "if true {",
			Test: "TestGuarded"},
		{Name: "a change of nothing", Guard: "if len(changes) == 0 {", Instead: "if false {",
			Test: "TestGuarded"},
		{Name: "a version that is none", Guard: "err = fmt.Errorf(\"%w: %s is no number\", errRequest, what)",
			Instead: "err = nil", Test: "TestGuarded"},
		{Name: "a request that is too large", Guard: "r.Body = http.MaxBytesReader(w, r.Body, largest)",
			Instead: "_ = largest", Test: "TestGuarded"},
		{Name: "a batch that is too long", Guard: "len(items) == 0 || len(items) > Most",
			Instead: "false", Test: "TestGuarded"},
		{Name: "a batch that gives too much", Guard: "given.Load() >= mostRead", Instead: "false",
			Test: "TestBatchBound"},
		{Name: "the context that an item leaves", Guard: "if left != \"\" && err == nil {",
			Instead: "if false {", Test: "TestGuarded"},
		{Name: "reads now and then", Guard: "time.Since(m.noted[id]) < m.o.Note",
			Instead: "false", Test: "TestNotes"},
		{Name: "writes always", Guard: "!writes && time.Since", Instead: "time.Since",
			Test: "TestNotes"},
	})
}
