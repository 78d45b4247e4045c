package access

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/gen/acl"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/spf13/cobra"
)

func aclApplyCommand(a *cli.App) *cobra.Command {
	var o change.Changing
	var user string
	var save, choose bool
	c := &cobra.Command{
		Use:   "apply",
		Short: "Make the users of a server what the declaration says",
		Long: `ACL SETUSER gives each user exactly the declared keys, channels and commands, on every
server of the topology; passwords stay, a new user has none and cannot log in until it
gets one. Users that the declaration does not have are left alone, and so is the one
that keywright is logged in as. ACL rules are not replicated, so every server is
changed, the replicas that the primaries name (ROLE) too.

A server cannot compare and change a user in one step: the user is read just before,
and again afterwards. A plan has no passwords and no hashes of them.

` + change.PlanHelp + `

` + change.ExitCodesOfChanges,
		Example: `  keywright acl apply -u redis://localhost:6379
  keywright acl apply -u redis://localhost:6379 --apply --save
  keywright acl apply -u redis://localhost:6379 --plan users.plan`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			q := plan.Request{Options: map[string]string{"user": user, "select": strconv.FormatBool(choose),
				"save": strconv.FormatBool(save)}}
			return change.Change(c.Context(), a, Verbs()["acl apply"], q, &o)
		},
	}
	o.Flags(a, c)
	userFlags(a, c, &user, &choose)
	c.Flags().BoolVar(&save, "save", false, "let the servers write their ACL file afterwards (ACL SAVE)")
	return c
}

// loadUsers reads the users of the declaration.
func loadUsers(_ context.Context, r *change.Run) error {
	d, users, err := declaredUsers(r.App, r.Request.Options["user"])
	if err != nil {
		return err
	}
	warnOfExcess(r.App, d, users, r.Request.Options["user"] != "")
	r.Schema, r.Users = d.Keyspace, users
	return nil
}

// findUsers finds the users that are not as declared, server by server.
func findUsers(ctx context.Context, r *change.Run, found *change.Findings) error {
	s, err := openSession(ctx, r.App, r.Config, r.Users, r.Request.Options["select"] == "true")
	if err != nil {
		return err
	}
	r.Closers = append(r.Closers, s.close)
	servers, err := s.compare(ctx)
	if err != nil {
		return err
	}
	save := r.Request.Options["save"] == "true"
	if save {
		if err := canSave(ctx, servers); err != nil {
			return err
		}
	}
	for i := range servers {
		n := addChanges(found, &servers[i], s.users)
		if save && (n > 0 || saves(r, servers[i].Server)) {
			addSave(found, &servers[i])
		}
	}
	return nil
}

// saves says whether the plan that is executed lets a server save: a run that was killed
// may have changed its users, and not saved them.
func saves(r *change.Run, server string) bool {
	return r.File != nil && slices.ContainsFunc(r.File.Changes, func(c plan.Change) bool {
		return c.Verb == "save" && c.Entry == server
	})
}

// addChanges adds the users of a server that differ, and gives how many.
func addChanges(f *change.Findings, s *aclServer, users []acl.User) (n int) {
	for _, u := range users {
		differs, byHand := []acl.Change{}, false
		for _, c := range s.Changes {
			if c.User == u.Name && c.ByHand {
				byHand = true
			} else if c.User == u.Name {
				differs = append(differs, c)
			}
		}
		switch {
		case len(differs) > 0 && u.Name == s.self:
			f.Leave(s.Server, plan.OwnLogin, []byte(u.Name), 0)
		case len(differs) > 0:
			before, after := rulesOf(differs)
			n++
			f.Add(plan.Change{Verb: "set", Entry: s.Server, Key: finding.JSONKey(u.Name), Before: before, After: after},
				func(ctx context.Context, c *plan.Change) (plan.Code, error) { return s.set(ctx, u, c) })
		}
		if byHand {
			f.Leave(s.Server, plan.ByHand, []byte(u.Name), 0)
		}
	}
	return n
}

// rulesOf returns differences of one user in words: what it has too much, and what it lacks.
func rulesOf(differs []acl.Change) (before, after string) {
	words := map[bool][]string{}
	for _, c := range differs {
		sign := map[bool]string{true: "+", false: "-"}[c.Add]
		words[c.Add] = append(words[c.Add], sign+" "+c.Rule)
	}
	return strings.Join(words[false], "  "), strings.Join(words[true], "  ")
}

// set makes a user what it should be, if it still differs as the plan says, and looks at
// it again.
func (s *aclServer) set(ctx context.Context, u acl.User, c *plan.Change) (plan.Code, error) {
	now, err := s.differs(ctx, u)
	if err != nil {
		return "", aclStep(err)
	}
	if before, after := rulesOf(now); before != c.Before || after != c.After {
		return plan.Changed, nil
	}
	words := u.SetUser()
	if slices.ContainsFunc(now, func(c acl.Change) bool { return c.Rule == acl.Whole }) {
		words = append(words, "on")
	}
	err = s.client.Do(ctx, s.client.B().Arbitrary("ACL", "SETUSER").Args(words...).Build()).Error()
	if err != nil {
		return "", aclStep(err)
	}
	if now, err = s.differs(ctx, u); err == nil && len(now) > 0 {
		return plan.Changed, nil // something else changes it, too
	}
	return "", aclStep(err)
}

// differs returns how a user differs now, but for what is changed by hand.
func (s *aclServer) differs(ctx context.Context, u acl.User) ([]acl.Change, error) {
	var actual []acl.Actual
	switch is, err := getUser(ctx, s.client, u.Name); {
	case kernel.IsNil(err):
	case err != nil:
		return nil, err
	default:
		actual = append(actual, is)
	}
	return slices.DeleteFunc(acl.Diff([]acl.User{u}, actual, s.categories),
		func(c acl.Change) bool { return c.ByHand }), nil
}

// addSave adds that a server writes its ACL file.
func addSave(f *change.Findings, s *aclServer) {
	f.Add(plan.Change{Verb: "save", Entry: s.Server, Key: finding.JSONKey("ACL SAVE"), After: "in its ACL file"},
		func(ctx context.Context, _ *plan.Change) (plan.Code, error) {
			return "", aclStep(s.client.Do(ctx, s.client.B().AclSave().Build()).Error())
		})
}

// canSave asks every server, before the first is changed, whether it has an ACL
// file and lets this login save.
func canSave(ctx context.Context, servers []aclServer) error {
	for _, node := range servers {
		config, err := node.client.Do(ctx, node.client.B().ConfigGet().Parameter("aclfile").Build()).AsStrMap()
		if err != nil {
			return aclRefused(node.Server, err,
				"nothing was changed; --save asks for the ACL file first, which needs +config|get")
		}
		if config["aclfile"] == "" {
			return cli.Refused("set aclfile in its configuration, or leave out --save and run CONFIG REWRITE there",
				"%s has no ACL file, so its users cannot be saved; nothing was changed", node.Server)
		}
		reply, err := node.client.Do(ctx, node.client.B().AclDryrun().Username(node.self).Command("ACL").Arg("SAVE").Build()).
			ToString()
		if err == nil && reply != "OK" {
			return cli.Refused("the login needs +acl|save", "%s: %s may not ACL SAVE; nothing was changed", node.Server,
				node.self)
		}
	}
	return nil
}

// aclStep gives an error of a server its class, so that a refusal is distinguished from a lost reply.
func aclStep(err error) error {
	if _, said := kernel.IsServerError(err); said {
		return &keywright.Error{Class: keywright.Refused, Op: "acl", Err: err}
	}
	return err
}
