//go:build unix

package declare

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestADraftStaysInItsFolder: a link that leads out of the folder is not read, and a pipe, which
// would keep the program waiting, neither.
func TestADraftStaysInItsFolder(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "data")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secret.json", "data/good.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{os.Symlink("../secret.json", filepath.Join(folder, "link.json")),
		syscall.Mkfifo(filepath.Join(folder, "pipe.json"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	found, err := jsonFiles(t.Context(), root)
	if err != nil || len(found) != 1 || found[0].Name != "good.json" {
		t.Fatalf("%v %v", found, err)
	}
	for _, name := range []string{"link.json", "pipe.json"} { // what a file became after it was listed
		if f, err := openRegular(root, name); err == nil {
			f.Close()
			t.Errorf("%s is read", name)
		}
	}
	for _, name := range []string{"link.json", "pipe.json"} {
		if err := errors.Join(os.Remove(filepath.Join(folder, "good.json")),
			os.Rename(filepath.Join(folder, name), filepath.Join(folder, "good.json"))); err != nil {
			t.Fatal(err)
		}
		if f, err := found[0].Open(); err == nil {
			f.Close()
			t.Errorf("%s is read under the name of a file", name)
		}
	}
}
