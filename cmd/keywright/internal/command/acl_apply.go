package command

import (
	"context"
	"fmt"
	"slices"

	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/gen/acl"
)

func (a *app) aclApply(ctx context.Context, s *aclSession, apply, save bool) error {
	plan, err := s.compare(ctx)
	if err != nil {
		return err
	}
	if !apply {
		err := a.showACL("text", plan)
		if err != nil {
			a.say("nothing was changed; run it with --apply")
		}
		return err
	}
	if save {
		if err := canSave(ctx, plan); err != nil {
			return err
		}
	}
	changed := 0
	for _, node := range plan {
		if err := a.applyServer(ctx, node, s.users, save, &changed); err != nil {
			if changed > 0 {
				return &exit{exitPartial, fmt.Sprintf("%s: %v; %s before were changed", node.Server, err, terminal.Plural(int64(changed), "user")), "mend what is wrong and run it again: what is done stays done"}
			}
			return aclRefused(node.Server, err, "the login needs +acl|setuser, and +acl|save for --save")
		}
	}
	after, err := s.compare(ctx)
	if err != nil {
		return err
	}
	return a.applied(after)
}

// applied shows what is left: nothing, or what is to be changed by hand.
func (a *app) applied(after []aclServer) error {
	a.printACL(after)
	left := false
	for _, node := range after {
		for _, c := range node.Changes {
			if c.User != node.self && !c.ByHand {
				return &exit{exitPartial, node.Server + " still differs", "something else changes its users"}
			}
			left = left || c.ByHand
		}
	}
	if left {
		return &exit{exitFindings, "", "what is left is changed by hand: ACL SETUSER NAME resetpass '>…' or on"}
	}
	return nil
}

// canSave asks every server, before the first is changed, whether it has an ACL
// file and lets this login save.
func canSave(ctx context.Context, plan []aclServer) error {
	for _, node := range plan {
		config, err := node.client.Do(ctx, node.client.B().ConfigGet().Parameter("aclfile").Build()).AsStrMap()
		if err != nil {
			return aclRefused(node.Server, err, "nothing was changed; --save asks for the ACL file first, which needs +config|get")
		}
		if config["aclfile"] == "" {
			return &exit{exitRefused, node.Server + " has no ACL file, so its users cannot be saved; nothing was changed", "set aclfile in its configuration, or leave out --save and run CONFIG REWRITE there"}
		}
		reply, err := node.client.Do(ctx, node.client.B().AclDryrun().Username(node.self).Command("ACL").Arg("SAVE").Build()).ToString()
		if err == nil && reply != "OK" {
			return &exit{exitRefused, node.Server + ": " + node.self + " may not ACL SAVE; nothing was changed", "the login needs +acl|save"}
		}
	}
	return nil
}

// applyServer changes the users of one server that differ, and counts them.
func (a *app) applyServer(ctx context.Context, node aclServer, users []acl.User, save bool, changed *int) error {
	for _, u := range users {
		if !slices.ContainsFunc(node.Changes, func(c acl.Change) bool { return c.User == u.Name && !c.ByHand }) {
			continue
		}
		if u.Name == node.self {
			a.say("warning: %s: %s is logged in here and was left alone; use another login", node.Server, u.Name)
			continue
		}
		words := u.SetUser()
		if slices.ContainsFunc(node.Changes, func(c acl.Change) bool { return c.User == u.Name && c.Rule == acl.Whole }) {
			words = append(words, "on")
		}
		if err := node.client.Do(ctx, node.client.B().Arbitrary("ACL", "SETUSER").Args(words...).Build()).Error(); err != nil {
			return err
		}
		*changed++
	}
	if save {
		if err := node.client.Do(ctx, node.client.B().AclSave().Build()).Error(); err != nil {
			return fmt.Errorf("its users are changed and not saved: %w", err)
		}
	}
	return nil
}
