//go:build !unix

package seal

import (
	"io/fs"
	"os"
	"os/exec"
)

func openFile(path string) (*os.File, error) { return os.Open(path) }

func owned(fs.FileInfo) error { return nil }

func ownProcessGroup(*exec.Cmd) {}
