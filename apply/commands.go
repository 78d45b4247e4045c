package apply

import "strings"

// commands are what a restore sends.
var commands = []string{
	"append", "auth", "client|getname", "client|id", "client|setname", "cluster|shards", "cluster|slots", "dump", "exec", "exists", "hello", "hset", "info", "llen", "multi",
	"persist", "pexpire", "pexpireat", "pexpiretime", "ping", "quit", "renamenx", "restore", "rpush", "sadd", "select", "strlen", "time", "unlink", "unwatch", "watch", "xadd", "xclaim", "xgroup|create",
	"xgroup|createconsumer", "xgroup|destroy", "xlen", "xsetid", "zadd",
}

// ACL is the line that makes a user who may restore keys and nothing else, as ACL
// SETUSER takes it after the name.
func ACL() string { return "on ~* resetchannels -@all +" + strings.Join(commands, " +") }
