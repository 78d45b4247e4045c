//go:build unix

package archivefile

import "syscall"

// noFollow: who may write to the folder could lead us to another file by a link, or
// hold us up by a pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
