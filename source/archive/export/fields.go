package export

import (
	"strconv"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/rdb/dump"
)

// expires reports whether a value is a hash whose fields expire by themselves.
func expires(v *archive.Value) bool {
	return v.Form == archive.Dump && v.Kind == source.Hash &&
		dump.Fields(v.Payload, v.RDB, func([][]byte, bool) error { return nil }) == nil
}

// expiring writes a hash whose fields expire by themselves: [field, value], or [field, value, Unix milliseconds].
func (l *lines) expiring(v *archive.Value) error {
	l.head(v)
	l.raw(`,"value":[`)
	comma := ""
	err := dump.Fields(v.Payload, v.RDB, func(elements [][]byte, _ bool) error {
		for i := 0; i+2 < len(elements); i += 3 {
			l.raw(comma + "[")
			l.text(elements[i])
			l.raw(",")
			l.text(elements[i+1])
			if at := string(elements[i+2]); at != "0" {
				l.raw("," + at)
			}
			l.raw("]")
			comma = ","
		}
		return nil
	})
	l.raw("]}\n")
	return err
}

// expiring writes the same as commands, which servers know from Redis 7.4 and Valkey 9 on.
func (c *commands) expiring(v *archive.Value) error {
	c.command("DEL", v.Key)
	err := dump.Fields(v.Payload, v.RDB, func(elements [][]byte, _ bool) error {
		for i := 0; i+2 < len(elements); i += 3 {
			c.command("HSET", v.Key, elements[i], elements[i+1])
			if at := elements[i+2]; string(at) != "0" {
				c.command("HPEXPIREAT", v.Key, at, []byte("FIELDS"), []byte("1"), elements[i])
			}
		}
		return nil
	})
	if err == nil && v.Expires > 0 {
		c.command("PEXPIREAT", v.Key, strconv.AppendInt(nil, v.Expires, 10))
	}
	return err
}
