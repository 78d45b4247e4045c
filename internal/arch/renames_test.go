package arch

import (
	"regexp"
	"strings"
	"testing"
)

// TestRenamesLast: what gets its name by a rename keeps it after a loss of power: the
// package syncs the folder, too, and looks at what that gave.
func TestRenamesLast(t *testing.T) {
	packages, renames := map[string]string{}, map[string]bool{}
	for _, f := range load(t) {
		if !f.Test && !strings.HasPrefix(f.Dir, "bench") {
			packages[f.Dir] += f.Text
			renames[f.Dir] = renames[f.Dir] || strings.Contains(f.Text, "os.Rename")
		}
	}
	ignored := regexp.MustCompile(
		`(?m)^\s*(?:archivefile\.)?[sS]yncFolder\(|_ = syncFolder\(|_ = d\.Sync\(|_, _ = d\.Sync\(`)
	seen := 0
	for dir, text := range packages {
		if !renames[dir] {
			continue
		}
		seen++
		if !strings.Contains(strings.ToLower(text), "syncfolder(") {
			t.Errorf("%s renames and syncs no folder", dir)
		}
		for _, line := range ignored.FindAllString(text, -1) {
			if !strings.Contains(text, line+"filepath.Dir(path)) // else it may have its old name") {
				t.Errorf("%s does not look whether the folder was synced: %s", dir, strings.TrimSpace(line))
			}
		}
	}
	if seen < 5 {
		t.Errorf("only %d packages rename", seen)
	}
}
