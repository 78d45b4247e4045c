package conformance_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/gen/golang"
	"github.com/keywright/keywright/gen/python"
	"github.com/keywright/keywright/gen/typescript"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking"
	"github.com/keywright/keywright/keyspace/breaking/diff"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/format"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value/seal"
)

// inBatch says how many declarations go into one program.
const inBatch = 125

// TestEveryPlaceholderInEveryPlace draws declarations with each construct, with
// placeholders and values of every type in every place. What is generated of them
// compiles under strict compilers in three languages; each language writes on a
// server, and all of them read what it wrote. KEYWRIGHT_DECLARATIONS says how many
// declarations.
func TestEveryPlaceholderInEveryPlace(t *testing.T) {
	gate.Skip(t, "compiles Go, TypeScript and Python")
	count, seed := gate.Count(t, "KEYWRIGHT_DECLARATIONS", 1, 1), gate.Seed(t)
	seen := map[string]bool{}
	entries := 0
	for first := 0; first < count; first += inBatch {
		var batch []*declaration
		for i := first; i < min(first+inBatch, count); i++ {
			d := draw(rand.New(rand.NewPCG(seed, uint64(i))), i)
			d.load(t)
			batch = append(batch, d)
			entries += len(d.cases)
			for _, c := range d.cases {
				for _, p := range c.places {
					seen[c.kind+" "+p.typ.Kind.String()] = true
				}
			}
		}
		t.Run(batch[0].name, func(t *testing.T) { t.Parallel(); play(t, batch) })
	}
	t.Logf("%d declarations, %d entries, %d pairs of a construct and the type of a placeholder", count, entries, len(seen))
}

// TestManyDeclarations draws more of them, which need no compiler: each loads, lint ends,
// and the canonical layout is one, of the same keyspace. KEYWRIGHT_DECLARATIONS says how many.
func TestManyDeclarations(t *testing.T) {
	seed := gate.Seed(t)
	for i := range gate.Count(t, "KEYWRIGHT_DECLARATIONS", 10, 100) {
		d := draw(rand.New(rand.NewPCG(seed, uint64(i))), i)
		d.load(t)
		lint.Run(d.ks)
		importsAreUsed(t, d)
		once, err := format.Format([]byte(d.text))
		if err != nil {
			t.Fatalf("%v\n%s", err, d.text)
		}
		if twice, err := format.Format(once); err != nil || string(twice) != string(once) {
			t.Fatalf("%v: the layout of\n%s\nis\n%s", err, once, twice)
		}
		formatted := &declaration{name: d.name, text: string(once)}
		formatted.load(t)
		if changes := diff.Of(d.ks, formatted.ks); len(changes) > 0 {
			t.Fatalf("%s changes with its layout:\n%s\n%s", changes[0], d.text, once)
		}
		if found := breaking.Run(d.ks, formatted.ks); len(found) > 0 {
			t.Fatalf("%s: %s\n%s", found[0].Code, found[0].Message, once)
		}
	}
}

// importsAreUsed looks for what keeps generated Go from compiling, without the compiler.
func importsAreUsed(t *testing.T, d *declaration) {
	t.Helper()
	files, err := golang.Generate(d.ks)
	if err != nil {
		t.Fatalf("%v\n%s", err, d.text)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", files[0].Text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	for _, i := range file.Imports {
		if name := path.Base(strings.Trim(i.Path.Value, `"`)); !used[name] {
			t.Fatalf("%s is imported and not used by the Go of\n%s", name, d.text)
		}
	}
}

// declaration represents one keyspace, and what is done with its entries.
type declaration struct {
	name  string
	text  string
	ks    *keyspace.Keyspace
	cases []*use
}

func (d *declaration) load(t testing.TB) {
	t.Helper()
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(d.text)}}, "k.yaml")
	if finding.Count(found).Errors > 0 {
		t.Fatalf("%s: %s\n%s", d.name, found[0].Message, d.text)
	}
	d.ks = ks
}

// play compiles the programs of a batch and lets them write and read in turn.
func play(t *testing.T, batch []*declaration) {
	t.Helper()
	dir, programs := t.TempDir(), make([]program, 3)
	compiles := t.Run("compile", func(t *testing.T) {
		for i, compile := range []func(*testing.T, string, []*declaration) program{goProgram, typeScriptProgram,
			pythonProgram} {
			t.Run([]string{"Go", "TypeScript", "Python"}[i], func(t *testing.T) {
				t.Parallel()
				programs[i] = compile(t, dir, batch)
			})
		}
	})
	if !compiles {
		return
	}
	server := keywrighttest.Start(t, keywrighttest.Redis)
	var first map[string]string
	for i, writer := range programs {
		var ears []*subscriber
		for j, hearer := range programs {
			if j != i {
				ears = append(ears, hearer.listen(t, server.Addr()))
			}
		}
		writer.run(t, "write", server.Addr(), batch)
		for _, e := range ears {
			e.end(t)
		}
		for _, reader := range programs {
			reader.run(t, "read of "+writer.name, server.Addr(), batch)
		}
		if i == 0 {
			if first = spellings(server, batch); len(first) == 0 {
				t.Error("no member was compared")
			}
			writer.run(t, "work", server.Addr(), batch)
		} else if diff := cmp.Diff(first, spellings(server, batch)); diff != "" {
			t.Errorf("%s writes in another way than Go, so that a member is there twice:\n%s", writer.name, diff)
		}
		server.Do("FLUSHALL")
	}
}

// spellings returns the members, items and fields that a server holds, by their key.
func spellings(s *keywrighttest.Server, batch []*declaration) map[string]string {
	out := map[string]string{}
	for _, d := range batch {
		for _, u := range d.cases {
			read := map[string][]string{"set": {"SMEMBERS"}, "list": {"LRANGE", "0", "-1"}, "map": {"HGETALL"}}[u.kind]
			if read == nil || slices.ContainsFunc(u.values, func(v sample) bool { return v.typ.Kind == scalar.JSON }) {
				continue // JSON may be written in many ways
			}
			for _, key := range s.Do("KEYS", "*"+d.name+u.name+"*").([]any) {
				out[fmt.Sprintf("%q", key)] = fmt.Sprintf("%q", s.Do(append([]string{read[0], key.(string)}, read[1:]...)...))
			}
		}
	}
	return out
}

// program represents one language's.
type program struct {
	name string
	argv []string
	env  []string
}

func (p program) command(mode, addr string) *exec.Cmd {
	argv := append(p.argv[1:len(p.argv):len(p.argv)], mode, addr)
	cmd := exec.Command(p.argv[0], argv...)
	cmd.Env = append(os.Environ(), p.env...)
	return cmd
}

func (p program) run(t *testing.T, mode, addr string, batch []*declaration) {
	t.Helper()
	if out, err := p.command(mode, addr).CombinedOutput(); err != nil {
		t.Errorf("%s, %s: %v\n%.6000s%s", p.name, mode, err, out, textsOf(out, batch))
	}
}

// textsOf returns the first of the declarations whose names are printed: d1 que got …
func textsOf(told []byte, batch []*declaration) string {
	for _, d := range batch {
		if bytes.Contains(told, []byte(d.name+" ")) {
			return d.text
		}
	}
	return ""
}

// subscriber represents a program that receives what another one publishes.
type subscriber struct {
	name string
	cmd  *exec.Cmd
	out  *bufio.Reader
	errs *bytes.Buffer
}

// listen returns when the program has subscribed.
func (p program) listen(t *testing.T, addr string) *subscriber {
	t.Helper()
	e := &subscriber{p.name, p.command("hear", addr), nil, &bytes.Buffer{}}
	out, err := e.cmd.StdoutPipe()
	if err == nil {
		e.cmd.Stderr = e.errs
		err = e.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.cmd.Process.Kill() })
	e.out = bufio.NewReader(out)
	if line, err := e.out.ReadString('\n'); line != "ready\n" {
		rest, _ := io.ReadAll(e.out)
		_ = e.cmd.Wait()
		t.Fatalf("%s does not listen: %v\n%s%s%s", p.name, err, line, rest, e.errs)
	}
	return e
}

func (e *subscriber) end(t *testing.T) {
	t.Helper()
	rest, _ := io.ReadAll(e.out)
	if err := e.cmd.Wait(); err != nil {
		t.Errorf("%s heard something else: %v\n%.6000s%.6000s", e.name, err, rest, e.errs)
	}
}

// goProgram builds the Go packages of a batch with a program that uses them.
func goProgram(t *testing.T, dir string, batch []*declaration) program {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	overlay := map[string]string{}
	put := func(name string, text []byte) {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(root, "internal", "zz_places", name)] = file
	}
	for _, d := range batch {
		files, err := golang.Generate(d.ks)
		if err != nil {
			t.Fatal(err)
		}
		put(d.name+"/"+d.name+".go", files[0].Text)
		put(d.name+"_use.go", []byte(goUse(d)))
	}
	text, err := os.ReadFile("testdata/places.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	put("main.go", text)
	ring, _, err := seal.Generate()
	if err != nil {
		t.Fatal(err)
	}
	list, _ := json.Marshal(map[string]any{"Replace": overlay})
	file, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "places")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		t.Fatal(err)
	}
	// What the compiler would make fast is run once: most of the time is that of the compiler.
	quick := "-gcflags=github.com/keywright/keywright/internal/zz_places/...=-N -l"
	cmd := exec.Command("go", "build", quick, "-ldflags=-s -w", "-overlay", file, "-o", binary, "./internal/zz_places")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the generated Go does not compile: %v\n%.6000s\n%s", err, out, batch[0].text)
	}
	// not compiled in: it is new each time
	return program{name: "Go", argv: []string{binary}, env: []string{"RING=" + string(ring)}}
}

func typeScriptProgram(t *testing.T, dir string, batch []*declaration) program {
	t.Helper()
	dir = filepath.Join(dir, "ts")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, d := range batch {
		written(t, dir, d.ks, typescript.Generate)
	}
	if err := os.WriteFile(filepath.Join(dir, "program.ts"), []byte(typeScriptUse(batch)), 0o600); err != nil {
		t.Fatal(err)
	}
	return program{name: "TypeScript",
		argv: []string{"node", nodeDir + "/places.mjs", filepath.Join(compiled(t, dir), "program.js")}}
}

func pythonProgram(t *testing.T, dir string, batch []*declaration) program {
	t.Helper()
	dir = filepath.Join(dir, "py")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, d := range batch {
		written(t, dir, d.ks, python.Generate)
	}
	file := filepath.Join(dir, "program.py")
	if err := os.WriteFile(file, []byte(pythonUse(batch)), 0o600); err != nil {
		t.Fatal(err)
	}
	checked(t, dir)
	return program{name: "Python", argv: []string{"python3", "-W", "error", "python/places.py", file}}
}
