//go:build !unix

package keywrighttest

import "syscall"

// Servers run on Unix only: elsewhere tests with servers compile, and fail when one is started.

func ownProcessGroup() *syscall.SysProcAttr { return nil }
func end(int)                               {}
func freeze(int)                            {}
func thaw(int)                              {}
func lives(int) bool                        { return false }
func hurry(int, int) bool                   { return false }
