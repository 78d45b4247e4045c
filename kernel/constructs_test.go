package kernel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
)

// ofClients holds handles that a client has one of, since they listen, or have goroutines.
type ofClients struct {
	mu       sync.Mutex
	fallback map[*keywright.Client]*fallback.Entities[int64, everykeys.ItemValue]
	tiers    map[*keywright.Client]*cache.Cache[string]
}

var ofClient = ofClients{fallback: map[*keywright.Client]*fallback.Entities[int64, everykeys.ItemValue]{},
	tiers: map[*keywright.Client]*cache.Cache[string]{}}

// guarded returns the items of an entity with a second store. Its guard ends with the test,
// and before the client.
func guarded(t testing.TB, c *keywright.Client, k *everykeys.Keyspace) map[string]any {
	ofClient.mu.Lock()
	defer ofClient.mu.Unlock()
	e := ofClient.fallback[c]
	if e == nil {
		var err error
		if e, err = fallback.NewEntities(k.ItemStore().Store, fallback.NewMemory(fallback.Limits{}),
			fallback.Options{}); err != nil {
			t.Fatal(err)
		}
		ofClient.fallback[c] = e
		t.Cleanup(func() {
			ofClient.mu.Lock()
			defer ofClient.mu.Unlock()
			delete(ofClient.fallback, c)
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return map[string]any{"Fallback": e, "Fallback.Guard": e.Guard()}
}

// tieredOf returns a cache with a tier in this process.
func tieredOf(t testing.TB, c *keywright.Client) *cache.Cache[string] {
	ofClient.mu.Lock()
	defer ofClient.mu.Unlock()
	x := ofClient.tiers[c]
	if x == nil {
		text := value.Text(0)
		x = cache.New(keywright.Binding{Client: c, Entry: hourly("string")}, &text,
			cache.Options{Local: time.Minute}).Use(&tier{})
		ofClient.tiers[c] = x
		t.Cleanup(func() {
			ofClient.mu.Lock()
			defer ofClient.mu.Unlock()
			delete(ofClient.tiers, c)
		})
	}
	return x
}

// tier represents the smallest one.
type tier struct{ m sync.Map }

func (t *tier) Get(key string) (cache.Kept[string], bool) {
	v, ok := t.m.Load(key)
	kept, _ := v.(cache.Kept[string])
	return kept, ok
}
func (t *tier) Set(key string, v cache.Kept[string]) { t.m.Store(key, v) }
func (t *tier) Delete(key string)                    { t.m.Delete(key) }
func (t *tier) Clear()                               { t.m.Clear() }

// elsewhere are types with methods that take a context, and are not in the table: why.
var elsewhere = map[string]string{
	"kernel.Batch":         "called by hand",
	"counter.Actives":      "called by hand",
	"lock.Gate":            "called by hand",
	"fallback.Memory":      "it asks no server",
	"value/seal.Ring":      "it asks a source of keys, and no server",
	"kernel/pubsub.Engine": "called by subscriptions",
}

// tools are folders of this module whose types take a context and are no constructs: what
// they are. Those of the command and of tests are in other modules, or internal.
var tools = map[string]string{
	"apply": "executes plans", "bind": "finds handles for commands", "migrate": "moves files to a server, by itself",
	"audit": "reads sources", "infer": "reads sources", "connect": "settings of a connection",
	"source": "reads snapshots and servers", "metrics": "another module", "tracing": "another module",
	"keywrighttest": "starts servers for tests",
}

// constructs returns the folders of what is used through a client: all that have types with
// methods that take a context, and are not known to be something else.
func constructs(t *testing.T) (folders []string) {
	t.Helper()
	used := map[string]bool{}
	must(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		first, _, _ := strings.Cut(filepath.ToSlash(path), "/")
		if tools[first] != "" {
			used[first] = true
			return fs.SkipDir
		}
		_, module := os.Stat(filepath.Join(path, "go.mod"))
		if path != "." &&
			(module == nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "internal" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if len(withContext(t, path)) > 0 {
			folders = append(folders, filepath.ToSlash(path))
		}
		return nil
	}))
	for name := range tools {
		if !used[name] {
			t.Errorf("there is no folder %s", name)
		}
	}
	return folders
}

// TestEveryConstructIsInTheTable: each exported type of a package of constructs that has
// an exported method with a context is called by the table, or is known not to be.
func TestEveryConstructIsInTheTable(t *testing.T) {
	t.Chdir("..")
	c := open(t, keywrighttest.Start(t, keywrighttest.Redis).URL(), keywright.Options{Sealer: servertest.Ring(t, "a")})
	_, seen := allOf(t, c)
	heldCalls(t, c, seen)
	called := map[string]bool{}
	for typ := range seen {
		named(typ, called)
	}
	found := map[string]bool{}
	for _, folder := range constructs(t) {
		for name := range withContext(t, folder) {
			found[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if called[name] == (elsewhere[name] != "") {
			t.Errorf("%s has methods with a context: in the table: %t, known not to be: %q", name, called[name], elsewhere[name])
		}
	}
	for name := range elsewhere {
		if !found[name] {
			t.Errorf("there is no %s", name)
		}
	}
	if len(found) < 40 {
		t.Errorf("only %d types", len(found))
	}
}

// named adds the name of a type, and of those whose methods it has by embedding them.
func named(typ reflect.Type, into map[string]bool) {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	name, _, _ := strings.Cut(typ.Name(), "[")
	into[strings.TrimPrefix(strings.TrimPrefix(typ.PkgPath(), "github.com/keywright/keywright"), "/")+"."+name] = true
	if typ.Kind() == reflect.Struct {
		for i := range typ.NumField() {
			if f := typ.Field(i); f.Anonymous && f.IsExported() {
				named(f.Type, into)
			}
		}
	}
}

// withContext returns the exported types of a package with an exported method whose first
// parameter is a context, or that gives an operation.
func withContext(t *testing.T, folder string) map[string]bool {
	out := map[string]bool{}
	files, err := fs.Glob(os.DirFS(folder), "*.go")
	must(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, name), nil, 0)
		must(t, err)
		for _, d := range f.Decls {
			m, ok := d.(*ast.FuncDecl)
			if !ok || m.Recv == nil || !m.Name.IsExported() {
				continue
			}
			if of := receiver(m.Recv.List[0].Type); ast.IsExported(of) && (takesContext(m.Type) || givesOperation(m.Type)) {
				out[strings.TrimPrefix(folder, ".")+"."+of] = true
			}
		}
	}
	return out
}

func takesContext(m *ast.FuncType) bool {
	if len(m.Params.List) == 0 {
		return false
	}
	first, ok := m.Params.List[0].Type.(*ast.SelectorExpr)
	return ok && first.Sel.Name == "Context"
}

func givesOperation(m *ast.FuncType) bool {
	if m.Results == nil {
		return false
	}
	of := m.Results.List[0].Type
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	given, ok := of.(*ast.SelectorExpr)
	return ok && (given.Sel.Name == "Op" || given.Sel.Name == "Act")
}

// receiver returns the name of the type of a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
