package scan

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/checkpoint"
	"github.com/keywright/keywright/source/server/internal/fleet"
)

// track represents the Place of a running walk. The run's mutex guards it.
type track struct {
	checkpoint.Place
	page   *Page // the oldest, of which the consumer had some keys
	had    map[string]bool
	values map[string]checkpoint.PlaceInValue
}

func newTrack(p checkpoint.Place) *track {
	t := &track{Place: p, had: map[string]bool{}, values: map[string]checkpoint.PlaceInValue{}}
	for _, name := range p.Had {
		t.had[string(name)] = true
	}
	for _, v := range p.Values {
		t.values[string(v.Key)] = v
	}
	return t
}

// place returns what the consumer had, in a form that can be kept.
func (t *track) place() checkpoint.Place {
	out := t.Place
	out.Had, out.Values = nil, nil
	for name := range t.had {
		out.Had = append(out.Had, []byte(name))
	}
	if t.page != nil {
		for _, k := range t.page.batch[:t.page.delivered] {
			out.Had = append(out.Had, slices.Clone(k.Name))
		}
	}
	for _, v := range t.values {
		out.Values = append(out.Values, v)
	}
	return out
}

// tracks returns the places of the databases of a shard, as an earlier scan has left them
// or at the beginning.
func (r *Run) tracks(sh *fleet.Shard, dbs []int) []*track {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	for _, db := range dbs {
		place := checkpoint.Place{DB: db, Cursor: "0"}
		if i := slices.IndexFunc(r.places[sh], func(p checkpoint.Place) bool { return p.DB == db }); i >= 0 {
			place = r.places[sh][i]
		}
		r.running[sh] = append(r.running[sh], newTrack(place))
	}
	return r.running[sh]
}

// position returns where the scan is. The mutex is held, or all shards have ended.
func (r *Run) position() checkpoint.Position {
	out := checkpoint.Position{Elapsed: time.Since(r.started), Keys: r.Keys, Gone: r.Gone, Repeats: r.repeats,
		Notes: slices.Clone(r.Notes), Slots: r.Fleet.Slots}
	for _, sh := range r.Fleet.Shards {
		s := checkpoint.ShardPosition{Address: sh.Address, Identity: sh.Before, Sizes: sh.Databases}
		for _, t := range r.running[sh] {
			s.Databases = append(s.Databases, t.place())
		}
		if r.running[sh] == nil { // its walk has not begun
			s.Databases = r.places[sh]
		}
		out.Shards = append(out.Shards, s)
	}
	return out
}

// checkpoint saves the position if one is due. The mutex is held.
func (r *Run) checkpoint() error {
	c := r.Options.Checkpoints
	if c == nil || !c.Due() {
		return nil
	}
	return c.Save(r.position())
}

// lastCheckpoint saves where a scan has ended that has not come to the end.
func (r *Run) lastCheckpoint() error {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if r.Options.Checkpoints == nil {
		return nil
	}
	for _, sh := range r.Fleet.Shards {
		if r.running[sh] == nil || slices.ContainsFunc(r.running[sh], func(t *track) bool { return !t.Done }) {
			return r.Options.Checkpoints.Save(r.position())
		}
	}
	return nil
}

// goOn makes the run one that goes on at the position of its options, if there is one.
func (r *Run) goOn() error {
	c := r.Options.Checkpoints
	if c == nil {
		return nil
	}
	var reasons []string
	for _, sh := range r.Fleet.Shards {
		if sh.Before.RunID == "" {
			reasons = append(reasons, sh.Address+" does not let us read INFO: a restart or flush would go unseen")
		}
	}
	if from := c.From; from != nil && len(reasons) == 0 {
		reasons = r.resume(from)
		r.started = r.started.Add(-from.Elapsed)
		r.Keys, r.Gone, r.repeats, r.Notes = from.Keys, from.Gone, from.Repeats, slices.Clone(from.Notes)
	}
	if len(reasons) > 0 {
		return &checkpoint.NotResumable{Reasons: reasons}
	}
	return nil
}

// resume takes over what the servers were when the scan began, or says why they are
// not the same.
func (r *Run) resume(from *checkpoint.Position) (reasons []string) {
	at := map[string]checkpoint.ShardPosition{}
	for _, s := range from.Shards {
		at[s.Address] = s
	}
	if r.Fleet.Slots != from.Slots {
		reasons = append(reasons, "slots have moved between the nodes of the cluster since")
	}
	for _, sh := range r.Fleet.Shards {
		s, known := at[sh.Address]
		if !known {
			reasons = append(reasons, sh.Address+" is another server than "+addresses(from.Shards))
			continue
		}
		delete(at, sh.Address)
		for _, reason := range topology.Differences(sh.Address, s.Identity, sh.Before) {
			reasons = append(reasons, reason.String())
		}
		sh.Before, sh.Databases, r.places[sh] = s.Identity, s.Sizes, s.Databases
	}
	for _, address := range slices.Sorted(maps.Keys(at)) {
		if len(reasons) == 0 {
			reasons = append(reasons, address+" was read, and is not there now")
		}
	}
	return reasons
}

func addresses(shards []checkpoint.ShardPosition) string {
	var out []string
	for _, s := range shards {
		out = append(out, s.Address)
	}
	return strings.Join(out, ", ")
}

// addressesOf returns the servers of a position, to be taken again.
func addressesOf(c *checkpoint.Checkpoints) (out []string) {
	if c != nil && c.From != nil {
		for _, s := range c.From.Shards {
			out = append(out, s.Address)
		}
	}
	return out
}

// inParts notes how far a value is read, of which the consumer had a part.
func (t *track) inParts(r *reading, from int64) {
	t.values[string(r.k.Name)] = checkpoint.PlaceInValue{Key: slices.Clone(r.k.Name), Kind: r.k.Kind.String(),
		Cursor: r.cursor, From: from}
}

// resumes begins a value where an earlier scan has left it.
func (w *Walk) resumes(r *reading) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	v, known := w.track.values[string(r.k.Name)]
	if known && v.Kind == r.k.Kind.String() {
		r.cursor, r.v = v.Cursor, &source.Value{From: v.From}
	}
}

// again says whether the consumer had a key before the walk went on at its page.
func (w *Walk) again(p *Page, name []byte) bool {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	if !w.track.had[string(name)] {
		return false
	}
	p.had = append(p.had, string(name))
	return true
}

// endless notes a SCAN that does not come to an end.
func (w *Walk) endless() {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.track.Endless = true
}
