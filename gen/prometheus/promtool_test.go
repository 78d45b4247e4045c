//go:build prometheus

package prometheus

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPromtool: Prometheus takes the rules, and finds nothing to warn of. `make prometheus-test` installs promtool and runs it.
func TestPromtool(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	if err := os.WriteFile(path, []byte(generated(t, everything)), 0o600); err != nil {
		t.Fatal(err)
	}
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is not installed: scripts/install-test-deps.sh prometheus")
	}
	if out, err := exec.CommandContext(t.Context(), tool, "check", "rules", "--lint=all", "--lint-fatal",
		path).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
