package restore

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
)

// maxElements bounds the elements of a part: a backup asks for a thousand at a time.
const maxElements = 1 << 20

// elements reads the elements of a part.
func elements(payload []byte) (out []string, err error) {
	for len(payload) > 0 {
		if len(out) == maxElements {
			return nil, fmt.Errorf("a part has more than %d elements", maxElements)
		}
		var text []byte
		if text, payload, err = archive.CutText(payload); err != nil {
			return nil, err
		}
		out = append(out, string(text))
	}
	return out, nil
}

// commands write a part.
func (p *partial) commands(rec *record) (out []kernel.Command, grows int64, err error) {
	if rec.Form != archive.Elements {
		return nil, 0, errors.New("a value of this form cannot be written in parts")
	}
	all, err := elements(rec.Payload)
	if err != nil {
		return nil, 0, err
	}
	raw := p.target.client.Raw()
	if rec.Kind == source.Stream {
		out, err = p.stream(rec, all)
		if rec.More {
			grows = int64(len(out))
		}
		return out, grows, err
	}
	verb := verbs[rec.Kind]
	switch pairs := rec.Kind == source.Hash || rec.Kind == source.ZSet; {
	case verb == "":
		return nil, 0, fmt.Errorf("a %s cannot be written in parts", rec.Kind)
	case len(all) == 0, pairs && len(all)%2 != 0, rec.Kind == source.String && len(all) != 1:
		return nil, 0, errors.New("a part has no elements, or half of one")
	case rec.Kind == source.String:
		grows = int64(len(all[0]))
	case rec.Kind == source.List:
		grows = int64(len(all))
	case rec.Kind == source.ZSet: // the score comes first
		for i := 0; i < len(all); i += 2 {
			all[i], all[i+1] = all[i+1], all[i]
		}
	}
	return []kernel.Command{raw.B().Arbitrary(verb).Keys(p.name).Args(all...).Build()}, grows, nil
}

// verbs add the elements of a part to a value.
var verbs = map[source.Kind]string{source.String: "APPEND", source.List: "RPUSH", source.Set: "SADD",
	source.Hash: "HSET", source.ZSet: "ZADD"}

// stream writes entries, or with the last part the rest of a stream.
func (p *partial) stream(rec *record, all []string) (out []kernel.Command, err error) {
	b := p.target.client.Raw().B()
	if !rec.More {
		var state source.StreamState
		if len(all) != 1 {
			return nil, errors.New("the last part of a stream has no state")
		}
		if err := json.Unmarshal([]byte(all[0]), &state); err != nil {
			return nil, err
		}
		p.state = &state
		return p.streamState(&state), nil
	}
	for len(all) > 1 {
		n, err := strconv.Atoi(all[1])
		if err != nil || n < 2 || n > len(all)-2 {
			return nil, errors.New("an entry of a stream is cut")
		}
		out = append(out, b.Arbitrary("XADD").Keys(p.name).Args(all[0]).Args(all[2:2+n]...).Build())
		all = all[2+n:]
	}
	return out, nil
}

func (p *partial) streamState(s *source.StreamState) (out []kernel.Command) {
	b := p.target.client.Raw().B()
	do := func(verb string, sub []string, args ...string) {
		c := b.Arbitrary(verb)
		if len(sub) > 0 {
			c = c.Args(sub...)
		}
		out = append(out, c.Keys(p.name).Args(args...).Build())
	}
	if p.next == 1 { // there is no entry: a group that is made and unmade leaves a stream
		do("XGROUP", []string{"CREATE"}, "keywright", "$", "MKSTREAM")
		do("XGROUP", []string{"DESTROY"}, "keywright")
	}
	do("XSETID", nil, setID(s)...)
	for _, g := range s.Groups {
		args := []string{string(g.Name), g.LastID}
		if g.Read >= 0 {
			args = append(args, "ENTRIESREAD", strconv.FormatInt(g.Read, 10))
		}
		do("XGROUP", []string{"DESTROY"}, string(g.Name)) // the reply to a step may be lost: it is run again
		do("XGROUP", []string{"CREATE"}, args...)
		for _, c := range g.Consumers {
			do("XGROUP", []string{"CREATECONSUMER"}, string(g.Name), string(c))
		}
	}
	for _, g := range s.Groups {
		for _, e := range g.Pending {
			do("XCLAIM", nil, string(g.Name), string(e.Consumer), "0", e.ID, "IDLE", strconv.FormatInt(e.Idle, 10), "RETRYCOUNT",
				strconv.FormatInt(e.Deliveries, 10), "FORCE", "JUSTID", "LASTID", g.LastID)
		}
	}
	return out
}

// setID returns the arguments of XSETID.
func setID(s *source.StreamState) []string {
	return []string{s.LastID, "ENTRIESADDED", strconv.FormatInt(s.Added, 10), "MAXDELETEDID", cmp.Or(s.MaxDeleted, "0-0")}
}
