package apply

import (
	"context"
	"strconv"

	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/source"
)

// inParts does so many at a time.
func (r *changes) inParts(do mover) mover {
	return func(ctx context.Context, c kernel.Raw, steps []*keyChange) (err error) {
		for len(steps) > 0 && err == nil {
			part := steps[:min(len(steps), movedKeys)]
			steps, err = steps[len(part):], do(ctx, c, part)
		}
		r.unknown(steps)
		return err
	}
}

// skipRivals leaves the keys alone of which another one would get the same new name.
func (r *changes) skipRivals(ctx context.Context, c kernel.Raw, steps []*keyChange) (out []*keyChange, err error) {
	var list kernel.Commands
	for _, s := range steps {
		for _, name := range s.Rivals {
			list = append(list, c.B().Exists().Key(name).Build())
		}
	}
	if len(list) == 0 {
		return steps, nil
	}
	replies := c.DoMulti(ctx, list...)
	for i, s := range steps {
		there := false
		for range s.Rivals {
			n, err := replies[0].AsInt64()
			if err != nil {
				return append(out, steps[i:]...), err
			}
			replies, there = replies[1:], there || n > 0
		}
		if there {
			r.leave(s.entry, plan.TwoSources, s.key, s.db)
			continue
		}
		out = append(out, s)
	}
	return out, nil
}

// undivided leaves the keys of a queue alone, all of them, that was in use under both names
// when the first of them was to go.
func (r *changes) undivided(ctx context.Context, c kernel.Raw, steps []*keyChange) (out []*keyChange, err error) {
	for i, s := range steps {
		both, err := r.twice.of(ctx, c, s.db, s.Do)
		if err != nil {
			return append(out, steps[i:]...), err
		}
		if both {
			r.leave(s.entry, plan.QueueTwice, s.key, s.db)
			continue
		}
		out = append(out, s)
	}
	return out, nil
}

// twice says of queues whether they are in use under both names, by database and first key.
type twice map[string]bool

// maxTwice is of how many queues that is known at a time.
const maxTwice = 10_000

// of reports whether some key is there under both names, and no run has copied it.
func (t *twice) of(ctx context.Context, c kernel.Raw, db int, do plan.Action) (both bool, err error) {
	move, _ := do.(plan.Move)
	if len(move.Twice) == 0 {
		return false, nil
	}
	queue := strconv.Itoa(db) + " " + move.Twice[0].Old
	if both, known := (*t)[queue]; known {
		return both, nil
	}
	var list kernel.Commands
	for _, n := range move.Twice {
		for _, name := range []string{n.Old, n.New, markOf([]byte(n.Old), n.New)} {
			list = append(list, c.B().Exists().Key(name).Build())
		}
	}
	there := [3]int64{}
	for i, reply := range c.DoMulti(ctx, list...) {
		if there[i%3], err = reply.AsInt64(); err != nil {
			return false, err
		}
		both = both || i%3 == 2 && there == [3]int64{1, 1, 0}
	}
	if *t == nil || len(*t) >= maxTwice {
		*t = twice{}
	}
	(*t)[queue] = both
	return both, nil
}

// Blocked corrects decisions to rename, for a plan: of keys whose new name is taken by
// another value, and of those of which another one would get the same name. live reads
// values; it may be nil.
func Blocked(ctx context.Context, clients restore.Clients, live restore.Asker, batch []source.Key,
	decisions []plan.Decision) error {
	for from := 0; from < len(batch); {
		to := from + 1
		for to < len(batch) && batch[to].DB == batch[from].DB && to-from < changeKeys {
			to++
		}
		if err := blocked(ctx, clients, live, batch[from:to], decisions[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// blocked is Blocked for keys of one database.
func blocked(ctx context.Context, clients restore.Clients, live restore.Asker, batch []source.Key,
	decisions []plan.Decision) error {
	c, err := clients(batch[0].DB)
	if err != nil {
		return err
	}
	var list kernel.Commands
	for i := range batch {
		if d := &decisions[i]; named(d) {
			for _, name := range append([]string{d.Step.To}, d.Step.Rivals...) {
				list = append(list, c.Raw().B().Exists().Key(name).Build())
			}
		}
	}
	replies := c.Raw().DoMulti(ctx, list...)
	compared := &changes{Run: &Run{KeysOptions: KeysOptions{Live: live}}}
	seen := &twice{}
	for i := range batch {
		d := &decisions[i]
		if !named(d) {
			continue
		}
		both, err := seen.of(ctx, c.Raw(), batch[i].DB, d.Step.Do)
		if err != nil {
			return err
		}
		compared.content = map[string]*plan.Content{string(batch[i].Name): d.Step.Content}
		for at := range 1 + len(d.Step.Rivals) {
			n, err := replies[0].AsInt64()
			replies = replies[1:]
			switch {
			case err == nil && at == 0:
				d.Leave, err = compared.taken(ctx, c.Raw(), &batch[i], &d.Step, n > 0)
			case n > 0:
				d.Leave = plan.TwoSources
			}
			if err != nil {
				return err
			}
		}
		if both {
			d.Leave = plan.QueueTwice
		}
	}
	if err := compared.tagged(ctx, c.Raw(), batch, decisions); err != nil {
		return err
	}
	return held(ctx, c.Raw(), decisions)
}

// taken returns why a key is left alone for what is there under its new name, or is not. The elements of one that is
// merged go to what is there.
func (r *changes) taken(ctx context.Context, c kernel.Raw, k *source.Key, s *plan.Step, there bool) (plan.Code, error) {
	switch do := s.Do.(type) {
	case plan.Drop:
		switch {
		case !there:
			return plan.NotCopied, nil
		case !do.Superseded:
			return r.differs(ctx, k, s.To, plan.Differs)
		}
	case plan.Move:
		if !there {
			return "", nil
		}
		n, err := c.Do(ctx, c.B().Exists().Key(markOf(k.Name, s.To)).Build()).AsInt64()
		if n > 0 { // a killed run has copied it
			return r.differs(ctx, k, s.To, plan.Taken)
		}
		return plan.Taken, err
	}
	return "", nil
}

// named reports whether a key is to get a new name, or has one already.
func named(d *plan.Decision) bool { return d.Meant && d.Leave == "" && d.Step.To != "" }

// held corrects decisions whose conditions do not hold now.
func held(ctx context.Context, c kernel.Raw, decisions []plan.Decision) error {
	var list kernel.Commands
	for i := range decisions {
		for _, name := range decisions[i].Step.Absent {
			list = append(list, c.B().Exists().Key(name).Build())
		}
	}
	replies := c.DoMulti(ctx, list...)
	for i := range decisions {
		for range decisions[i].Step.Absent {
			n, err := replies[0].AsInt64()
			if replies = replies[1:]; err != nil {
				return err
			}
			if d := &decisions[i]; n > 0 && d.Leave == "" {
				d.Leave = plan.LiveLease
			}
		}
	}
	return works(ctx, c, decisions)
}

// works corrects decisions about queues that have workers or jobs in work.
func works(ctx context.Context, c kernel.Raw, decisions []plan.Decision) error {
	var names []string
	busy := map[string]bool{}
	for i := range decisions {
		for _, name := range decisions[i].Step.Busy {
			if _, asked := busy[name]; !asked {
				busy[name], names = false, append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	clock, err := c.Do(ctx, c.B().Time().Build()).AsStrSlice()
	if err != nil {
		return err
	}
	list := make(kernel.Commands, len(names))
	for i, name := range names {
		list[i] = c.B().Zcount().Key(name).Min("(" + clock[0] + "999").Max("+inf").Build()
	}
	for i, reply := range c.DoMulti(ctx, list...) {
		n, err := reply.AsInt64()
		if _, said := kernel.IsServerError(err); err != nil && !said {
			return err
		}
		busy[names[i]] = n > 0
	}
	for i := range decisions {
		for _, name := range decisions[i].Step.Busy {
			if d := &decisions[i]; busy[name] && d.Leave == "" {
				d.Leave = plan.QueueWorks
			}
		}
	}
	return nil
}

// differs returns the code if the key under the new name is not the same as the old one.
func (r *changes) differs(ctx context.Context, k *source.Key, to string, code plan.Code) (plan.Code, error) {
	if r.Live == nil {
		return code, nil
	}
	seen, err := r.look(ctx, k.DB, []string{string(k.Name), to}, nil)
	if err != nil || seen[to] == nil || seen[string(k.Name)] == nil {
		return code, err
	}
	if seen[string(k.Name)].same(seen[to]) {
		return "", nil
	}
	return code, nil
}

// renaming returns the command that renames a key in its slot: RENAMENX where nothing is to be
// checked.
func (s *keyChange) renaming(c kernel.Raw, do plan.Move) kernel.Command {
	if len(s.Busy)+len(s.Absent) == 0 {
		return c.B().Renamenx().Key(string(s.key)).Newkey(s.To).Build()
	}
	keys := s.conditions(string(s.key), s.To)
	return eval(c.B(), "rename", keys, "rename", strconv.Itoa(len(s.Busy)), "", "", do.Count)
}

// conditions returns the keys that the script is given.
func (s *keyChange) conditions(first ...string) []string {
	return append(append(first, s.Busy...), s.Absent...)
}
