package bind

import (
	"errors"
	"slices"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// PerJob are the placeholders of lanes and jobs, which are none of the queue itself.
func PerJob(e *keyspace.Entry) (out []string) {
	base := e.Key("leases").Pattern
	for _, k := range e.Keys {
		for _, p := range k.Pattern.Placeholders() {
			if !base.Has(p.Name) {
				out = append(out, p.Name)
			}
		}
	}
	return out
}

// Queue is the queue of an entry with these values. Its payloads are texts. What cannot be
// built fails when it is used.
func Queue(c *keywright.Client, ks *keyspace.Keyspace, e *keyspace.Entry, v Values) queue.Queue[string] {
	var k queue.Keys
	b := builder{e: e, v: v}
	k.Lanes = b.lanes()
	b.roles(map[string]*string{"leases": &k.Leases, "delayed": &k.Delayed, "dead": &k.Dead, "state": &k.State, "workers": &k.Workers, "runs": &k.Runs})
	k.Channel = b.pattern(e.Notify.Pattern, v)
	for role, to := range map[string]*queue.Name{"job": &k.Job, "result": &k.Result, "unique": &k.Unique} {
		*to = family(e.Key(role).Pattern, v)
	}
	job := e.Key("job").Pattern
	k.ID = func(id string) error {
		if _, ok := job.Match([]byte(k.Job.Of(id))); !ok {
			return errors.New("is no id of " + e.Name)
		}
		return nil
	}
	codec := value.Text(0)
	return queue.New(c, Entry(ks, e.Keys[0]), k, b.err(), &codec, &queue.Options{Lease: max(e.Lease, 50*time.Millisecond), Retry: e.Retry})
}

// lanes are the keys of the lanes, in the order in which they drain.
func (b *builder) lanes() (out []queue.Lane) {
	main := b.e.Keys[0].Pattern
	order := slices.IndexFunc(main.Placeholders(), func(p pattern.Placeholder) bool { return p.Name == b.e.Order })
	if order < 0 {
		return []queue.Lane{{Key: b.pattern(main, b.v)}}
	}
	for _, word := range main.Placeholders()[order].Type.Values {
		out = append(out, queue.Lane{Name: word, Key: b.pattern(main, b.v.With(b.e.Order, word))})
	}
	return out
}

// family is what a pattern has before and after its last placeholder.
func family(p *pattern.Pattern, v Values) (n queue.Name) {
	places := p.Placeholders()
	n.Before, n.After = around(p, []string{places[len(places)-1].Name}, v)
	return n
}
