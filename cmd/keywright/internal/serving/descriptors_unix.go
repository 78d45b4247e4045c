//go:build unix

package serving

import "syscall"

// descriptors returns how many files and connections the program may have open.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return usualDescriptors
	}
	return int(min(uint64(limit.Cur), 1<<20))
}
