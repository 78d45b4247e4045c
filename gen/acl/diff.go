package acl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Actual is a user as a server has it: the answer to ACL GETUSER.
type Actual struct {
	Name      string
	Flags     []string // "on", "nopass" …
	Passwords int
	Commands  string // "-@all +get …"
	Keys      string // "~a:* %R~b:*"
	Channels  string // "&c:*"
	Selectors int
}

// Whole is the rule of a Change that stands for a user that is not there.
const Whole = "(the user itself)"

// Change is one rule that a user has too much or too little. A user that is not
// there at all lacks everything.
type Change struct {
	User string `json:"user"`
	Add  bool   `json:"add"` // the declaration gives it and the server does not
	Rule string `json:"rule"`
}

func (c Change) String() string {
	if c.Add {
		return fmt.Sprintf("+ %s %s", c.User, c.Rule)
	}
	return fmt.Sprintf("- %s %s", c.User, c.Rule)
}

// Diff compares what users should be with what they are. Passwords and whether
// a user is on are nobody's business here, but a user that lets anybody in
// (nopass) is a change to be made by hand and is told as one.
func Diff(users []User, actual []Actual) []Change {
	var out []Change
	for _, u := range users {
		i := slices.IndexFunc(actual, func(a Actual) bool { return a.Name == u.Name })
		if i < 0 {
			out = append(out, Change{u.Name, true, Whole})
			continue
		}
		out = append(out, u.diff(actual[i])...)
	}
	return out
}

func (u User) diff(a Actual) []Change {
	var want, have []string
	for _, c := range u.Commands {
		want = append(want, "+"+c)
	}
	want = append(append(want, u.KeyRules()...), u.ChannelRules()...)
	for _, rule := range strings.Fields(strings.ToLower(a.Commands)) {
		if rule != "-@all" && rule != "nocommands" {
			have = append(have, rule)
		}
	}
	for _, rule := range strings.Fields(a.Keys) {
		have = append(have, strings.Replace(rule, "%RW~", "~", 1))
	}
	have = append(have, strings.Fields(a.Channels)...)
	if a.Selectors > 0 {
		have = append(have, fmt.Sprintf("(%d selectors)", a.Selectors))
	}
	return compare(u.Name, want, have)
}

func compare(user string, want, have []string) []Change {
	var out []Change
	for _, w := range want {
		if !slices.Contains(have, w) {
			out = append(out, Change{user, true, w})
		}
	}
	for _, h := range have {
		if !slices.Contains(want, h) {
			out = append(out, Change{user, false, h})
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Compare(a.Rule, b.Rule) })
	return slices.Compact(out)
}

// Unknown are the users of a server that the declaration does not have.
func Unknown(users []User, actual []Actual) []string {
	var out []string
	for _, a := range actual {
		if !slices.ContainsFunc(users, func(u User) bool { return u.Name == a.Name }) {
			out = append(out, a.Name)
		}
	}
	slices.Sort(out)
	return out
}
