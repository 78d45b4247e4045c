package conformance_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/gen/conformance"
	"github.com/keywright/keywright/gen/python"
	"github.com/keywright/keywright/gen/typescript"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	stored "github.com/keywright/keywright/value"
)

const (
	nodeDir   = "node"
	pythonRun = "python/run.py"
)

var examples = []string{
	"../../examples/poppobuilder/keyspace.yaml", "../../examples/githubbroker/keyspace.yaml",
	"../../examples/shop/keyspace.yaml", "../../examples/harca/keyspace.yaml",
	"../../examples/cunningbot/keyspace.yaml", "../../examples/realworld/keyspace.yaml",
}

// declarations say what the languages are compared on.
var declarations = []string{"testdata/hostile.yaml", "testdata/usage.yaml"}

// withExamples returns declarations, outside of the gate with those of the examples: their modules take long to compile.
func withExamples(declarations ...string) []string {
	if gate.All() {
		return slices.Concat(examples, declarations)
	}
	return declarations
}

func loaded(t testing.TB, file string) *keyspace.Keyspace {
	t.Helper()
	ks, findings := load.File(os.DirFS(filepath.Dir(file)), filepath.Base(file))
	for _, f := range findings {
		t.Errorf("%s:%d: %s %s", file, f.Pos.Line, f.Code, f.Message)
	}
	if ks == nil || len(ks.Keys) == 0 {
		t.Fatalf("%s declares no key: a test over nothing proves nothing", file)
	}
	return ks
}

// written generates and writes below dir; it answers the path of the one file.
func written(t testing.TB, dir string, ks *keyspace.Keyspace,
	generate func(*keyspace.Keyspace) ([]gen.File, error)) string {
	t.Helper()
	files, err := generate(ks)
	if err != nil || len(files) != 1 || !gen.Ours(files[0].Text) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	path := filepath.Join(dir, files[0].Name)
	if err := os.WriteFile(path, files[0].Text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a program that must end well and say nothing on stderr.
func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil || errs.Len() > 0 {
		t.Fatalf("%s %s: %v (missing? scripts/install-test-deps.sh installs what tests need)\n%s%s", name,
			strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String()
}

// strict says how the generated modules must compile: with every check there is,
// for any library, and so that the types can be stripped.
var strict = map[string]any{
	"strict": true, "noUncheckedIndexedAccess": true, "exactOptionalPropertyTypes": true, "noImplicitReturns": true,
	"noPropertyAccessFromIndexSignature": true,
	"noUnusedLocals":                     true, "noUnusedParameters": true, "noFallthroughCasesInSwitch": true,
	"noImplicitOverride": true,
	"erasableSyntaxOnly": true, "verbatimModuleSyntax": true, "isolatedModules": true, "isolatedDeclarations": true,
	"declaration": true,
	"target":      "es2022", "module": "es2022", "moduleResolution": "bundler", "lib": []string{"es2022"},
	"types": []string{}, "outDir": "js",
}

// compiled compiles all modules of a folder to its folder js.
func compiled(t testing.TB, dir string) string {
	t.Helper()
	config, err := json.Marshal(map[string]any{"compilerOptions": strict, "include": []string{"*.ts"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"tsconfig.json": config, "package.json": []byte(`{"type": "module"}`)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if said := typeScript().compile(t, dir); said != "" {
		t.Fatalf("TypeScript does not compile:\n%.6000s", said)
	}
	return filepath.Join(dir, "js")
}

// compiler represents one process that compiles for all tests: its start costs more than most modules.
type compiler struct {
	mu  sync.Mutex
	in  io.Writer
	out *bufio.Scanner
	err error
}

var typeScript = sync.OnceValue(func() *compiler {
	// it ends with its input, which ends with the tests
	c, cmd := &compiler{}, exec.Command("node", nodeDir+"/compile.mjs")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	in, err2 := cmd.StdinPipe()
	if c.err = errors.Join(err, err2); c.err == nil {
		c.in, c.out, c.err = in, bufio.NewScanner(out), cmd.Start()
		c.out.Buffer(nil, 64<<20)
	}
	return c
})

// compile returns what the compiler has to say of a folder.
func (c *compiler) compile(t testing.TB, dir string) (said string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		_, c.err = fmt.Fprintln(c.in, dir)
	}
	if c.err != nil || !c.out.Scan() {
		t.Fatalf("TypeScript's compiler is gone: %v (missing? scripts/install-test-deps.sh installs what tests need)", c.err)
	}
	if err := json.Unmarshal(c.out.Bytes(), &said); err != nil {
		t.Fatal(err)
	}
	return said
}

// TestTypes: type checkers let through what is right in usage.ts and usage.py,
// refuse what is marked as wrong, and have nothing against the modules. The
// hostile one is left out: a TypedDict has no field without a name.
func TestTypes(t *testing.T) {
	dir := t.TempDir()
	for _, file := range withExamples("testdata/usage.yaml") {
		ks := loaded(t, file)
		written(t, dir, ks, typescript.Generate)
		written(t, dir, ks, python.Generate)
	}
	for _, name := range []string{"usage.ts", "usage.py"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	js := compiled(t, dir)
	checked(t, dir)
	// What has a default may be left out, or be the empty text.
	const want = "lane:slow lane:slow trip:1:slow trip:1:fast\n"
	module, err := json.Marshal("file://" + filepath.Join(js, "usagekeys.js"))
	if err != nil {
		t.Fatal(err)
	}
	if said := run(t, "node", "--input-type=module", "-e", `import * as k from `+string(module)+`;
console.log(k.lane.key(), k.lane.key({ speed: "" }), k.trip.key({ n: 1, speed: undefined }), k.trip.key({ n: 1, speed: "fast" }));`); said != want {
		t.Errorf("TypeScript: %s", said)
	}
	if said := run(t, "python3", "-c", `import sys; sys.path.insert(0, sys.argv[1]); import usagekeys as k
print(k.lane.key(), k.lane.key(speed=""), k.trip.key(n=1), k.trip.key(n=1, speed="fast"))`, dir); said != want {
		t.Errorf("Python: %s", said)
	}
}

// checked checks the types of all Python modules of a folder, as strictly as can be.
func checked(t testing.TB, dir string) {
	t.Helper()
	config := `{"include": ["*.py"], "typeCheckingMode": "strict", "pythonVersion": "3.9", "reportUnnecessaryTypeIgnoreComment": true}`
	if err := os.WriteFile(filepath.Join(dir, "pyrightconfig.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "node", nodeDir+"/node_modules/pyright/index.js", "--project", dir)
}

// TestLanguages: Go, TypeScript and Python agree on every vector.
func TestLanguages(t *testing.T) {
	dir := t.TempDir()
	vectors, pythons := map[string]string{}, map[string]string{}
	for _, file := range withExamples(declarations...) {
		ks := loaded(t, file)
		path := written(t, dir, ks, conformance.Generate)
		vectors[ks.Package] = path
		agree(t, ks, path)
		written(t, dir, ks, typescript.Generate)
		pythons[ks.Package] = written(t, dir, ks, python.Generate)
	}
	js := compiled(t, dir)
	run(t, "python3", "-W", "error", "-m", "compileall", "-q", "-f", dir)
	for name, path := range vectors {
		t.Run("node/"+name,
			func(t *testing.T) { t.Log(run(t, "node", nodeDir+"/run.mjs", filepath.Join(js, name+".js"), path)) })
		t.Run("python/"+name, func(t *testing.T) {
			t.Log(run(t, "python3", "-W", "error", pythonRun, pythons[name], path))
		})
	}
	if want := len(withExamples(declarations...)); len(vectors) != want {
		t.Errorf("%d packages of %d declarations: two have one name", len(vectors), want)
	}
}

// TestFractionsOfTimestamps: a moment is one text in every language, so that a set has it once. Zeros at the
// end of a fraction are not written.
func TestFractionsOfTimestamps(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "k.yaml"), []byte(`keywright: 1
package: momentkeys
owner: a
keys:
  m: {key: m, type: set, member: timestamp, ttl: none}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	ks, findings := load.File(os.DirFS(dir), "k.yaml")
	if len(findings) > 0 {
		t.Fatal(findings[0].Message)
	}
	written(t, dir, ks, typescript.Generate)
	compiled(t, dir)
	written(t, dir, ks, python.Generate)
	script := filepath.Join(dir, "run.mjs")
	if err := os.WriteFile(script, []byte(`import * as k from "./js/momentkeys.js";
for (const ms of process.argv.slice(2)) console.log(k.m.member.encode(new Date(Number(ms))));
`), 0o600); err != nil {
		t.Fatal(err)
	}
	var ms []string
	var want strings.Builder
	for _, n := range []int64{0, 500, 120, 999, 7, 1_795_506_509_990, 1_795_506_510_000} {
		ms = append(ms, fmt.Sprint(n))
		text, err := stored.Timestamp().Append(nil, time.UnixMilli(n).UTC())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&want, "%s\n", text)
	}
	asked := `import sys, datetime as dt; sys.path.insert(0, sys.argv[1]); import momentkeys as k
for ms in sys.argv[2:]: print(k.m.member.encode(dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(milliseconds=int(ms))))`
	for language, said := range map[string]string{"TypeScript": run(t, "node", append([]string{script}, ms...)...),
		"Python": run(t, "python3", append([]string{"-W", "error", "-c", asked, dir}, ms...)...)} {
		if said != want.String() {
			t.Errorf("%s writes\n%s\nand Go\n%s", language, said, &want)
		}
	}
}
