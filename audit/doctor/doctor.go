// Package doctor judges what servers say of themselves: memory at its limit, what is written to disk, writes that are
// refused, a clock that differs, a login without a password, what a user may not do. Each rule is a row of a table
// with a stable code, and what it sees is a finding.
//
// It asks nothing and prints nothing: package source/server examines the servers, and what a server does not tell is
// no finding.
//
// API: may change until 1.0.
package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source/server/examine"
)

// Diagnosis says what a server is, or the servers of a cluster, and what should be otherwise.
type Diagnosis struct {
	Facts    []examine.Fact
	Findings []finding.Finding // the gravest first
	NotKnown []examine.Fact    // what could not be looked at, and why: no finding is about it
}

// Of judges an examination.
func Of(x *examine.Examination) Diagnosis {
	out := append(cluster(x), servers(x)...)
	slices.SortStableFunc(out, func(a, b finding.Finding) int { return int(b.Severity) - int(a.Severity) })
	return Diagnosis{x.Facts(), out, x.Unknown()}
}

// Rules returns the rules, in the order of their codes.
func Rules() []finding.Rule {
	out := slices.Clone(clusterRules)
	for _, c := range checks {
		out = append(out, c.Rule)
	}
	slices.SortFunc(out, func(a, b finding.Rule) int { return strings.Compare(a.Code, b.Code) })
	return out
}

// servers applies the checks to each server. What several say is said once, with their addresses.
func servers(x *examine.Examination) (out []finding.Finding) {
	for _, c := range checks {
		at := map[string][]string{}
		var order []string
		for _, p := range x.Patients {
			if message, seen := c.sees(p); seen {
				if at[message] == nil {
					order = append(order, message)
				}
				at[message] = append(at[message], p.Address)
			}
		}
		for _, message := range order {
			where := at[message]
			if n := len(where); len(x.Patients) > 1 && n < len(x.Patients) {
				message += " (at " + strings.Join(where[:min(n, 5)], ", ")
				if n > 5 {
					message += fmt.Sprintf(" and %d more", n-5)
				}
				message += ")"
			}
			out = append(out, made(c.Rule, message))
		}
	}
	return out
}

func made(r finding.Rule, message string) finding.Finding {
	return finding.Finding{Code: r.Code, Severity: r.Severity, Message: message, Fix: r.Fix}
}

// cluster judges what the nodes of a cluster say together.
func cluster(x *examine.Examination) (out []finding.Finding) {
	add := func(code, format string, args ...any) {
		i := slices.IndexFunc(clusterRules, func(r finding.Rule) bool { return r.Code == code })
		out = append(out, made(clusterRules[i], fmt.Sprintf(format, args...)))
	}
	if x.NodesUnknown != "" {
		add("KW742", "the nodes of the cluster are not known: %s", x.NodesUnknown)
	}
	if covered := x.Nodes.Covered(); len(x.Nodes) > 0 && covered < topology.Slots {
		add("KW740", "%d of %d slots belong to no node", topology.Slots-covered, topology.Slots)
	}
	if x.Nodes.Moving() {
		add("KW741", "slots are being moved between nodes")
	}
	for _, p := range x.Patients {
		if message := stranded(p); message != "" {
			add("KW746", "%s", message)
		}
	}
	for _, n := range x.Silent {
		if n.Node.Primary() {
			add("KW744", "the primary %s of the slots %s does not answer: %s", n.Node.Address, ranges(n.Node.Slots), n.Cause)
		} else {
			add("KW745", "the node %s does not answer: %s", n.Node.Address, n.Cause)
		}
	}
	if x.Unexamined > 0 {
		add("KW743", "only %d of %d nodes were looked at", len(x.Nodes)-x.Unexamined, len(x.Nodes))
	}
	return out
}

// stranded names the keys of a node that lie in slots of other nodes.
func stranded(p *examine.Patient) string {
	var keys int64
	var slots []string
	for _, o := range p.Orphans {
		if keys += o.Keys; len(slots) < mostNamed {
			slots = append(slots,
				fmt.Sprintf("slot %d of %s (keys: %d: %s)", o.Slot, o.Owner, o.Keys, strings.Join(o.Names, ", ")))
		}
	}
	if keys == 0 {
		return ""
	}
	more := ""
	if n := len(p.Orphans) - len(slots); n > 0 {
		more = fmt.Sprintf(" and %d more slots", n)
	}
	return fmt.Sprintf("keys of %s in slots of other nodes, which no client can read: %d: %s%s", p.Address, keys,
		strings.Join(slots, ", "), more)
}

func ranges(slots []topology.Range) string {
	out := make([]string, len(slots))
	for i, r := range slots {
		out[i] = r.String()
	}
	return strings.Join(out, ", ")
}

// clusterRules are about a cluster as a whole.
var clusterRules = []finding.Rule{
	{Code: "KW740", Name: "slots-uncovered", Severity: finding.Error, Summary: "Slots of the cluster belong to no node",
		Explain: "Keys in these slots can neither be read nor written; with cluster-require-full-coverage nothing can.",
		Fix:     "give the slots to a node: valkey-cli or redis-cli --cluster fix"},
	{Code: "KW741", Name: "slots-moving", Severity: finding.Note, Summary: "Slots are being moved between nodes",
		Explain: "An audit during that is incomplete.",
		Fix:     "wait until the reshard has ended, or end it: --cluster fix"},
	{Code: "KW742", Name: "nodes-not-known", Severity: finding.Warning, Summary: "The nodes of the cluster are not known",
		Explain: "Only one of them could be looked at.", Fix: "run doctor as a user with +cluster|nodes"},
	{Code: "KW743", Name: "nodes-not-all", Severity: finding.Note, Summary: "Not all nodes were looked at",
		Explain: "One run looks at a bounded number of nodes.", Fix: "name another node after -u"},
	{Code: "KW744", Name: "primary-silent", Severity: finding.Error, Summary: "A primary of the cluster does not answer",
		Explain: "Its keys can neither be read nor written until it is back or a replica of it has taken over.",
		Fix:     "start it, or look why no replica takes over (CLUSTER FAILOVER TAKEOVER at one)"},
	{Code: "KW745", Name: "node-silent", Severity: finding.Warning, Summary: "A node of the cluster does not answer",
		Explain: "It cannot take over when a primary fails.", Fix: "start it, or remove it: CLUSTER FORGET"},
	{Code: "KW746", Name: "orphaned-keys", Severity: finding.Warning,
		Summary: "A node has keys in slots of other nodes",
		Explain: "A migration of a slot was interrupted. No client can read these keys, and they are old: the slot's node may " +
			"have others of the same names. They take memory, and a reshard of the slot to this node would show them again.",
		Fix: "at this node, for each slot: CLUSTER SETSLOT slot IMPORTING id-of-its-node, then ASKING and UNLINK key on one " +
			"connection for each key of CLUSTER GETKEYSINSLOT slot 100, then CLUSTER SETSLOT slot STABLE"},
}
