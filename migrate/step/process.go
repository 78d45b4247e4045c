package step

import "time"

// Process represents a process that takes part.
type Process struct {
	ID        string
	Pid       int
	At        time.Time // when it has last said something
	Live      bool      // it has its lock, and has said something within its lease
	Confirmed uint64    // the epoch of the part that was asked for
	Otherwise bool      // it declares the part otherwise than this process: other records, or none
}
