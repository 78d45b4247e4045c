package infer_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/infer/page"
)

// Every page gives a draft that loads, and has all that was found on it.
func TestFromPage(t *testing.T) {
	pages, err := filepath.Glob("page/testdata/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, path := range pages {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d := infer.FromPage(text, infer.Options{})
		loaded(t, d.YAML())
		if want := len(page.Read(text).Keys); len(d.Entries) != want || len(d.Left) > 0 {
			t.Errorf("%s: %d entries of %d keys\n%s", path, len(d.Entries), want, d.YAML())
		}
	}
}
