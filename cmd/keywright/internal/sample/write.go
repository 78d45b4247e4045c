package sample

import (
	"strconv"

	"github.com/keywright/keywright/keyspace"
)

// verbs lists the commands that write a value of each kind.
var verbs = map[keyspace.Kind]string{
	keyspace.String: "SET", keyspace.List: "RPUSH", keyspace.Set: "SADD", keyspace.ZSet: "ZADD", keyspace.Hash: "HSET",
	keyspace.Stream: "XADD",
}

// Commands returns the commands that write the key, arguments as bytes.
func (k Key) Commands() [][][]byte {
	var out [][][]byte
	for _, row := range k.Rows {
		cmd := [][]byte{[]byte(verbs[k.Kind]), k.Name}
		if k.Kind == keyspace.Stream {
			cmd = append(cmd, []byte("*"))
		}
		out = append(out, append(cmd, row...))
	}
	if k.TTL > 0 {
		out = append(out, [][]byte{[]byte("PEXPIRE"), k.Name, strconv.AppendInt(nil, k.TTL.Milliseconds(), 10)})
	}
	return out
}
