//go:build unix

package seal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// openFile does not wait: a pipe in the place of a file would hold it up.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// owned: only its owner may use it, and that is us or root.
func owned(info fs.FileInfo) error {
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("others than its owner may use it (mode %04o); run chmod 600", info.Mode().Perm())
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if ok && s.Uid != 0 && int(s.Uid) != os.Geteuid() {
		return errors.New("it belongs to another user")
	}
	return nil
}

// ownProcessGroup makes a program end with all that it has started.
func ownProcessGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
