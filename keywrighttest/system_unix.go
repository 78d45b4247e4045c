//go:build unix

package keywrighttest

import "syscall"

// ownProcessGroup returns how a server is started: signals for the group of the test are not for it.
func ownProcessGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// What is done to the process of a server.
func end(pid int)    { _ = syscall.Kill(pid, syscall.SIGKILL) }
func freeze(pid int) { _ = syscall.Kill(pid, syscall.SIGSTOP) }
func thaw(pid int)   { _ = syscall.Kill(pid, syscall.SIGCONT) }

// lives tells whether there is such a process.
func lives(pid int) bool { return syscall.Kill(pid, 0) == nil }

// hurry gives a process a priority, where the test may do that.
func hurry(pid, priority int) bool {
	return syscall.Setpriority(syscall.PRIO_PROCESS, pid, priority) == nil
}
