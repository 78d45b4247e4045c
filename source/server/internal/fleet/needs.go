package fleet

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source/server/internal/link"
)

// need represents a command that something cannot do without, in a form that changes nothing: the keys that it names do
// not exist.
type need struct {
	Name string
	args []string
	Out  string // the way out where it is missing; "": as for all
}

// readOtherwise is the way out where values cannot be read by commands.
const readOtherwise = "--snapshot reads all values without it, and so does a snapshot file"

// Needs lists the forms in which commands are tried, in an order in which none changes what the others mean. A
// configuration may rename or disable each of them (rename-command), and a user may be without it.
var Needs = []need{
	{Name: "DUMP", args: []string{"DUMP", link.NoSuchKey}, Out: readOtherwise},
	{Name: "PEXPIRETIME", args: []string{"PEXPIRETIME", link.NoSuchKey}, Out: readOtherwise},
	{Name: "RESTORE", args: []string{"RESTORE", link.NoSuchKey, "0", ""}},
	{Name: "EVAL", args: []string{"EVAL", "return 1", "0"}},
	{Name: "EVALSHA", args: []string{"EVALSHA", strings.Repeat("0", 40), "0"}},
	{Name: "UNLINK", args: []string{"UNLINK", link.NoSuchKey}},
	{Name: "RENAMENX", args: []string{"RENAMENX", link.NoSuchKey, link.NoSuchKey + "2"}},
	{Name: "PEXPIRE", args: []string{"PEXPIRE", link.NoSuchKey, "1"}},
	{Name: "PEXPIREAT", args: []string{"PEXPIREAT", link.NoSuchKey, "1"}},
	{Name: "PERSIST", args: []string{"PERSIST", link.NoSuchKey}},
	{Name: "WATCH", args: []string{"WATCH", link.NoSuchKey}},
	{Name: "EXEC", args: []string{"EXEC"}}, // an error, without MULTI
	{Name: "MULTI", args: []string{"MULTI"}},
}

// ToReadValues are the commands that reading values needs.
var ToReadValues = []string{"DUMP", "PEXPIRETIME", "EXEC", "MULTI"}

// Has is Has of the servers of a fleet.
func (t *Fleet) Has(ctx context.Context, commands []string) error {
	for _, sh := range t.Shards {
		stop := context.AfterFunc(ctx, sh.Conn.Interrupt)
		err := sh.has(commands)
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// has tries commands at one server, in one round trip.
func (s *Shard) has(commands []string) error {
	var tried []need
	for _, n := range Needs {
		if slices.Contains(commands, n.Name) {
			tried = append(tried, n)
			s.Conn.Command(n.args...)
			if n.Name == "MULTI" { // which an EXEC ends; that there is one is known by then
				s.Conn.Command("EXEC")
			}
		}
	}
	if err := s.Conn.Flush(); err != nil {
		return connect.Explain(s.Address, err)
	}
	var none, closed []string // of the server, to the user
	hint := ""
	for _, n := range tried {
		_, err := s.Conn.Any()
		if n.Name == "MULTI" {
			_, _ = s.Conn.Any()
		}
		var answer *wire.ServerError
		switch {
		case err == nil:
			continue
		case !errors.As(err, &answer):
			return connect.Explain(s.Address, err)
		case !link.Unavailable(err):
			continue
		case answer.Code == "NOPERM":
			closed = append(closed, n.Name)
		default:
			none = append(none, n.Name)
		}
		hint = cmp.Or(hint, n.Out)
	}
	var why []string
	if len(closed) > 0 {
		why = append(why, "the user may not run "+strings.Join(closed, ", "))
		hint = cmp.Or(hint, "`keywright acl print --self` prints a user that reads; --backup and --change add what backup, "+
			"delete, ttl and clean need, and --rename, --restore, --copy and --snapshot print the user for these")
	}
	if len(none) > 0 {
		why = append(why, "the server has no "+strings.Join(none, ", ")+": its configuration has renamed or disabled it")
		hint = cmp.Or(hint, "take out rename-command, or name another server")
	}
	if len(why) == 0 {
		return nil
	}
	return &connect.Error{Kind: connect.Denied, Server: s.Address, Err: errors.New(strings.Join(why, "; ")), Hint: hint}
}
