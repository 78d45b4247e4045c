package command

import (
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/access"
)

// TestWarningsOfUsersAreFolded: what a user may do beyond the declaration is reported once for
// each thing, of twenty things, and whole of the user that was asked for.
func TestWarningsOfUsersAreFolded(t *testing.T) {
	const head = "keywright: 1\nvars: {r: text rest, w: doc|note}\nkeys:\n"
	wide := "  all: {key: \"doc:{r}\", type: string, ttl: 1d, owner: u}\n  more: {key: \"{w}:{r}\", type: string, ttl: " +
		"1d, owner: u}\n  odd: {key: \"doc:{x}:{r}\", type: string, ttl: 1d, owner: u}\n"
	narrow := lined(50, "  e#: {key: \"doc:e#:{id}\", type: hash, ttl: 1d, owner: v}\n")
	for _, c := range []struct {
		args []string
		most int
		more bool
	}{
		{[]string{"acl", "print"}, access.ToldOfUser, true},
		{[]string{"acl", "print", "--user", "u"}, 50, false},
	} {
		code, _, said := ran(t, head+wide+narrow, "", c.args...)
		told := map[string]int{}
		for line := range strings.Lines(said) {
			if _, reached, ok := strings.Cut(line, " of e"); ok && strings.HasPrefix(line, "warning: u may ") {
				told[strings.SplitN(reached, ":", 2)[0]]++
			}
		}
		if code != 0 || len(told) != c.most || strings.Contains(said, "u may do 30 things more") != c.more ||
			strings.Count(said, "and 1 more rule") < c.most {
			t.Errorf("%q: code %d, %d things: %s", c.args, code, len(told), said)
		}
		for what, n := range told {
			if n != 1 {
				t.Errorf("%q: e%s is told %d times", c.args, what, n)
			}
		}
	}
}
