package arch

import (
	"go/parser"
	"go/token"
	"slices"
	"testing"
	"testing/fstest"
)

// TestPrivateWords: words are counted in the prose of pages, in comments and in sentences, not in code, addresses or
// words of one's own in strings; a private name is found, and the place is named.
func TestPrivateWords(t *testing.T) {
	const source = `package p

// crew hears of it.
type crew struct{}

var key, text = "ledger", "the ledger of an item"
`
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "p/p.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	page := "Nobody is\ntold. `told` [a](told.md) <!-- told -->\n\n```go\ntold()\n```\n\nA caller who does\nnot know.\n"
	got, err := PrivateWordsIn(fstest.MapFS{"page.md": {Data: []byte(page)}},
		[]File{{Path: "p/p.go", Dir: "p", Set: set, AST: tree, Text: source}})
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	want := []string{"p/p.go: crew 1", "p/p.go: hears 1", "p/p.go: ledger 1", "page.md: nobody 1", "page.md: told 1",
		"page.md: who does not know 1"}
	if !slices.Equal(got[0].Beyond, want) || !got[0].Missed {
		t.Errorf("%q, and not %q", got[0].Beyond, want)
	}
	if !slices.Equal(got[1].Beyond, []string{"p/p.go: crew"}) || !got[1].Missed {
		t.Errorf("%q", got[1].Beyond)
	}
}
