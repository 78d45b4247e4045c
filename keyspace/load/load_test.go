package load

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
)

var update = flag.Bool("update", false, "rewrite the golden parts of testdata")

// archive represents a test of several files in one text: `-- name --` begins a file,
// the first of them is the declaration, and `-- want --` is the golden part.
type archive struct {
	names []string
	files fstest.MapFS
	want  string
}

func readArchive(t testing.TB, path string) archive {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a := archive{files: fstest.MapFS{}}
	for part := range strings.SplitSeq("\n"+string(text), "\n-- ") {
		name, body, ok := strings.Cut(part, " --\n")
		switch {
		case !ok:
		case name == "want":
			a.want = body
		default:
			a.names = append(a.names, name)
			a.files[name] = &fstest.MapFile{Data: []byte(body + "\n")}
		}
	}
	if len(a.names) == 0 {
		t.Fatalf("%s holds no file", path)
	}
	return a
}

// write puts the golden part after the files again.
func (a archive) write(t *testing.T, path, want string) {
	t.Helper()
	var b strings.Builder
	for _, name := range a.names {
		fmt.Fprintf(&b, "-- %s --\n%s", name, a.files[name].Data)
	}
	fmt.Fprintf(&b, "-- want --\n%s", want)
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// archives returns the tests of a folder; an empty folder is a fault of the test.
func archives(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no tests in %s (%v)", pattern, err)
	}
	return paths
}

// print shows findings with the text they point at, which proves their columns.
func print(files []keyspace.File, findings []finding.Finding) string {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%s:%d:%d: %s %s", f.Pos.File, f.Pos.Line, f.Pos.Column, f.Code, f.Message)
		if marked := excerpt(files, f.Pos); marked != "" {
			fmt.Fprintf(&b, " [%s]", marked)
		}
		if f.Fix != "" {
			fmt.Fprintf(&b, " (%s)", f.Fix)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// excerpt returns the text from the start to the end of a position.
func excerpt(files []keyspace.File, pos keyspace.Pos) string {
	i := slices.IndexFunc(files, func(f keyspace.File) bool { return f.Name == pos.File })
	if i < 0 || pos.EndColumn == 0 {
		return ""
	}
	line := []rune(strings.Split(strings.TrimPrefix(string(files[i].Text), "\ufeff")+" ", "\n")[pos.Line-1] + " ")
	if pos.EndColumn-1 > len(line) || pos.Column >= pos.EndColumn {
		return "OUT OF THE LINE"
	}
	return string(line[pos.Column-1 : pos.EndColumn-1])
}

func TestFaults(t *testing.T) {
	for _, path := range archives(t, "testdata/faults/*.txt") {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			a := readArchive(t, path)
			ks, findings := File(a.files, a.names[0])
			got := print(ks.Files, findings)
			if *update {
				a.write(t, path, got)
				return
			}
			if diff := cmp.Diff(a.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
