package typed

import (
	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// NewWrite returns any one command that writes k and gives it its TTL in the same
// step, as every handle here does; for the packages of constructs. effect is
// Writes or Idempotent. args are after the key and are sent as one command.
func NewWrite[T any](k Key, name string, effect keywright.Effect, decode kernel.Decode[T],
	command string, args []string, options ...keywright.WriteOption) keywright.Op[T] {
	return change(k, name, decode, writing{command: command, args: args, mode: add, effect: effect, options: options})
}

// act returns an operation that gives nothing.
func act(op keywright.Op[struct{}]) keywright.Act { return keywright.Act{Op: op} }
