package contents

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source"
)

func (p *parted) stream(key string) error {
	for from := "-"; ; {
		reply, err := p.command("XRANGE", key, from, "+", "COUNT", strconv.Itoa(p.count))
		if err != nil {
			return err
		}
		entries, _ := reply.([]any)
		var elements [][]byte
		for _, e := range entries {
			pair, ok := e.([]any)
			if !ok || len(pair) != 2 {
				return &wire.ProtocolError{Got: fmt.Sprintf("%T", e), Want: "an entry of a stream"}
			}
			id, _ := pair[0].(string)
			fields, _ := pair[1].([]any)
			elements = append(append(elements, []byte(id), strconv.AppendInt(nil, int64(len(fields)), 10)), texts(fields)...)
			from = "(" + id
		}
		if len(entries) > 0 {
			if err := p.add(elements); err != nil {
				return err
			}
		}
		if len(entries) < p.count {
			break
		}
	}
	state, err := p.streamState(key)
	if err != nil {
		return err
	}
	text, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return p.add([][]byte{text})
}

// maxPending bounds what one group's pending entries take in memory.
const maxPending = 1 << 20

var errPending = errors.New(
	"a group has more than a million pending entries: acknowledge some, or read the stream in one step")

func (p *parted) streamState(key string) (s source.StreamState, err error) {
	about, err := p.pairs("XINFO", "STREAM", key)
	if err != nil {
		return s, err
	}
	s = source.StreamState{LastID: about.text("last-generated-id"), MaxDeleted: about.text("max-deleted-entry-id"),
		Added: about.number("entries-added")}
	groups, err := p.lists("XINFO", "GROUPS", key)
	for i := 0; i < len(groups) && err == nil; i++ {
		g := groups[i]
		group := source.StreamGroup{Name: []byte(g.text("name")), LastID: g.text("last-delivered-id"), Read: -1}
		if n, ok := g["entries-read"].(int64); ok {
			group.Read = n
		}
		var consumers []named
		consumers, err = p.lists("XINFO", "CONSUMERS", key, string(group.Name))
		for _, c := range consumers {
			group.Consumers = append(group.Consumers, []byte(c.text("name")))
		}
		if err == nil {
			group.Pending, err = p.pending(key, string(group.Name))
		}
		s.Groups = append(s.Groups, group)
	}
	return s, err
}

// named represents a reply of names and values.
type named map[string]any

func (f named) text(name string) string { s, _ := f[name].(string); return s }

func (f named) number(name string) int64 { n, _ := f[name].(int64); return n }

func pairsOf(reply any) named {
	out := named{}
	list, _ := reply.([]any)
	for i := 0; i+1 < len(list); i += 2 {
		if name, ok := list[i].(string); ok {
			out[name] = list[i+1]
		}
	}
	return out
}

func (p *parted) pairs(args ...string) (named, error) {
	reply, err := p.command(args...)
	return pairsOf(reply), err
}

func (p *parted) lists(args ...string) (out []named, err error) {
	reply, err := p.command(args...)
	list, _ := reply.([]any)
	for _, item := range list {
		out = append(out, pairsOf(item))
	}
	return out, err
}

func (p *parted) pending(key, group string) (out []source.StreamPending, err error) {
	for from := "-"; len(out) < maxPending; {
		reply, err := p.command("XPENDING", key, group, from, "+", "1000")
		if err != nil {
			return nil, err
		}
		list, _ := reply.([]any)
		for _, item := range list {
			f, ok := item.([]any)
			if !ok || len(f) != 4 {
				return nil, &wire.ProtocolError{Got: fmt.Sprintf("%T", item), Want: "a pending entry"}
			}
			id, _ := f[0].(string)
			consumer, _ := f[1].(string)
			idle, _ := f[2].(int64)
			deliveries, _ := f[3].(int64)
			out = append(out, source.StreamPending{ID: id, Consumer: []byte(consumer), Idle: idle, Deliveries: deliveries})
			from = "(" + id
		}
		if len(list) < 1000 {
			return out, nil
		}
	}
	return nil, errPending
}
