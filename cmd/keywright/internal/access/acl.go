// Package access has the verbs that say who may read what: the ACL users of a declaration, and what is sealed with
// which
// key.
package access

import (
	"cmp"
	"slices"
	"strings"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/gen/acl"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

func ACLCommand(a *cli.App) *cobra.Command {
	return a.Group(&cobra.Command{
		Use:                        "acl",
		Short:                      "ACL users of the keyspace: one per owner and reader",
		SuggestionsMinimumDistance: 2,
	}, aclPrintCommand(a), aclDiffCommand(a), aclApplyCommand(a))
}

type aclPrinting struct {
	self, repair, snapshot, choose bool
	backup, restore, copy, change  bool
	from                           sources.Mapping // of --rename: the namespace that keys come from
	rename                         bool
	user, output, values           string
}

func aclPrintCommand(a *cli.App) *cobra.Command {
	var o aclPrinting
	c := &cobra.Command{
		Use:   "print",
		Short: "Print the users of the declaration, or the one that keywright needs",
		Long: `Prints a user per owner and reader of the declaration, with the keys, channels
and commands that this component needs: the owner of an entry may write its
keys, a reader may read them (%R~, Redis 7.0 and Valkey 7.2 or later). Passwords
are not in it: add one with >password, or #sha256, after "on".

An ACL knows globs, and a pattern is narrower; and it does not tell publishing on
a channel from subscribing. Where a user can do more than is declared because of
that, a warning says so with such a key or channel and the command.

With --self it prints the user that audit, doctor and explain need, with --repair
the one that queues, entities, locks and rankings need: it may SCAN, which shows the
names of all keys. With both it prints the user that status and serve need. A person
who does all of this by hand needs --self with --backup, --change and --repair.
With --self and --namespace it may touch the keys of that namespace only:
that is enough for what lists, saves and changes keys of one namespace.`,
		Example: `  keywright acl print > users.acl
  keywright acl print --user chat-api -o commands
  keywright acl print --self >> users.acl
  keywright acl print --self --backup --change --repair --user operator >> users.acl
  redis-cli ACL SETUSER keywright $(keywright acl print --self | cut -d' ' -f3-) '>…'`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.self {
				return aclSelf(a, &o)
			}
			return aclPrint(a, &o)
		},
	}
	a.NamespaceFlag(c)
	f := c.Flags()
	f.BoolVar(&o.self, "self", false, "the user keywright itself needs")
	f.BoolVar(&o.repair, "repair", false, "the user that looks at queues, entities, locks and rankings, and repairs them")
	f.BoolVar(&o.choose, "select", false, selectUsage)
	f.BoolVar(&o.snapshot, "snapshot", false, "with --self: what --snapshot needs instead of a scan")
	f.BoolVar(&o.backup, "backup", false, "with --self: what backup needs, too")
	f.BoolVar(&o.restore, "restore", false, "with --self: what restore needs instead")
	f.BoolVar(&o.copy, "copy", false,
		"with --self: what copy needs at the target instead (at the source it needs what backup does)")
	f.BoolVar(&o.change, "change", false, "with --self: what delete, ttl and clean need, too")
	f.BoolVar(&o.rename, "rename", false, "with --self: what rename needs instead")
	o.from.Flags(c)
	f.StringVar(&o.values, "values", "all", "with --self: with what audit --values needs: none, sample or all")
	f.Lookup("values").NoOptDefVal = "sample"
	cli.Choices(c, "values", cli.ValueWords[:3]...)
	f.StringVar(&o.user, "user", "",
		"only this user; with --self and --repair its name (default: keywright, keywright-repair)")
	_ = c.RegisterFlagCompletionFunc("user", a.CompleteComponents)
	cli.Outputs(c, &o.output, "acl", "commands", "json")
	return c
}

func aclSelf(a *cli.App, o *aclPrinting) error {
	if o.user == "" {
		o.user = "keywright"
	}
	if strings.ContainsFunc(o.user, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return cli.Usage("write --user keywright", "%q is no name for an ACL user", o.user)
	}
	if err := cli.OneOf("values", o.values, cli.ValueWords...); err != nil {
		return err
	}
	repair, err := repairRules(a, o)
	if err != nil {
		return err
	}
	rules := selfRules(o, repair)
	if o.from.From != "" && (!o.rename || a.Namespace == "") {
		return cli.Usage("write --self --rename --from-namespace A --namespace B",
			"--from-namespace is for --rename with --namespace")
	}
	if rules, err = aclWithin(a, rules, o.from.From); err != nil {
		return err
	}
	if o.backup || o.copy || o.rename {
		a.Say("note: Redis from 7.4 and Valkey from 9 on also need +hpexpiretime, which older servers do not know")
	}
	a.Print("user %s %s", o.user, rules)
	return nil
}

// repairRules returns what --repair needs; "" without it.
func repairRules(a *cli.App, o *aclPrinting) (string, error) {
	if !o.repair {
		return "", nil
	}
	_, users, err := aclPrinted(a, o)
	if err != nil {
		return "", err
	}
	// Streams are looked at by status and serve.
	return strings.Join(users[0].Rules(), " ") + " +xinfo|stream +xinfo|groups", nil
}

// selfRules returns what the user of keywright needs for all that was asked for; without a word what an audit needs.
func selfRules(o *aclPrinting, repair string) (rules string) {
	for _, x := range []struct {
		asked bool
		rules string
	}{
		{o.snapshot, server.SnapshotACL()},
		{o.backup || o.copy || o.rename, server.ContentsACL()},
		{o.restore || o.copy || o.rename, apply.ACL()},
		{o.change && !o.rename, server.ACL(false)},
		{o.change || o.rename, apply.ChangeACL()},
		{o.rename, apply.RenameACL()},
		{o.repair, repair},
	} {
		switch {
		case !x.asked:
		case rules == "":
			rules = x.rules
		default:
			rules = bothACL(rules, x.rules)
		}
	}
	if rules == "" || rules == repair { // to look at a queue is not all that a person does
		rules = bothACL(server.ACL(o.values != "none" && o.values != "false"), repair)
	}
	return rules
}

// aclWithin gives a user of keywright the keys of the namespace that was asked for instead of
// all keys, and of the one that keys come from, with those that keywright itself writes.
func aclWithin(a *cli.App, rules, from string) (string, error) {
	if a.Namespace == "" {
		return rules, nil
	}
	d, _, err := a.LoadDeclaration()
	if err != nil {
		return "", err
	}
	keys, spaces := "~keywright:*", d.Spaces
	if from == load.BeforeNamespaces {
		return "", cli.Usage("leave --namespace and --from-namespace out",
			"names from before there was a namespace may begin with anything: the user needs ~*")
	}
	if from != "" {
		old, err := sources.DeclaredIn(a, from)
		if err != nil {
			return "", err
		}
		spaces = append(slices.Clone(spaces), old.Spaces...)
	}
	for _, n := range spaces {
		keys += " ~" + strings.ReplaceAll(n.Glob(), `\`, "")
	}
	a.Say("note: audit needs --include GLOB with one of these globs; without it, as top, it looks at the whole server")
	return strings.Replace(rules, "~*", keys, 1), nil
}

// bothACL returns the line of a user who may do what two others may, where the first may touch all keys.
func bothACL(one, other string) string {
	for _, word := range strings.Fields(other) {
		if strings.ContainsAny(word[:1], "+&") && !slices.Contains(strings.Fields(one), word) {
			one += " " + word
		}
	}
	return one
}

func aclPrint(a *cli.App, o *aclPrinting) error {
	if err := cli.OneOf("output", o.output, "acl", "commands", "json"); err != nil {
		return err
	}
	d, users, err := aclPrinted(a, o)
	if err != nil {
		return err
	}
	warnOfExcess(a, d, users, o.user != "")
	if o.choose {
		users = withSelect(users)
	}
	switch o.output {
	case "json":
		return a.JSON(ACLUsers{aclJSON(users)})
	case "commands":
		for _, u := range users {
			words := []string{"ACL", "SETUSER"}
			for _, word := range u.SetUser() {
				words = append(words, cli.ShellWord(word))
			}
			a.Print("%s", strings.Join(words, " "))
		}
		return nil
	}
	a.Print("%s", strings.TrimSuffix(acl.File(users), "\n"))
	return nil
}

const selectUsage = "let users choose a database: the rules hold in all of them"

func withSelect(users []acl.User) []acl.User {
	out := make([]acl.User, len(users))
	for i, u := range users {
		out[i] = u.With("select")
	}
	return out
}

func aclPrinted(a *cli.App, o *aclPrinting) (*cli.Declaration, []acl.User, error) {
	if !o.repair {
		return declaredUsers(a, o.user)
	}
	d, path, err := a.LoadDeclaration()
	if err != nil {
		return nil, nil, err
	}
	if !acl.Repairs(d.Keyspace) {
		return nil, nil,
			cli.Usage("leave out --repair: acl print prints the users of the components",
				"%s declares no queue, no entity, no lock and no ranking, so there is nothing to look at", path)
	}
	u, err := acl.Repair(d.Keyspace, cmp.Or(o.user, "keywright-repair"))
	if err != nil {
		return nil, nil, cli.Usage("write --user keywright-repair", "%v", err)
	}
	a.Say("warning: %s may SCAN, which shows the names of all keys of a server", u.Name)
	return d, []acl.User{u}, nil
}

// declaredUsers returns the users of the declaration, or one of them.
func declaredUsers(a *cli.App, only string) (*cli.Declaration, []acl.User, error) {
	d, path, err := a.LoadDeclaration()
	if err != nil {
		return nil, nil, err
	}
	users, err := acl.Users(d.Keyspace)
	if err != nil {
		return nil, nil, cli.Usage("give the component another name", "%v", err)
	}
	if len(users) == 0 {
		return nil, nil, cli.Usage("add owner to the file or to its entries", "%s names no owners and no readers", path)
	}
	if only == "" {
		return d, users, nil
	}
	var names []string
	for _, u := range users {
		if u.Name == only || strings.HasSuffix(u.Name, "."+only) && a.Namespace != "" {
			return d, []acl.User{u}, nil
		}
		names = append(names, u.Name)
	}
	return nil, nil, cli.Usage(cli.DidYouMean(only, names, "the components are"), "%q is no owner and no reader", only)
}

// ToldOfUser bounds the warnings of one user where several are printed.
const ToldOfUser = 20

// warnOfExcess tells what users can do beyond the declaration: each thing that is
// declared for others, once whatever rules reach it, and once per user that there are names
// which are not declared at all. Of one user that was asked for it tells everything.
func warnOfExcess(a *cli.App, d *cli.Declaration, users []acl.User, asked bool) {
	all := acl.Excesses(d.Keyspace, users)
	said, told := folded(all), map[string]int{}
	for _, f := range said {
		x := f.Excess
		if x.Reaches == "" {
			continue
		}
		if told[x.User]++; told[x.User] > ToldOfUser && !asked {
			continue
		}
		why := "no rule says only " + x.For
		if x.For == x.Reaches {
			why = "an ACL cannot refuse only that"
		}
		a.Say("warning: %s may %s %s of %s: %s (%s%s)", x.User, x.Command, finding.Key(x.Witness), x.Reaches, why, x.Rule,
			f.more())
	}
	for _, u := range users {
		if n := told[u.Name] - ToldOfUser; n > 0 && !asked {
			a.Say("warning: %s may do %s more that no rule can refuse; --user %s tells them all", u.Name,
				terminal.Plural(int64(n), "thing"), u.Name)
		}
	}
	var hear []string
	for _, u := range users {
		if u.Tracks() {
			hear = append(hear, u.Name)
		}
	}
	if len(hear) > 0 {
		a.Say("warning: %s may receive the names of all keys that change, of others too: client-side caching needs CLIENT "+
			"TRACKING, and an ACL cannot refuse BCAST", strings.Join(hear, ", "))
	}
	for _, f := range said {
		if x := f.Excess; x.Reaches == "" {
			a.Say("warning: %s may %s names that are not declared, as in %s (%s%s)", x.User, x.Command, finding.Key(x.Witness),
				x.Rule, f.more())
		}
	}
}

// fold describes what several rules of a user allow alike: the first one, and how many there are.
type fold struct {
	acl.Excess
	rules int
}

func (f fold) more() string {
	if f.rules == 1 {
		return ""
	}
	return " and " + terminal.Plural(int64(f.rules-1), "more rule")
}

// folded has one of what a user may do to one thing by one command, and one of all names of
// a user that are not declared.
func folded(all []acl.Excess) []*fold {
	var out []*fold
	at := map[[3]string]*fold{}
	for _, x := range all {
		what := [3]string{x.User, x.Reaches, x.Command}
		if x.Reaches == "" {
			what[2] = ""
		}
		if at[what] == nil {
			at[what] = &fold{Excess: x}
			out = append(out, at[what])
		}
		at[what].rules++
	}
	return out
}

// ACLUsers describes what acl print prints as JSON; its names are stable.
type ACLUsers struct {
	Users []aclUser `json:"users"`
}

// aclUser represents a user as JSON.
type aclUser struct {
	User     string   `json:"user"`
	Commands []string `json:"commands"`
	Keys     []string `json:"keys"`
	Channels []string `json:"channels"`
	Rules    []string `json:"rules"`
}

func aclJSON(users []acl.User) []aclUser {
	out := make([]aclUser, len(users))
	for i, u := range users {
		out[i] = aclUser{u.Name, u.Commands, append([]string{}, u.KeyRules()...), append([]string{}, u.ChannelRules()...),
			u.Rules()}
	}
	return out
}
