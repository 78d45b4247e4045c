package reseal

import (
	"context"
	"strconv"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/source"
)

// job represents one key to look at.
type job struct {
	*target
	key string
}

// walks reports whether a key may hold more than one reply should.
func (t *target) walks() bool {
	return t.kind == keyspace.List || t.kind == keyspace.Stream || t.kind == keyspace.Hash && t.parts[0].at.Each
}

// fields returns the fields of a hash that hold something sealed, each once.
func (t *target) fields() (names []string) {
	for _, part := range t.parts {
		if len(names) == 0 || names[len(names)-1] != part.at.Field {
			names = append(names, part.at.Field)
		}
	}
	return names
}

// of are the parts in a field.
func (t *target) in(field string) (parts []*Part) {
	for _, part := range t.parts {
		if part.at.Field == field {
			parts = append(parts, part)
		}
	}
	return parts
}

// action returns what an operation on the key is about.
func (p *pass) action(j job, name string, effect keywright.Effect) kernel.Action {
	return kernel.Action{Client: p.Client, Name: name, Entry: j.entry, Effect: effect, Key: j.key}
}

// command returns an operation that reads.
func command[T any](p *pass, j job, decode func(kernel.Reply) (T, error), name string,
	args ...string) keywright.Op[T] {
	return kernel.NewOp(kernel.Spec[T]{Action: p.action(j, "read sealed", keywright.Reads), Decode: decode,
		Build: func(b kernel.Builder) kernel.Command { return b.Arbitrary(name).Keys(j.key).Args(args...).Build() }})
}

// pipelineAll runs operations in one round trip per server; what fails there for a
// passing reason is tried again alone.
func pipelineAll[T any](ctx context.Context, c *keywright.Client, ops []keywright.Op[T]) ([]T, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	if len(ops) == 1 {
		one, err := ops[0].Do(ctx)
		return []T{one}, err
	}
	var b keywright.Batch
	pending := make([]*keywright.Pending[T], len(ops))
	for i, op := range ops {
		pending[i] = keywright.Queue(&b, op)
	}
	_ = b.Run(ctx)
	out := make([]T, len(ops))
	for i, op := range ops {
		var err error
		if out[i], err = pending[i].Result(); err != nil {
			if out[i], err = op.Do(ctx); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// read looks at keys whose sealed parts fit into one reply.
func (p *pass) read(ctx context.Context, jobs []job) error {
	ops := make([]keywright.Op[[]*string], len(jobs))
	for i, j := range jobs {
		if j.kind == keyspace.String {
			ops[i] = command(p, j, readString, "GET")
		} else {
			ops[i] = command(p, j, texts, "HMGET", j.fields()...)
		}
	}
	replies, err := pipelineAll(ctx, p.Client, ops)
	if err != nil {
		return err
	}
	var changes []keywright.Op[[]int64]
	var changed [][]*Part
	for i, j := range jobs {
		var cells []cell
		for n, text := range replies[i] {
			if text != nil {
				field, line := j.fields()[n], ""
				if j.lined {
					line = (*text)[:strings.IndexByte(*text, '\n')+1]
				}
				cells = append(cells, cell{where: field, field: field, line: line, stored: (*text)[len(line):], parts: j.in(field)})
			}
		}
		if op, parts, any := p.change(j, cells); any {
			changes, changed = append(changes, op), append(changed, parts)
		}
	}
	return p.replace(ctx, changes, changed)
}

// readString returns the one text of a string, if it is still there.
func readString(r kernel.Reply) ([]*string, error) {
	text, err := r.ToString()
	if kernel.IsNil(err) {
		return nil, nil
	}
	return []*string{&text}, err
}

// texts returns those of a list of replies; nil is one that is not there.
func texts(r kernel.Reply) ([]*string, error) {
	replies, err := r.ToArray()
	if err != nil {
		return nil, err
	}
	out := make([]*string, len(replies))
	for i, m := range replies {
		if m.IsNil() {
			continue
		}
		text, err := m.ToString()
		if err != nil {
			return nil, err
		}
		out[i] = &text
	}
	return out, nil
}

// change returns the operation that replaces what has to be replaced in a key.
func (p *pass) change(j job, cells []cell) (op keywright.Op[[]int64], changed []*Part, any bool) {
	args := []string{string(j.kind)}
	for _, c := range cells {
		text, parts := p.look(j.target, j.key, c)
		if len(parts) > 0 {
			args = append(args, c.where, c.line+c.stored, c.line+text)
			changed = append(append(changed, parts...), nil) // nil ends a cell
		}
	}
	if len(changed) == 0 {
		return op, nil, false
	}
	return kernel.NewOp(kernel.Spec[[]int64]{Action: p.action(j, "reseal", keywright.Idempotent), Script: script,
		Keys: []string{j.key}, Args: args, Decode: kernel.Reply.AsIntSlice}), changed, true
}

// replace carries out changes, and counts them.
func (p *pass) replace(ctx context.Context, ops []keywright.Op[[]int64], changed [][]*Part) error {
	if len(ops) == 0 {
		return nil
	}
	if p.Before != nil {
		if err := p.Before(ctx, textsOf(changed)); err != nil {
			return err
		}
	}
	replies, err := pipelineAll(ctx, p.Client, ops)
	if err != nil {
		return err
	}
	done := map[string]int64{}
	for i, parts := range changed {
		cell := 0
		for _, part := range parts {
			switch {
			case part == nil:
				cell++
			case cell < len(replies[i]) && replies[i][cell] == 1:
				part.resealed++
				done[part.Entry]++
			default:
				part.raced++
			}
		}
	}
	if p.After != nil {
		p.After(done)
	}
	return nil
}

// textsOf counts the texts of changes by entry.
func textsOf(changed [][]*Part) map[string]int64 {
	out := map[string]int64{}
	for _, parts := range changed {
		for _, part := range parts {
			if part != nil {
				out[part.Entry]++
			}
		}
	}
	return out
}

// walk looks at a key that may be large, page by page.
func (p *pass) walk(ctx context.Context, j job) error {
	switch j.kind {
	case keyspace.List:
		return p.list(ctx, j)
	case keyspace.Stream:
		return p.stream(ctx, j)
	}
	return p.hash(ctx, j)
}

// page replaces what has to be replaced in one page.
func (p *pass) page(ctx context.Context, j job, cells []cell) error {
	op, parts, any := p.change(j, cells)
	if !any {
		return nil
	}
	return p.replace(ctx, []keywright.Op[[]int64]{op}, [][]*Part{parts})
}

// maxRestarts bounds how often a list is begun again.
const maxRestarts = 10

// list walks over a list. Each page is read with the first element of the next
// one: if that is another by then, elements were popped in front and others may
// have been passed over, so it begins again.
func (p *pass) list(ctx context.Context, j job) error {
	next, restarts := "", 0
	for from := 0; ; {
		members, err := command(p, j, texts, "LRANGE", strconv.Itoa(from), strconv.Itoa(from+chunk)).Do(ctx)
		if err != nil {
			return err
		}
		if from > 0 && (len(members) == 0 || *members[0] != next) {
			if from, restarts = 0, restarts+1; restarts > maxRestarts {
				p.moving = p.moving.Add(source.Why(source.Unsettled, "", "a list of "+j.entry.Name))
				return nil
			}
			continue
		}
		var cells []cell
		for i, m := range members[:min(chunk, len(members))] {
			cells = append(cells, cell{where: strconv.Itoa(from + i), stored: *m, parts: j.parts})
		}
		if err := p.page(ctx, j, cells); err != nil || len(members) <= chunk {
			return err
		}
		next, from = *members[chunk], from+chunk
	}
}

// hash walks over the fields of an open hash.
func (p *pass) hash(ctx context.Context, j job) error {
	for cursor := "0"; ; {
		page, err := command(p, j, kernel.Reply.AsScanEntry, "HSCAN", cursor, "COUNT", strconv.Itoa(chunk)).Do(ctx)
		if err != nil {
			return err
		}
		var cells []cell
		for i := 0; i+1 < len(page.Elements); i += 2 {
			cells = append(cells,
				cell{where: page.Elements[i], field: page.Elements[i], stored: page.Elements[i+1], parts: j.parts})
		}
		if err := p.page(ctx, j, cells); err != nil || page.Cursor == 0 {
			return err
		}
		cursor = strconv.FormatUint(page.Cursor, 10)
	}
}

// stream counts what is in the entries of a stream; they cannot be changed.
func (p *pass) stream(ctx context.Context, j job) error {
	for from := "-"; ; {
		rows, err := command(p, j, kernel.Reply.AsXRange, "XRANGE", from, "+", "COUNT", strconv.Itoa(chunk)).Do(ctx)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			for _, part := range j.parts {
				if text, there := row.FieldValues[part.at.Field]; there {
					p.look(j.target, j.key, cell{where: row.ID, field: part.at.Field, stored: text, parts: []*Part{part}})
				}
			}
		}
		from = "(" + rows[len(rows)-1].ID
	}
}
