//go:build !linux

package demo

import "os/exec"

// dieWithParent can do nothing here: killed with SIGKILL we leave the server
// running. Every other end stops it.
func dieWithParent(*exec.Cmd) {}
