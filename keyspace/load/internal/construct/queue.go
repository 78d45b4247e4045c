package construct

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// queue is a list of job ids per lane; beside the lanes one string per job, its
// result, and for all lanes together one zset of leases, one of delayed jobs, one
// of dead ones, one hash of what is known of jobs that have begun, who works,
// the commands of the queue, and who has asked for a job to be there once.
func (b *builder) queue() {
	id := b.jobID()
	b.addMain(&keyspace.Key{Member: &id})
	b.e.Lease, b.e.Retry = b.d.Duration(b.props, "lease"), int(b.d.Number(b.props, "retry", 0))
	b.e.Timeout = b.d.Duration(b.props, "timeout")
	base := b.main
	if p, ok := b.props["order"]; ok {
		var ok bool
		if b.e.Order, ok = b.d.Text(p.Value, "order"); ok {
			base = b.withoutOrder(p)
		}
	}
	job := "{job}"
	if slices.ContainsFunc(base.Placeholders(), func(p pattern.Placeholder) bool { return p.Name == "job" }) {
		job = "{job_id}"
	}
	unique := "{unique}"
	if slices.ContainsFunc(base.Placeholders(), func(p pattern.Placeholder) bool { return p.Name == "unique" }) {
		unique = "{unique_name}"
	}
	ttl := b.e.TTL
	payload := b.payload()
	of := " of " + b.e.Name + "."
	b.addRole(&keyspace.Key{Role: "job", Kind: keyspace.String, TTL: ttl, Value: payload, Headed: true,
		Doc: "One job" + strings.TrimSuffix(of, ".") + ": a line of the queue's, and after it the payload."}, base,
		"job:"+job)
	b.addRole(&keyspace.Key{Role: "result", Kind: keyspace.String, TTL: scope.Undecided,
		Doc: "The result of one job" + of}, base, "result:"+job)
	b.addRole(&keyspace.Key{Role: "leases", Kind: keyspace.ZSet, TTL: ttl, Member: &id,
		Score: &scalar.Type{Kind: scalar.UnixMS},
		Doc:   "Jobs being worked on, scored by the end of their lease" + of}, base, "leases")
	b.addRole(&keyspace.Key{Role: "delayed", Kind: keyspace.ZSet, TTL: ttl, Member: &id,
		Score: &scalar.Type{Kind: scalar.UnixMS},
		Doc:   "Jobs not yet due, scored by when they are" + of}, base, "delayed")
	b.addRole(&keyspace.Key{Role: "dead", Kind: keyspace.ZSet, TTL: ttl, Member: &id,
		Score: &scalar.Type{Kind: scalar.UnixMS},
		Doc:   "Jobs given up after their last attempt, by time," + of}, base, "dead")
	b.addRole(&keyspace.Key{Role: "workers", Kind: keyspace.ZSet, TTL: scope.AtMost(helperTTL), Member: &scalar.Type{},
		Score: &scalar.Type{Kind: scalar.UnixMS}, Doc: "Processes that work, scored by when they count as dead" + of}, base,
		"workers")
	b.addRole(&keyspace.Key{Role: "state", Kind: keyspace.Hash, TTL: unlessForever(ttl), Field: &scalar.Type{},
		Item: &scalar.Type{},
		Doc:  "Whether it is paused, its rate, and its counters" + of}, base, "state")
	b.addRole(&keyspace.Key{Role: "runs", Kind: keyspace.Hash, TTL: ttl, Field: &id, Item: &scalar.Type{},
		Doc: "What is known of the jobs" + strings.TrimSuffix(of, ".") +
			" that have begun: whose they are, attempts, last error."}, base, "runs")
	b.addRole(&keyspace.Key{Role: "unique", Kind: keyspace.String, TTL: scope.Undecided, Value: &id,
		Doc: "Which job is there for a name that may be there once" + of}, base, "unique:"+unique)
	b.notify(base, "ready", "Tells workers that there is a job"+of)
}

// unlessForever returns the TTL of what tells a queue to pause, which may outlive all
// else of the queue.
func unlessForever(ttl keyspace.TTL) keyspace.TTL {
	if ttl.Policy == keyspace.TTLNone {
		return ttl
	}
	return scope.Undecided
}

// payload returns the type of a job's payload: a scalar type, or a mapping of fields
// for a JSON object.
func (b *builder) payload() *scalar.Type {
	if p, ok := b.props["value"]; ok && p.Value.Kind == yaml.MappingNode {
		b.e.Shape = b.Fields(b.d, b.props, "value", b.e.Name)
		return &scalar.Type{Kind: scalar.JSON}
	}
	return cmp.Or(b.optionalType("value"), &scalar.Type{})
}

// jobID returns the type of the last placeholder of the job key, text if that is
// derived.
func (b *builder) jobID() scalar.Type {
	if p, ok := b.props["job"]; ok && p.Value.Kind == yaml.ScalarNode {
		if job, err := pattern.Parse(p.Value.Value, b.UseVar); err == nil && len(job.Placeholders()) > 0 {
			places := job.Placeholders()
			return places[len(places)-1].Type
		}
	}
	return scalar.Type{}
}

// withoutOrder returns the pattern of a queue without its lane.
func (b *builder) withoutOrder(p node.Property) *pattern.Pattern {
	i := slices.IndexFunc(b.main.Placeholders(), func(place pattern.Placeholder) bool { return place.Name == b.e.Order })
	if i < 0 {
		var names []string
		for _, place := range b.main.Placeholders() {
			names = append(names, place.Name)
		}
		fix := cmp.Or(b.d.Near(b.e.Order, names), "add {"+b.e.Order+"} to the key")
		b.d.Report("KW303", b.d.At(p.Value), fix, "%s is ordered by %q, which is no placeholder of its key", b.e.Name,
			b.e.Order)
		return b.main
	}
	if t := b.main.Placeholders()[i].Type; t.Kind != scalar.Enum {
		b.d.Report("KW303", b.d.At(p.Value), fmt.Sprintf("vars: %s: high|normal|low", b.e.Order),
			"%s is ordered by {%s}, which is %s; the order of an enum's values is the order lanes are drained in", b.e.Name,
			b.e.Order, t.Definition())
	}
	return b.without(func(p pattern.Placeholder) bool { return p.Name == b.e.Order })
}
