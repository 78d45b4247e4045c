package topology

import (
	"context"
	"fmt"
	"maps"
)

// Ask sends one command to one server, and returns its reply: texts, int64, lists of them.
type Ask func(ctx context.Context, words ...string) (any, error)

// ReplyError represents a reply that is not what the command answers with.
type ReplyError struct {
	Got  string
	Want string
}

func (e *ReplyError) Error() string { return "got " + e.Got + " instead of " + e.Want }

// ReadInfo asks for sections of INFO; none: the usual ones. One round trip each.
func ReadInfo(ctx context.Context, ask Ask, sections ...string) (Info, error) {
	if len(sections) == 0 {
		sections = []string{"default"}
	}
	all := Info{}
	for _, section := range sections {
		reply, err := ask(ctx, "INFO", section)
		if err != nil {
			return nil, err
		}
		text, ok := reply.(string)
		if !ok {
			return nil, &ReplyError{fmt.Sprintf("%T", reply), "the text of INFO"}
		}
		maps.Copy(all, ParseInfo(text))
	}
	return all, nil
}

// ReadNodes asks for the nodes of a cluster; address is that of the server that is asked.
func ReadNodes(ctx context.Context, ask Ask, address string) (Nodes, error) {
	reply, err := ask(ctx, "CLUSTER", "NODES")
	if err != nil {
		return nil, err
	}
	text, ok := reply.(string)
	if !ok {
		return nil, &ReplyError{fmt.Sprintf("%T", reply), "the text of CLUSTER NODES"}
	}
	return ParseNodes(text, hostOf(address)), nil
}

// Role describes what ROLE says.
type Role struct {
	Name      string   // "master", "slave", "sentinel"
	Followers []string // addresses of a primary's replicas
}

// Primary reports whether the server takes writes.
func (r Role) Primary() bool { return r.Name == "master" }

// ReadRole asks a server for its role.
func ReadRole(ctx context.Context, ask Ask) (Role, error) {
	reply, err := ask(ctx, "ROLE")
	if err != nil {
		return Role{}, err
	}
	parts, _ := reply.([]any)
	if len(parts) == 0 {
		return Role{}, &ReplyError{fmt.Sprintf("%T", reply), "the list of ROLE"}
	}
	r := Role{Name: fmt.Sprint(parts[0])}
	if len(parts) < 3 || !r.Primary() {
		return r, nil
	}
	replicas, _ := parts[2].([]any)
	for _, one := range replicas {
		if f, _ := one.([]any); len(f) >= 2 {
			r.Followers = append(r.Followers, join(fmt.Sprint(f[0]), fmt.Sprint(f[1])))
		}
	}
	return r, nil
}
