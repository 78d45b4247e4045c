package declared

import (
	"strings"
	"testing"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/keyspace"
)

// Generator makes files of a declaration.
type Generator func(*keyspace.Keyspace) ([]gen.File, error)

// File returns the only file that a generator makes.
func (g Generator) File(t testing.TB, ks *keyspace.Keyspace) gen.File {
	t.Helper()
	files, err := g(ks)
	if err != nil || len(files) != 1 || !gen.Ours(files[0].Text) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files[0]
}

// Text returns what a generator makes of the text of a declaration.
func (g Generator) Text(t testing.TB, text string) string {
	t.Helper()
	return string(g.File(t, Clean(t, text)).Text)
}

// Module returns the name of the file and its text. What all files have is left out.
func (g Generator) Module(t testing.TB, ks *keyspace.Keyspace, all string) string {
	t.Helper()
	file := g.File(t, ks)
	head, body, found := strings.Cut(string(file.Text), all)
	if !found {
		t.Fatal("the module lacks what all of them have")
	}
	return file.Name + "\n" + head + "…\n" + body
}
