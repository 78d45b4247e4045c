package seal

import (
	"os"
	"testing"
)

// WatchDisk writes down what Store asks of the disk; failed is what syncing a
// folder gives.
func WatchDisk(t *testing.T, failed error) *[]string {
	var steps []string
	real := disk
	disk.sync = func(f *os.File) error {
		steps = append(steps, "sync the text")
		return f.Sync()
	}
	disk.rename = func(from, to string) error {
		steps = append(steps, "rename to "+to)
		return real.rename(from, to)
	}
	disk.syncFolder = func(folder string) error {
		steps = append(steps, "sync "+folder)
		return failed
	}
	t.Cleanup(func() { disk = real })
	return &steps
}
