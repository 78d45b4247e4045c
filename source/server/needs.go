package server

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
)

// need represents a command that something cannot do without, in a form that changes nothing: the keys that it names do
// not exist.
type need struct {
	name string
	args []string
	out  string // the way out where it is missing; "": as for all
}

// readOtherwise is the way out where values cannot be read by commands.
const readOtherwise = "--snapshot reads all values without it, and so does a snapshot file"

// needs lists the forms in which commands are tried, in an order in which none changes what the others mean. A
// configuration may rename or disable each of them (rename-command), and a user may be without it.
var needs = []need{
	{name: "DUMP", args: []string{"DUMP", nowhere}, out: readOtherwise},
	{name: "PEXPIRETIME", args: []string{"PEXPIRETIME", nowhere}, out: readOtherwise},
	{name: "RESTORE", args: []string{"RESTORE", nowhere, "0", ""}},
	{name: "EVAL", args: []string{"EVAL", "return 1", "0"}},
	{name: "EVALSHA", args: []string{"EVALSHA", strings.Repeat("0", 40), "0"}},
	{name: "UNLINK", args: []string{"UNLINK", nowhere}},
	{name: "RENAMENX", args: []string{"RENAMENX", nowhere, nowhere + "2"}},
	{name: "PEXPIRE", args: []string{"PEXPIRE", nowhere, "1"}},
	{name: "PEXPIREAT", args: []string{"PEXPIREAT", nowhere, "1"}},
	{name: "PERSIST", args: []string{"PERSIST", nowhere}},
	{name: "WATCH", args: []string{"WATCH", nowhere}},
	{name: "EXEC", args: []string{"EXEC"}}, // an error, without MULTI
	{name: "MULTI", args: []string{"MULTI"}},
}

// toReadValues are the commands that reading values needs.
var toReadValues = []string{"DUMP", "PEXPIRETIME", "EXEC", "MULTI"}

// has is Has of the servers of a fleet.
func (t *fleet) has(ctx context.Context, commands []string) error {
	for _, sh := range t.shards {
		stop := context.AfterFunc(ctx, sh.conn.Interrupt)
		err := sh.has(commands)
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// has tries commands at one server, in one round trip.
func (s *shard) has(commands []string) error {
	var tried []need
	for _, n := range needs {
		if slices.Contains(commands, n.name) {
			tried = append(tried, n)
			s.conn.Command(n.args...)
			if n.name == "MULTI" { // which an EXEC ends; that there is one is known by then
				s.conn.Command("EXEC")
			}
		}
	}
	if err := s.conn.Flush(); err != nil {
		return connect.Explain(s.address, err)
	}
	var none, closed []string // of the server, to the user
	hint := ""
	for _, n := range tried {
		_, err := s.conn.Any()
		if n.name == "MULTI" {
			_, _ = s.conn.Any()
		}
		var answer *wire.ServerError
		switch {
		case err == nil:
			continue
		case !errors.As(err, &answer):
			return connect.Explain(s.address, err)
		case !without(err):
			continue
		case answer.Code == "NOPERM":
			closed = append(closed, n.name)
		default:
			none = append(none, n.name)
		}
		hint = cmp.Or(hint, n.out)
	}
	var why []string
	if len(closed) > 0 {
		why = append(why, "the user may not run "+strings.Join(closed, ", "))
		hint = cmp.Or(hint, "`keywright acl print --self` prints what a user needs, with --restore also one who restores")
	}
	if len(none) > 0 {
		why = append(why, "the server has no "+strings.Join(none, ", ")+": its configuration has renamed or disabled it")
		hint = cmp.Or(hint, "take out rename-command, or name another server")
	}
	if len(why) == 0 {
		return nil
	}
	return &connect.Error{Kind: connect.Denied, Server: s.address, Err: errors.New(strings.Join(why, "; ")), Hint: hint}
}
