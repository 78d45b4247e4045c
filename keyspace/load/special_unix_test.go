//go:build unix

package load

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe without a writer would keep a process that opens it waiting for ever.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(dir, "k.yaml"), 0o600))
	_, findings := File(os.DirFS(dir), "k.yaml")
	if got := print(nil, findings); !strings.Contains(got, "KW001 k.yaml is not a regular file") {
		t.Error(got)
	}
}
