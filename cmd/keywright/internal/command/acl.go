package command

import (
	"strings"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/gen/acl"
	"github.com/keywright/keywright/internal/typo"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

func (a *app) aclCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "acl",
		Short: "ACL users of the keyspace: one per owner and reader",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return a.unknownCommand(c, args[0])
		},
		SuggestionsMinimumDistance: 2,
		RunE:                       func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.aclPrintCommand(), a.aclDiffCommand(), a.aclApplyCommand())
	return c
}

// aclPrinting are the flags of acl print.
type aclPrinting struct {
	self, values, snapshot bool
	user, output           string
}

func (a *app) aclPrintCommand() *cobra.Command {
	var o aclPrinting
	c := &cobra.Command{
		Use:   "print",
		Short: "Print the users of the declaration, or the one that keywright needs",
		Long: `Prints a user per owner and reader of the declaration, with the keys, channels
and commands that this component needs: the owner of an entry may write its
keys, a reader may read them (%R~, Redis 7.0 and Valkey 7.2 or later). Passwords
are not in it: add one with >password, or #sha256, behind "on".

An ACL knows globs, and a pattern is narrower. Where a user can reach keys of
others because of that, a warning says so with such a key.

With --self it prints the user that audit, doctor and explain need.`,
		Example: `  keywright acl print > users.acl
  keywright acl print --user chat-api -o commands
  keywright acl print --self >> users.acl
  redis-cli ACL SETUSER keywright $(keywright acl print --self | cut -d' ' -f3-) '>…'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.self {
				return a.aclSelf(&o)
			}
			return a.aclPrint(&o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.self, "self", false, "the user keywright itself needs")
	f.BoolVar(&o.snapshot, "snapshot", false, "with --self: what --snapshot needs instead of a scan")
	f.BoolVar(&o.values, "values", true, "with --self: with what --values needs")
	f.StringVar(&o.user, "user", "", "only this user; with --self its name (default: keywright)")
	outputs(c, &o.output, "acl", "commands", "json")
	return c
}

func (a *app) aclSelf(o *aclPrinting) error {
	if o.user == "" {
		o.user = "keywright"
	}
	if strings.ContainsFunc(o.user, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return usage("write --user keywright", "%q is no name for an ACL user", o.user)
	}
	rules := server.ACL(o.values)
	if o.snapshot {
		rules = server.SnapshotACL()
	}
	a.tell("user %s %s", o.user, rules)
	return nil
}

func (a *app) aclPrint(o *aclPrinting) error {
	if err := oneOf("output", o.output, "acl", "commands", "json"); err != nil {
		return err
	}
	d, users, err := a.aclUsers(o.user)
	if err != nil {
		return err
	}
	a.warnOfExcess(d, users)
	switch o.output {
	case "json":
		return a.json(aclJSON(users))
	case "commands":
		for _, u := range users {
			a.tell("%s", strings.Join(quoteAll(append([]string{"ACL", "SETUSER"}, u.SetUser()...)), " "))
		}
		return nil
	}
	a.tell("%s", strings.TrimSuffix(acl.File(users), "\n"))
	return nil
}

// aclUsers are the users of the declaration, or one of them.
func (a *app) aclUsers(only string) (*declaration, []acl.User, error) {
	d, path, err := a.usable()
	if err != nil {
		return nil, nil, err
	}
	users, err := acl.Users(d.Keyspace)
	if err != nil {
		return nil, nil, usage("give the component a name without blanks", "%v", err)
	}
	if len(users) == 0 {
		return nil, nil, usage("add owner to the file or to its entries", "%s names no owners and no readers", path)
	}
	if only == "" {
		return d, users, nil
	}
	var names []string
	for _, u := range users {
		if u.Name == only {
			return d, []acl.User{u}, nil
		}
		names = append(names, u.Name)
	}
	hint := "the components are " + strings.Join(names, ", ")
	if near := typo.Nearest(only, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return nil, nil, usage(hint, "%q is no owner and no reader", only)
}

func (a *app) warnOfExcess(d *declaration, users []acl.User) {
	for _, x := range acl.Excesses(d.Keyspace, users) {
		may := "read"
		if x.Write {
			may = "write"
		}
		a.say("warning: %s may %s keys of %s, as in %s: no glob says only %s (%s)", x.User, may, x.Reaches, finding.Key(x.Witness), x.For, x.Glob)
	}
}

// quoteAll makes words safe for a shell.
func quoteAll(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = shellWord(w)
	}
	return out
}

// aclUser is a user as JSON.
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
		out[i] = aclUser{u.Name, u.Commands, append([]string{}, u.KeyRules()...), append([]string{}, u.ChannelRules()...), u.Rules()}
	}
	return out
}

func (a *app) aclDiffCommand() *cobra.Command {
	var user, output string
	c := &cobra.Command{
		Use:   "diff",
		Short: "Compare the users of a server with the declaration",
		Long: `Asks every server of the topology, replicas too, for its ACL users and says what
they have too much (-) and what they lack (+). Passwords are not looked at. It
needs +acl|getuser, +acl|users, +acl|whoami, +acl|cat and +role.

Exit codes: 0 they are as declared, 1 they differ, 2 usage, 3 unreachable, 4
refused.`,
		Example: "  keywright acl diff -u redis://localhost:6379",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := oneOf("output", output, "text", "json"); err != nil {
				return err
			}
			return a.aclWith(c.Context(), user, func(s *aclSession) error {
				plan, err := s.compare(c.Context())
				if err != nil {
					return err
				}
				return a.showACL(output, plan)
			})
		},
	}
	a.serverFlags(c)
	c.Flags().StringVar(&user, "user", "", "only this user")
	outputs(c, &output, "text", "json")
	return c
}

func (a *app) aclApplyCommand() *cobra.Command {
	var user string
	var apply, save bool
	c := &cobra.Command{
		Use:   "apply",
		Short: "Make the users of a server what the declaration says",
		Long: `Shows what would change on every server of the topology and changes nothing
without --apply. With it, ACL SETUSER gives each user exactly the declared keys,
channels and commands; passwords stay, a new user has none and cannot log in
until it gets one. Users that the declaration does not have are left alone, and
so is the one that keywright is logged in as. ACL rules are not replicated, so
every server is changed, the replicas that the primaries name (ROLE) too.

Exit codes: 0 nothing to do or done, 1 something would change, 2 usage, 3
unreachable, 4 refused, 5 some servers were changed and others not.`,
		Example: `  keywright acl apply -u redis://localhost:6379
  keywright acl apply -u redis://localhost:6379 --apply --save`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if save && !apply {
				return usage("write --apply --save", "--save goes with --apply")
			}
			return a.aclWith(c.Context(), user, func(s *aclSession) error { return a.aclApply(c.Context(), s, apply, save) })
		},
	}
	a.serverFlags(c)
	f := c.Flags()
	f.StringVar(&user, "user", "", "only this user")
	f.BoolVar(&apply, "apply", false, "change the servers")
	f.BoolVar(&save, "save", false, "let the servers write their ACL file afterwards (ACL SAVE)")
	return c
}
