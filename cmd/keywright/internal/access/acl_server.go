package access

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/gen/acl"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/spf13/cobra"
)

// aclSession represents the servers of a topology and the users that they should have.
type aclSession struct {
	nodes   map[string]kernel.Raw
	users   []acl.User
	closers []func()
}

func (s *aclSession) close() {
	for _, c := range slices.Backward(s.closers) {
		c()
	}
}

// ACLDifference describes what acl diff prints as JSON; its names are stable.
type ACLDifference struct {
	Servers []aclServer `json:"servers"`
}

// aclServer describes what one server has and lacks.
type aclServer struct {
	Server  string       `json:"server"`
	Changes []acl.Change `json:"changes"`
	Unknown []string     `json:"unknown_users"` // users that the declaration does not have
	self    string
	client  kernel.Raw

	categories map[string][]string // which commands each category of this server has
}

// openSession connects to all servers of a topology. With choose, or if the URL names a database other
// than 0, users may choose one.
func openSession(ctx context.Context, a *cli.App, config connect.Config, users []acl.User,
	choose bool) (*aclSession, error) {
	if choose || config.DB != 0 {
		users = withSelect(users)
	}
	c, err := a.Client(ctx)
	if err != nil {
		return nil, err
	}
	primaries := c.Raw().Nodes()
	s := &aclSession{maps.Clone(primaries), users, []func(){c.Close}}
	if err := s.addReplicas(ctx, config, primaries); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// addReplicas adds to the primaries the replicas that they name.
func (s *aclSession) addReplicas(ctx context.Context, config connect.Config, primaries map[string]kernel.Raw) error {
	for address, c := range primaries {
		role, err := topology.ReadRole(ctx, kernel.AskNode(c))
		if err != nil {
			return aclRefused(address, err, "the login needs +role")
		}
		for _, replica := range role.Followers {
			if s.nodes[replica] != nil {
				continue
			}
			r, err := kernel.OpenNode(config, replica)
			if err != nil {
				return aclRefused(replica, err,
					"it is a replica of "+address+", and must be reached too: ACL rules are not replicated")
			}
			s.closers = append(s.closers, r.Close)
			s.nodes[replica] = r
		}
	}
	return nil
}

func aclRefused(server string, err error, hint string) error {
	return cli.ServerFailure(&keywright.Error{Class: keywright.Refused, Op: "acl", Server: server,
		Err: fmt.Errorf("%s: %w", server, err), Hint: hint})
}

// compare asks every server for its users.
func (s *aclSession) compare(ctx context.Context) ([]aclServer, error) {
	var plan []aclServer
	for _, address := range slices.Sorted(maps.Keys(s.nodes)) {
		found, err := compareServer(ctx, s.nodes[address], s.users)
		if err != nil {
			return plan, aclRefused(address, err, "the login needs +acl|getuser, +acl|users, +acl|whoami and +acl|cat")
		}
		found.Server, found.client = address, s.nodes[address]
		plan = append(plan, found)
	}
	return plan, nil
}

func compareServer(ctx context.Context, c kernel.Raw, users []acl.User) (out aclServer, err error) {
	if out.self, err = c.Do(ctx, c.B().AclWhoami().Build()).ToString(); err != nil {
		return out, err
	}
	names, err := c.Do(ctx, c.B().AclUsers().Build()).AsStrSlice()
	if err != nil {
		return out, err
	}
	var actual []acl.Actual
	for _, name := range names {
		u, err := getUser(ctx, c, name)
		if err != nil {
			return out, err
		}
		actual = append(actual, u)
	}
	if out.categories, err = categoriesOfServer(ctx, c); err != nil {
		return out, err
	}
	out.Changes, out.Unknown = acl.Diff(users, actual, out.categories), acl.Unknown(users, actual)
	return out, nil
}

// categoriesOfServer returns which commands each category of this server has.
func categoriesOfServer(ctx context.Context, c kernel.Raw) (map[string][]string, error) {
	names, err := c.Do(ctx, c.B().AclCat().Build()).AsStrSlice()
	if err != nil {
		return nil, err
	}
	asks := make([]kernel.Command, len(names))
	for i, name := range names {
		asks[i] = c.B().AclCat().Categoryname(name).Build()
	}
	out := map[string][]string{}
	for i, r := range c.DoMulti(ctx, asks...) {
		if out[names[i]], err = r.AsStrSlice(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func getUser(ctx context.Context, c kernel.Raw, name string) (acl.Actual, error) {
	u := acl.Actual{Name: name}
	fields, err := c.Do(ctx, c.B().AclGetuser().Username(name).Build()).AsMap()
	if err != nil {
		return u, err
	}
	unknown := func(field string) error {
		return fmt.Errorf(
			"the server describes its users in a way that is not known here (%s); Redis 7.0 or Valkey 7.2 is needed", field)
	}
	for field, into := range map[string]*string{"commands": &u.Commands, "keys": &u.Keys, "channels": &u.Channels} {
		m := fields[field]
		if *into, err = m.ToString(); err != nil {
			return u, unknown(field)
		}
	}
	flags := fields["flags"]
	if u.Flags, err = flags.AsStrSlice(); err != nil {
		return u, unknown("flags")
	}
	selectors := fields["selectors"]
	list, _ := selectors.ToArray()
	u.Selectors = len(list)
	return u, nil
}

func showACL(a *cli.App, form string, plan []aclServer) error {
	changes := 0
	for i := range plan {
		changes += len(plan[i].Changes)
		plan[i].Changes = append([]acl.Change{}, plan[i].Changes...)
		plan[i].Unknown = append([]string{}, plan[i].Unknown...)
	}
	err := a.WriteReport(form, ACLDifference{append([]aclServer{}, plan...)}, func() error { return printACL(a, plan) })
	if err == nil && changes > 0 {
		err = &cli.Exit{Code: cli.ExitFindings}
	}
	return err
}

func printACL(a *cli.App, plan []aclServer) error {
	for _, s := range plan {
		if len(s.Changes) == 0 {
			a.Print("%s: as declared", s.Server)
		} else {
			a.Print("%s: %s", s.Server, terminal.Plural(int64(len(s.Changes)), "difference"))
		}
		for _, c := range s.Changes {
			style := terminal.Red
			if c.Add {
				style = terminal.Green
			}
			a.Print("  %s", a.Out.Paint(style, finding.Printable(c.String())))
		}
		if len(s.Unknown) > 0 {
			a.Print("  not in the declaration: %s", finding.Printable(strings.Join(s.Unknown, ", ")))
		}
	}
	return nil
}

func aclDiffCommand(a *cli.App) *cobra.Command {
	var user, output string
	var choose bool
	c := &cobra.Command{
		Use:   "diff",
		Short: "Compare the users of a server with the declaration",
		Long: `Asks every server of the topology, replicas too, for its ACL users and says what
they have too much (-) and what they lack (+). Passwords are not looked at, but it
counts when a user needs none (nopass), is off, or may restore unchecked dumps
(skip-sanitize-payload). It
needs +acl|getuser, +acl|users, +acl|whoami, +acl|cat and +role.

Exit codes: 0 they are as declared, 1 they differ, 2 usage, 3 unreachable, 4
refused.`,
		Example: "  keywright acl diff -u redis://localhost:6379",
		Args:    cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := cli.OneOf("output", output, "text", "json"); err != nil {
				return err
			}
			return aclDiff(c.Context(), a, user, choose, output)
		},
	}
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	userFlags(a, c, &user, &choose)
	cli.Outputs(c, &output, "text", "json")
	return c
}

// userFlags say which users are compared, or changed.
func userFlags(a *cli.App, c *cobra.Command, user *string, choose *bool) {
	c.Flags().StringVar(user, "user", "", "only this user")
	_ = c.RegisterFlagCompletionFunc("user", a.CompleteComponents)
	c.Flags().BoolVar(choose, "select", false, selectUsage)
}

func aclDiff(ctx context.Context, a *cli.App, user string, choose bool, output string) error {
	d, users, err := declaredUsers(a, user)
	if err != nil {
		return err
	}
	config, err := a.Server()
	if err != nil {
		return err
	}
	warnOfExcess(a, d, users, user != "")
	s, err := openSession(ctx, a, config, users, choose)
	if err != nil {
		return err
	}
	defer s.close()
	found, err := s.compare(ctx)
	if err != nil {
		return err
	}
	return showACL(a, output, found)
}
