//go:build unix

package githubbroker

import (
	"os/exec"
	"syscall"
)

// group makes a command the head of a process group, which is asked to end as a whole. end
// kills what is left of it.
func group(c *exec.Cmd) (end func()) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	return func() {
		if c.Process != nil {
			_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // it fails when all have ended
		}
	}
}
