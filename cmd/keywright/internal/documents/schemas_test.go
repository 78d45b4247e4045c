package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/command"
)

// root is that of the project.
const root = "../../../.."

// TestDocumentsAreFresh: the pages and the description of the API are what is made of the program of today.
func TestDocumentsAreFresh(t *testing.T) {
	api, err := describeAPI(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{rulesFile: rulePage(), commandFile: commandPage(), apiFile: api} {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != want {
			t.Errorf("%s is stale: run make gen (%v)", name, err)
		}
	}
}

// TestSchemasAreFresh: they are what is made of the types and comments of today.
func TestSchemasAreFresh(t *testing.T) {
	want, err := cli.Schemas(command.Documents, os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, schemasDir)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != len(want) {
		t.Errorf("%d files, not %d, %v", len(files), len(want), err)
	}
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != string(text) {
			t.Errorf("%s is stale: run make gen (%v)", name, err)
		}
	}
}
