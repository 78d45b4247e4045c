package rdb

import (
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/internal/layout"
)

// Known returns since which version of RDB each type and each opcode is read.
func Known(valkey bool) (types, opcode map[int]int) {
	types, opcode = map[int]int{}, map[int]int{}
	for n, l := range layout.Of(valkey) {
		if l.Kind != source.Unknown {
			types[n] = max(l.Since, 1)
		}
	}
	for n, o := range opcodes {
		if o.read != nil {
			opcode[n] = o.since
		}
	}
	return types, opcode
}
