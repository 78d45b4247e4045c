package rdb

import "github.com/keywright/keywright/source"

// Known returns since which version of RDB each type and each opcode is read.
func Known(valkey bool) (types, opcode map[int]int) {
	types, opcode = map[int]int{}, map[int]int{}
	for n, l := range layoutsOf(valkey) {
		if l.kind != source.Unknown {
			types[n] = max(l.since, 1)
		}
	}
	for n, o := range opcodes {
		if o.read != nil {
			opcode[n] = o.since
		}
	}
	return types, opcode
}
