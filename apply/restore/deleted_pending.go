package restore

import (
	"context"
	"errors"
	"slices"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply/wait"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/source"
)

// deletedPending returns the messages that are pending in a group of a stream, but were deleted or
// trimmed since.
func (w *writer) deletedPending(ctx context.Context, p *partial) (out []source.StreamID, err error) {
	all, err := p.state.Pending()
	if err != nil {
		return nil, err
	}
	raw := p.target.client.Raw()
	for some := range slices.Chunk(all, stepCommands) {
		list := make(kernel.Commands, len(some))
		for i, id := range some {
			list[i] = raw.B().Xrange().Key(p.name).Start(id.String()).End(id.String()).Build()
		}
		replies, err := askAll(ctx, raw, list)
		for i := 0; i < len(replies) && err == nil; i++ {
			var found []kernel.XRangeEntry
			if found, err = replies[i].AsXRange(); len(found) == 0 {
				out = append(out, some[i])
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// askAll asks what may be asked twice, until there is an answer to all of it.
func askAll(ctx context.Context, raw kernel.Raw, list kernel.Commands) (out []kernel.Reply, err error) {
	for i := range list {
		list[i] = list[i].Pin()
	}
	for attempt := 0; attempt < Attempts; attempt++ {
		if attempt > 0 && !Pause(ctx, attempt, err) {
			break
		}
		out, err = raw.DoMulti(ctx, list...), nil
		for _, reply := range out {
			if err = reply.Error(); err != nil {
				break
			}
		}
		if what, _ := Judge(err); what != Unknown {
			wait.Answered(ctx)
			break
		}
	}
	return out, err
}

// besideGone puts a placeholder into a stream for each message that is gone, since XCLAIM
// makes no pending entry without its message. XADD takes IDs in ascending order, so that
// the entries move to a second temporary key, with the placeholders between them. It
// returns the commands that make the rest of the stream, and end the placeholders.
func (w *writer) besideGone(ctx context.Context, p *partial, gone []source.StreamID) ([]kernel.Command, error) {
	q := &partial{target: p.target, name: p.name + ":gone", kind: source.Stream}
	m := &mixed{from: p, to: q, gone: gone, count: 1}
	for first := true; ; first = false {
		commands, grows, err := m.next(ctx)
		if err == nil && len(commands) > 0 {
			err = w.runAtomically(ctx, q, commands, grows, first)
		}
		if err != nil {
			q.abandon(w)
			return nil, err
		}
		if len(commands) == 0 {
			break
		}
	}
	p.abandon(w) // all of it is in the second key
	p.name = q.name
	return append(p.streamState(p.state), m.end(p.state)...), nil
}

// mixed represents a stream that is moved to another key, with placeholders between its entries.
type mixed struct {
	from, to *partial
	gone     []source.StreamID // whose placeholders are still to come
	lead     string            // the first entry; "": there is none yet
	within   []source.StreamID // placeholders after it
	count    int64             // entries that are read at a time
}

// Bounds of what is moved in one step. A step has two commands for each entry.
const (
	mixedEntries = stepCommands / 4
	mixedBytes   = 256 << 10
)

// next returns the commands that move some entries, and by how much the second key grows;
// none, if all is there.
func (m *mixed) next(ctx context.Context) (out []kernel.Command, grows int64, err error) {
	raw := m.from.target.client.Raw()
	replies, err := askAll(ctx, raw,
		kernel.Commands{raw.B().Xrange().Key(m.from.name).Start("-").End("+").Count(m.count).Build()})
	if err != nil {
		return nil, 0, err
	}
	list, err := replies[0].ToArray()
	if err != nil {
		return nil, 0, err
	}
	add := func(id string, fields ...string) {
		out = append(out, raw.B().Arbitrary("XADD").Keys(m.to.name).Args(id).Args(fields...).Build())
		grows++
	}
	size := 0
	for _, entry := range list {
		id, fields, err := entryOf(entry)
		if err != nil {
			return nil, 0, err
		}
		own, err := source.ParseStreamID(id)
		if err != nil {
			return nil, 0, err
		}
		for len(m.gone) > 0 && m.gone[0].Compare(own) < 0 && len(out) < stepCommands/2 {
			m.placeholder(add)
		}
		if len(out) >= stepCommands/2 { // the entry comes with the next step
			return out, grows, nil
		}
		if m.lead == "" {
			m.lead = id
		}
		add(id, fields...)
		out = append(out, raw.B().Xdel().Key(m.from.name).Id(id).Build())
		for _, f := range fields {
			size += len(f)
		}
	}
	for len(list) == 0 && len(m.gone) > 0 && len(out) < stepCommands/2 {
		m.placeholder(add)
	}
	m.count = min(mixedEntries, max(1, m.count*2))
	if size > mixedBytes/2 {
		m.count = max(1, int64(len(list)*mixedBytes/2/size))
	}
	return out, grows, nil
}

// placeholder adds the next one.
func (m *mixed) placeholder(add func(string, ...string)) {
	add(m.gone[0].String(), "", "")
	if m.lead != "" {
		m.within = append(m.within, m.gone[0])
	}
	m.gone = m.gone[1:]
}

var errEntry = errors.New("an entry of a stream makes no sense")

// entryOf returns the ID of an entry, and its fields and values.
func entryOf(m kernel.Value) (id string, fields []string, err error) {
	pair, err := m.ToArray()
	if err != nil || len(pair) != 2 {
		return "", nil, errEntry
	}
	if id, err = pair[0].ToString(); err != nil {
		return "", nil, errEntry
	}
	if fields, err = pair[1].AsStrSlice(); err != nil || len(fields)%2 != 0 || len(fields) == 0 {
		return "", nil, errEntry
	}
	return id, fields, nil
}

// end returns the commands that end the placeholders. What was before the first entry is
// trimmed, since that leaves no trace in the stream, and what is after it was deleted: so
// it is in the stream's own highest deleted ID.
func (m *mixed) end(s *source.StreamState) (out []kernel.Command) {
	b := m.to.target.client.Raw().B()
	if m.lead == "" {
		out = append(out, b.Xtrim().Key(m.to.name).Maxlen().Threshold("0").Build())
	} else {
		out = append(out, b.Xtrim().Key(m.to.name).Minid().Threshold(m.lead).Build())
	}
	for _, id := range m.within {
		out = append(out, b.Xdel().Key(m.to.name).Id(id.String()).Build())
	}
	return append(out, b.Arbitrary("XSETID").Keys(m.to.name).Args(setID(s)...).Build())
}

// Unlink deletes keys of a database, and returns how many were there. A key may be asked for twice, after a lost reply.
func Unlink(ctx context.Context, client *keywright.Client, keys []string) (deleted int64, err error) {
	raw := client.Raw()
	var commands kernel.Commands
	for _, key := range keys {
		commands = append(commands, raw.B().Unlink().Key(key).Build())
	}
	if len(commands) == 0 {
		return 0, nil
	}
	replies, err := askAll(ctx, raw, commands)
	for _, reply := range replies {
		if n, failed := reply.AsInt64(); failed == nil {
			deleted += n
		}
	}
	return deleted, err
}
