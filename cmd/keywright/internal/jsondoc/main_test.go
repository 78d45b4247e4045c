package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/command"
)

// TestSchemasAreFresh: they are what is made of the types and comments of today.
func TestSchemasAreFresh(t *testing.T) {
	const dir = "../command/schemas"
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != len(command.Documents) {
		t.Errorf("%d files, %d documents, %v", len(files), len(command.Documents), err)
	}
	for _, d := range command.Documents {
		want, err := d.Schema(os.DirFS("../../../.."))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, d.File())); err != nil || string(got) != string(want) {
			t.Errorf("%s is stale: run make gen (%v)", d.File(), err)
		}
	}
}
