package typed

import (
	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
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

// seals seals the text of a field of this key.
func (k Key) seals(field, text string) (string, error) {
	return k.client.Seal(k.entry, k.key, field, text)
}

// opens opens it.
func (k Key) opens(field, text string) (string, error) {
	return k.client.Unseal(k.entry, k.key, field, text)
}

// at returns the codec of what is stored at a field of the key, "" for its whole
// value. Only one that seals costs anything.
func at[T any](k Key, field string, c *value.Codec[T]) *value.Codec[T] {
	if !c.Sealed() {
		return c
	}
	return c.Bind(field, k.seals, k.opens)
}
