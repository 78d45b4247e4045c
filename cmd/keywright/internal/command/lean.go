package command

import "runtime/debug"

// leanHeap is how much memory a verb that moves or compares values has before garbage is
// collected. What it holds is far below.
const leanHeap = 28 << 20

// lean keeps the memory of verbs that move values small: garbage is collected before the
// heap grows. It returns what ends that.
func lean() func() {
	before := debug.SetMemoryLimit(leanHeap)
	return func() { debug.SetMemoryLimit(before) }
}
