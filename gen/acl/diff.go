package acl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Actual represents a user as a server has it: the answer to ACL GETUSER.
type Actual struct {
	Name      string
	Flags     []string // "on", "nopass" …
	Passwords int
	Commands  string // "-@all +get …"
	Keys      string // "~a:* %R~b:*"
	Channels  string // "&c:*"
	Selectors int
}

// Whole is the rule of a Change that is for a user that is not there.
const Whole = "(the user itself)"

// Change represents one rule that a user has too much or too little. A user that is not
// there at all lacks everything.
type Change struct {
	User   string `json:"user"`
	Add    bool   `json:"add"` // the declaration gives it and the server does not
	Rule   string `json:"rule"`
	ByHand bool   `json:"by_hand,omitempty"` // ACL SETUSER as User says it does not change it
}

func (c Change) String() string {
	if c.Add {
		return fmt.Sprintf("+ %s %s", c.User, c.Rule)
	}
	return fmt.Sprintf("- %s %s", c.User, c.Rule)
}

// Diff compares what users should be with what they are. Passwords are not looked
// at, but a user that needs none (nopass) is a difference, and so are one that is
// off and one whose dumps are restored unchecked (skip-sanitize-payload).
// Servers write the commands of a user in their own way, Redis 7.0 with
// categories; so both sides are spelt out first, by the categories of that
// server (ACL CAT).
func Diff(users []User, actual []Actual, categories map[string][]string) []Change {
	var out []Change
	for _, u := range users {
		i := slices.IndexFunc(actual, func(a Actual) bool { return a.Name == u.Name })
		if i < 0 {
			out = append(out, Change{User: u.Name, Add: true, Rule: Whole})
			continue
		}
		out = append(out, u.diff(actual[i], categories)...)
	}
	return out
}

func (u User) diff(a Actual, categories map[string][]string) []Change {
	want := append(append(Commands("-@all +"+strings.Join(u.Commands, " +"), categories), u.KeyRules()...),
		u.ChannelRules()...)
	have := Commands(a.Commands, categories)
	if slices.Contains(have, "+@all") { // that says it: not each command that there is
		have = slices.DeleteFunc(have, func(rule string) bool { return rule != "+@all" && !slices.Contains(want, rule) })
	}
	for _, rule := range strings.Fields(a.Keys) {
		have = append(have, strings.Replace(rule, "%RW~", "~", 1))
	}
	have = append(have, strings.Fields(a.Channels)...)
	if a.Selectors > 0 {
		have = append(have, fmt.Sprintf("(%d selectors)", a.Selectors))
	}
	return append(flags(u.Name, a.Flags), compareCommands(u.Name, want, have)...)
}

// flags returns the differences beyond rights.
func flags(user string, have []string) []Change {
	var out []Change
	for _, f := range []struct {
		flag   string
		change Change
	}{
		{"off", Change{user, true, "on", true}},
		{"nopass", Change{user, false, "nopass", true}},
		{"skip-sanitize-payload", Change{user, false, "skip-sanitize-payload", false}},
	} {
		if slices.Contains(have, f.flag) {
			out = append(out, f.change)
		}
	}
	return out
}

// Commands spells out the rules of a user's commands ("-@all +@hash -hdel
// +client|id"): each command that may be run, with a plus in front. Of a container
// only the subcommands count.
func Commands(rules string, categories map[string][]string) []string {
	known, containers := map[string]bool{}, map[string]bool{}
	for _, list := range categories {
		for _, c := range list {
			known[c] = true
			if container, _, ok := strings.Cut(c, "|"); ok {
				containers[container] = true
			}
		}
	}
	may := map[string]bool{}
	for _, rule := range strings.Fields(strings.ToLower(rules)) {
		allow := rule[0] == '+'
		for _, c := range ruleCommands(rule[1:], known, categories) {
			may[c] = allow
		}
	}
	var out []string
	for c, allowed := range may {
		if allowed && !containers[c] {
			out = append(out, "+"+c)
		}
	}
	slices.Sort(out)
	return out
}

// ruleCommands returns the commands that one rule is about.
func ruleCommands(name string, known map[string]bool, categories map[string][]string) []string {
	if category, ok := strings.CutPrefix(name, "@"); ok && category != "all" {
		return categories[category]
	}
	out := []string{name}
	for c := range known {
		if name == "@all" || strings.HasPrefix(c, name+"|") {
			out = append(out, c)
		}
	}
	return out
}

func compareCommands(user string, want, have []string) []Change {
	var out []Change
	for _, w := range want {
		if !slices.Contains(have, w) {
			out = append(out, Change{User: user, Add: true, Rule: w})
		}
	}
	for _, h := range have {
		if !slices.Contains(want, h) {
			out = append(out, Change{User: user, Rule: h})
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Compare(a.Rule, b.Rule) })
	return slices.Compact(out)
}

// Unknown returns the users of a server that the declaration does not have.
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
