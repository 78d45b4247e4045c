package apply

import "strings"

// commands say what a restore sends, and the lease of the process that acts.
var commands = []string{
	"append", "asking", "auth", "client|getname", "client|id", "client|setname", "cluster|nodes", "cluster|shards",
	"cluster|slots", "dump", "eval", "evalsha", "exec", "exists", "function|list", "function|load", "get",
	"getrange", "hello", "hlen", "hscan", "hset",
	"info", "llen", "lrange", "memory|usage", "multi",
	"persist", "pexpire", "pexpireat", "pexpiretime", "ping", "pttl", "quit", "renamenx", "restore", "rpush", "sadd",
	"scard", "script|load", "select", "set", "sscan", "strlen", "time", "type", "unlink", "unwatch", "watch", "xadd",
	"xclaim", "xgroup|create",
	"xgroup|createconsumer", "xgroup|destroy", "xinfo|consumers", "xinfo|groups",
	"xinfo|stream", "xlen", "xpending", "xrange", "xsetid", "zadd", "zcard", "zscan",
}

// ACL returns the line that makes a user who may restore keys and nothing else, as ACL
// SETUSER takes it after the name.
func ACL() string { return "on ~* resetchannels -@all +" + strings.Join(commands, " +") }

// changeCommands say what Keys sends, and the lease of the process that acts.
var changeCommands = []string{
	"auth", "client|getname", "client|id", "client|setname", "cluster|shards", "cluster|slots", "eval", "evalsha",
	"exists", "get", "hello", "info", "multi", "exec", "object|idletime", "persist", "pexpire", "pexpireat", "pexpiretime",
	"ping",
	"pttl", "quit", "renamenx", "script|load", "select", "set", "time", "type", "unlink", "zcount",
}

// renameCommands say what a rename sends beside that: it moves jobs of queues one by one.
var renameCommands = []string{
	"hdel", "hexists", "hget", "hlen", "hset", "lrange", "lrem", "rename", "rpush", "zadd", "zrange", "zrem",
	"zscan", "zscore",
}

// RenameACL returns what a user who may change and restore keys must be allowed beside that to
// rename them.
func RenameACL() string { return "+" + strings.Join(renameCommands, " +") }

// ChangeACL returns what a user who may scan must be allowed beside that to delete keys and
// give them TTLs.
func ChangeACL() string { return "+" + strings.Join(changeCommands, " +") }
