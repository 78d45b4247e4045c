package seal_test

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// TestMutations: with a guard taken out, a test fails by what it asserts.
func TestMutations(t *testing.T) {
	mutation.Run(t, []mutation.Row{
		{"the folder is not synced", "return disk.syncFolder(filepath.Dir(path))", "return nil",
			"TestStoreSurvivesAPowerCut"},
		{"the text is not synced", "err = errors.Join(err, disk.sync(f), f.Close())",
			"err = errors.Join(err, f.Close())", "TestStoreSurvivesAPowerCut"},
	})
}
