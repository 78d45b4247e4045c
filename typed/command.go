package typed

import (
	"github.com/keywright/keywright"
	"github.com/redis/rueidis"
)

// NewWrite is any one command that writes k and gives it its TTL in the same
// step, as every handle here does; for the packages of constructs. effect is
// Writes or Idempotent. args stand after the key and are sent as one command.
func NewWrite[T any](k Key, name string, effect keywright.Effect, decode func(rueidis.RedisResult) (T, error), command string, args []string, options ...keywright.WriteOption) keywright.Op[T] {
	return change(k, name, decode, writing{command: command, args: args, mode: add, effect: effect, options: options})
}
