package demo

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel end the child when we are gone, however that
// happened.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
