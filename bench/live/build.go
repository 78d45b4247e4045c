package live

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildCLI builds the keywright command of this tree into the file.
func BuildCLI(ctx context.Context, file string) error {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/keywright/keywright").Output()
	if err != nil {
		return fmt.Errorf("find the root module: %w; run this from the bench folder", err)
	}
	dir := strings.TrimSpace(string(root))
	build := exec.CommandContext(ctx, "go", "build", "-o", file, "./cmd/keywright")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"))
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build keywright: %w\n%s", err, text)
	}
	return nil
}
