// Package allowed lists the commands that a scan may send, each with the reason. It sends none; package server renders
// the list as an ACL user.
//
// API: may change until 1.0.
package allowed

// Command represents a row of the list of commands a scan may send.
type Command struct {
	Name   string // as ACL writes it: "memory|usage"
	Why    string // what it is sent for
	Values bool   // only where values are looked at
}

// Commands returns everything the audit, `doctor` and `explain --key` send. AUTH
// needs no permission. Anything else is refused before it reaches the network.
func Commands() []Command {
	return []Command{
		{Name: "ping", Why: "is the server there, and how quickly does it answer"},
		{Name: "select", Why: "every database is scanned"},
		{Name: "info", Why: "version, role, replicas, size; whether the server restarted, failed over or was flushed"},
		{Name: "dbsize", Why: "how many keys to expect"},
		{Name: "readonly", Why: "a cluster replica answers for its own keys"},
		{Name: "cluster|nodes", Why: "shards, replicas, and whether slots move"},
		{Name: "cluster|countkeysinslot", Why: "doctor: keys in slots that the node does not own"},
		{Name: "cluster|getkeysinslot", Why: "doctor: the names of some of them"},
		{Name: "scan", Why: "the names"},
		{Name: "type", Why: "the type of a key"},
		{Name: "pttl", Why: "the TTL of a key"},
		{Name: "memory|usage", Why: "the bytes of a key"},
		{Name: "object|encoding", Why: "explain --key"},
		{Name: "xlen", Why: "entries of streams with a maxlen"},
		{Name: "getrange", Why: "--values: strings, 1 MiB at a time", Values: true},
		{Name: "lrange", Why: "--values: both ends of lists, or all of them", Values: true},
		{Name: "llen", Why: "--values: elements of a list", Values: true},
		{Name: "hrandfield", Why: "--values: random fields of hashes", Values: true},
		{Name: "hscan", Why: "--values=all: hashes", Values: true},
		{Name: "hlen", Why: "--values: fields of a hash", Values: true},
		{Name: "srandmember", Why: "--values: random members of sets", Values: true},
		{Name: "sscan", Why: "--values=all: sets", Values: true},
		{Name: "scard", Why: "--values: members of a set", Values: true},
		{Name: "zrandmember", Why: "--values: random members of sorted sets", Values: true},
		{Name: "zscan", Why: "--values=all: sorted sets", Values: true},
		{Name: "zcard", Why: "--values: members of a sorted set", Values: true},
		{Name: "xrange", Why: "--values: the beginning of streams, or all of them", Values: true},
		{Name: "xrevrange", Why: "--values: the end of streams", Values: true},
		{Name: "config|get", Why: "doctor: persistence, eviction, binding"},
		{Name: "acl|whoami", Why: "doctor: who we are"},
		{Name: "time", Why: "doctor: the server's clock"},
	}
}
