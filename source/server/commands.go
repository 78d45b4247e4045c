package server

import (
	"context"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source/server/allowed"
	"github.com/keywright/keywright/source/server/internal/fleet"
)

// Command represents a row of the list of commands a scan may send.
type Command = allowed.Command

// Commands returns everything the audit, `doctor` and `explain --key` send. AUTH
// needs no permission. Anything else is refused before it reaches the network.
func Commands() []Command { return allowed.Commands() }

// ACL returns the line that makes a least-privilege user for the audit, as ACL
// SETUSER takes it after the name and an ACL file after `user NAME`. It loads
// on Redis from 6.2 and Valkey from 7.2: a subcommand an old server does not
// know would keep it from starting, so only ones that all know are named.
func ACL(values bool) string {
	line := "on ~* resetchannels -@all"
	for _, c := range Commands() {
		if values || !c.Values {
			line += " +" + c.Name
		}
	}
	return line
}

// ContentCommands returns what Contents sends beside the commands of a scan. It also tries
// CLIENT NO-TOUCH, which servers have from 7.2 (Redis) and 8.0 (Valkey) and which keeps
// the idle times of keys: grant it there. Servers from 7.4 (Redis) and 9.0 (Valkey) also need
// HPEXPIRETIME, for hashes in parts.
func ContentCommands() []Command {
	return []Command{
		{Name: "multi", Why: "value and expiry are read in one step"},
		{Name: "exec", Why: "value and expiry are read in one step"},
		{Name: "dump", Why: "the value of a key"},
		{Name: "pexpiretime", Why: "when a key expires"},
		{Name: "watch", Why: "a value that is written to while it is read in parts is read again"},
		{Name: "unwatch", Why: "see watch"},
		{Name: "xinfo|stream", Why: "a stream in parts"},
		{Name: "xinfo|groups", Why: "a stream in parts"},
		{Name: "xinfo|consumers", Why: "a stream in parts"},
		{Name: "xpending", Why: "a stream in parts"},
		{Name: "function|list", Why: "libraries of functions"},
		{Name: "exists", Why: "verify, copy: is a key of the other side here"},
		{Name: "asking", Why: "verify, copy: a key whose slot moves is read where it goes"},
	}
}

// ContentsACL returns the line that makes a user who may read all values, as ACL is for a
// scan.
func ContentsACL() string {
	line := ACL(true)
	for _, c := range ContentCommands() {
		line += " +" + c.Name
	}
	return line
}

// SnapshotACL returns the line that makes a user who may take snapshots and nothing
// else, as ACL is for a scan. Such a user sees every key, though it names none.
func SnapshotACL() string {
	return "on resetkeys resetchannels -@all +ping +info +dbsize +cluster|nodes +replconf +psync +sync"
}

// ToChangeKeys returns the commands that changing keys needs: the right to do so is taken by a script.
func ToChangeKeys() []string { return []string{"EVAL", "EVALSHA"} }

// ToRestoreKeys returns the commands that writing values needs.
func ToRestoreKeys() []string {
	return append(ToChangeKeys(), "RESTORE", "UNLINK", "RENAMENX", "PEXPIRE", "PEXPIREAT", "PERSIST", "WATCH", "EXEC",
		"MULTI")
}

// Has returns an error that names the commands that are missing at the servers that take writes: they have been renamed
// or disabled, or the user may not run them.
func Has(ctx context.Context, config connect.Config, commands []string) error {
	t, err := fleet.Discover(ctx, config, Primary)
	if err != nil {
		return err
	}
	defer t.Close()
	return t.Has(ctx, commands)
}
