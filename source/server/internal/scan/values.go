package scan

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/internal/link"
)

// Bounds of what is asked for in one flush, and of one command.
const (
	groupBytes = 4 << 20 // that the keys of one group have in memory, but for the last
	stepBytes  = 1 << 20 // that one command should read of a collection
	stepMost   = 1000    // elements that one command reads
	stepLeast  = 10
	stepFirst  = 100
)

// extent describes what is to be read of a key.
type extent uint8

const (
	nothing extent = iota
	itsSize
	itsValue
)

// want asks the consumer what it wants of each key of the page.
func (w *Walk) want(p *Page) {
	if w.Request.Values == nil && w.Request.Sizes == nil {
		return
	}
	p.wants = slices.Grow(p.wants[:0], len(p.batch))[:len(p.batch)]
	for i := range p.batch {
		k := &p.batch[i]
		p.wants[i] = nothing
		switch _, known := accesses[k.Kind]; {
		case !known:
		case p.guessed[i]:
			p.wants[i] = itsValue
		case w.Request.Values != nil && w.Request.Values(k.Name, k.Kind):
			p.wants[i] = itsValue
		case k.Kind != source.String && w.Request.Sizes != nil && w.Request.Sizes(k.Name, k.Kind):
			p.wants[i] = itsSize
		}
	}
}

// askValues asks for the values of the next keys of the page: as many as fit into
// a group. Of a page that is not the oldest only one group is asked for: what was
// read could not be delivered.
func (w *Walk) askValues(p *Page) error {
	p.readings = p.readings[:0]
	left := groupBytes
	if p.ready > 0 && p != w.pages[0] {
		p.waits = true
		return nil
	}
	for p.end = p.ready; p.end < len(p.batch) && left > 0; p.end++ {
		if len(p.wants) == 0 || p.wants[p.end] == nothing {
			continue
		}
		k := &p.batch[p.end]
		p.readings = append(p.readings,
			reading{k: k, extent: p.wants[p.end], whole: w.Request.Part != nil, guessed: p.guessed[p.end], access: accesses[k.Kind]})
		cost := k.Bytes
		if cost < 0 {
			cost = 4 << 10
		}
		left -= int(min(cost, groupBytes))
	}
	return w.askReadings(p)
}

// askReadings asks for the next step of every value of the group, or ends the
// group.
func (w *Walk) askReadings(p *Page) error {
	if len(p.readings) == 0 {
		p.ready = p.end
		if p.done = p.end == len(p.batch); !p.done {
			p.waits = true
		}
		return nil
	}
	for i := range p.readings {
		p.readings[i].ask(w)
	}
	w.wire = append(w.wire, answer{(*Walk).readValues, p})
	return nil
}

// readValues reads what askReadings asked for. Of values that are read whole the
// parts go to the consumer, at the pace of the scan.
func (w *Walk) readValues(ctx context.Context, p *Page) error {
	more := p.readings[:0]
	for _, r := range p.readings {
		again, err := r.take(w, &p.arena)
		if errors.As(err, new(*ConsumerError)) {
			return err
		}
		if err != nil {
			return connect.Explain(w.Shard.Address, err)
		}
		if again {
			more = append(more, r)
		}
	}
	p.readings = more
	if w.Request.Part != nil && len(more) > 0 {
		if err := w.keepPace(ctx); err != nil {
			return err
		}
		if len(w.wire) == 0 && w.Options.MaxLatency > 0 {
			if _, err := w.patient(ctx); err != nil {
				return err
			}
		}
	}
	return w.askReadings(p)
}

// part hands a part of a value to the consumer, and notes where the next begins.
func (w *Walk) part(r *reading, from int64) error {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Request.Part(r.k)
	w.Progress(false)
	w.track.inParts(r, from)
	if err := w.checkpoint(); err != nil {
		return &ConsumerError{err}
	}
	return nil
}

// unreadable notes that the user may not read a value.
func (w *Walk) unreadable(why string) {
	w.Remark("some values are unknown: " + why)
}

// reading represents one value, as far as it was read.
type reading struct {
	k      *source.Key
	v      *source.Value
	access access
	extent extent
	whole  bool

	guessed bool // the type of the key is that of its name, and was not asked for

	stage  stage
	n      int    // elements that were asked for
	cursor string // whole values: where the next part begins
	text   []byte // of a string of several parts
}

// stage describes what was asked for last.
type stage uint8

const (
	begins  stage = iota
	sizing        // the size alone
	sampled       // a sample, of lists and streams the beginning
	ending        // the size, of lists and streams with the end
	parting       // one part of a whole value
	typing        // the type, after the value was not of the one that was expected
)

// access describes how values of a kind are read. The key comes second in every command.
type access struct {
	size   string                          // the command that counts its elements
	sample func(n int) []string            // reads n of them: at random, or from the beginning
	end    func(n int) []string            // reads the last n; nil: the sample is from everywhere
	part   func(at string, n int) []string // reads n from a place on
	pairs  bool                            // elements come in pairs
	nested bool                            // an element is a list of fields
	cursor bool                            // a part comes with the cursor of the next
}

var accesses = map[source.Kind]access{
	source.String: {
		sample: func(int) []string { return []string{"GETRANGE", "0", strconv.Itoa(source.SampleString - 1)} },
		part: func(at string, _ int) []string {
			return []string{"GETRANGE", at, strconv.Itoa(atoi(at) + source.SampleString - 1)}
		},
	},
	source.List: {
		size:   "LLEN",
		sample: func(n int) []string { return []string{"LRANGE", "0", strconv.Itoa(n - 1)} },
		end:    func(n int) []string { return []string{"LRANGE", strconv.Itoa(-n), "-1"} },
		part:   func(at string, n int) []string { return []string{"LRANGE", at, strconv.Itoa(atoi(at) + n - 1)} },
	},
	source.Set: {
		size: "SCARD", cursor: true,
		sample: func(n int) []string { return []string{"SRANDMEMBER", strconv.Itoa(n)} },
		part:   func(at string, n int) []string { return []string{"SSCAN", at, "COUNT", strconv.Itoa(n)} },
	},
	source.ZSet: {
		size: "ZCARD", cursor: true, pairs: true,
		sample: func(n int) []string { return []string{"ZRANDMEMBER", strconv.Itoa(n), "WITHSCORES"} },
		part:   func(at string, n int) []string { return []string{"ZSCAN", at, "COUNT", strconv.Itoa(n)} },
	},
	source.Hash: {
		size: "HLEN", cursor: true, pairs: true,
		sample: func(n int) []string { return []string{"HRANDFIELD", strconv.Itoa(n), "WITHVALUES"} },
		part:   func(at string, n int) []string { return []string{"HSCAN", at, "COUNT", strconv.Itoa(n)} },
	},
	source.Stream: {
		size: "XLEN", nested: true,
		sample: func(n int) []string { return []string{"XRANGE", "-", "+", "COUNT", strconv.Itoa(n)} },
		end:    func(n int) []string { return []string{"XREVRANGE", "+", "-", "COUNT", strconv.Itoa(n)} },
		part:   func(at string, n int) []string { return []string{"XRANGE", at, "+", "COUNT", strconv.Itoa(n)} },
	},
}

// send appends a command about the key.
func (r *reading) send(c *link.Link, args []string) {
	c.Header(len(args) + 1)
	c.Arg(args[0])
	c.ArgBytes(r.k.Name)
	for _, a := range args[1:] {
		c.Arg(a)
	}
}

// ask asks for the next step.
func (r *reading) ask(w *Walk) {
	c := w.Shard.Conn
	if r.stage == begins {
		r.begin(w)
	}
	switch r.stage {
	case sizing:
		r.send(c, []string{r.access.size})
	case sampled:
		r.send(c, r.access.sample(r.n))
	case ending:
		r.send(c, []string{r.access.size})
		if r.access.end != nil {
			r.send(c, r.access.end(r.n))
		}
	case typing:
		r.send(c, []string{"TYPE"})
	case parting:
		r.send(c, r.access.part(r.cursor, r.n))
	}
}

// begin picks the first step: of a collection of many bytes the size must be
// known before it is known how many elements fit into a step.
func (r *reading) begin(w *Walk) {
	heavy := r.k.Bytes > groupBytes && r.k.Kind != source.String
	switch {
	case r.extent == itsSize:
		r.stage = sizing
	case r.whole:
		r.stage, r.cursor, r.n = parting, "0", stepFirst
		if r.access.nested {
			r.cursor = "-"
		}
		w.resumes(r)
		if heavy {
			r.n = stepLeast
		}
	case heavy:
		r.stage = sizing
	default:
		r.stage, r.n = sampled, r.sample()
	}
}

// sample returns how many elements a sample has, or its half at one end.
func (r *reading) sample() int {
	switch {
	case r.access.nested:
		return source.SampleEntries / 2
	case r.access.end != nil:
		return source.SampleMembers / 2
	}
	return source.SampleMembers
}

// take reads the replies to what was asked, and says whether there is more to ask.
func (r *reading) take(w *Walk, a *arena) (again bool, err error) {
	switch r.stage {
	case sizing:
		return r.takeSize(w)
	case sampled:
		return r.takeSample(w, a)
	case ending:
		return false, r.takeEnd(w, a)
	case typing:
		return r.takeType(w)
	}
	return r.takePart(w, a)
}

// noValue says what an error reply means: a key that has changed, or one that the
// user may not read, has no value. Other errors end the walk.
func (r *reading) noValue(w *Walk, err error) error {
	var answer *wire.ServerError
	if !errors.As(err, &answer) || answer.Code != "WRONGTYPE" && answer.Code != "NOPERM" {
		return err
	}
	if answer.Code == "NOPERM" {
		w.unreadable(answer.Message)
		r.k.Closed = true
	}
	r.k.Value = nil
	return nil
}

// unlike is noValue for the first step of a value: of a key whose type was not asked for
// it is asked now.
func (r *reading) unlike(w *Walk, err error) (again bool, _ error) {
	if err := r.noValue(w, err); err != nil {
		return false, err
	}
	if r.guessed {
		r.stage, r.guessed = typing, false
		return true, nil
	}
	return r.sizeInstead(w), nil
}

// sizeInstead asks for the size of a value that may not be read, where it is needed.
func (r *reading) sizeInstead(w *Walk) bool {
	if !r.k.Closed || r.stage == sizing || r.access.size == "" || w.Request.Sizes == nil || !w.Request.Sizes(r.k.Name, r.k.Kind) {
		return false
	}
	r.stage, r.extent = sizing, itsSize
	return true
}

// takeType reads the type of a key that is not what its name tells, whose value may
// not be read, or that may be gone.
func (r *reading) takeType(w *Walk) (again bool, _ error) {
	was, empty := r.k.Kind, r.k.Value != nil
	r.k.Kind = source.Unknown
	there, err := w.readKind(r.k)
	if err != nil {
		return false, err
	}
	if there && r.k.Kind == was {
		return r.sizeInstead(w), nil
	}
	if r.k.Value = nil; empty && !there {
		r.k.Kind = was
	}
	return false, nil
}

// vanished says whether a reply without an element tells that the key is gone: only
// a stream may be empty. An empty string is one, or none: the type tells.
func (r *reading) vanished(got int) (gone, ask bool) {
	switch r.k.Kind {
	case source.Stream:
		return false, false
	case source.String:
		return false, len(r.v.Str) == 0
	}
	return got == 0, false
}

func (r *reading) takeSize(w *Walk) (bool, error) {
	n, _, err := w.Shard.Conn.Int()
	if err != nil {
		return r.unlike(w, err)
	}
	r.k.Size = n
	if r.extent == itsSize || n == 0 {
		return false, nil
	}
	r.stage = sampled
	r.n = min(r.sample(), max(1, int(groupBytes/max(r.k.Bytes/n, 1))))
	return true, nil
}

func (r *reading) takeSample(w *Walk, a *arena) (bool, error) {
	r.v = a.value()
	got, err := r.elements(w.Shard.Conn, a, 0)
	if err != nil {
		return r.unlike(w, err)
	}
	if r.k.Kind == source.String {
		r.v.Partial = len(r.v.Str) >= source.SampleString
		got = 1
	}
	r.v.Of = int64(got)
	gone, ask := r.vanished(got)
	if gone {
		return false, nil
	}
	if r.k.Value = r.v; ask {
		r.stage = typing
		return true, nil
	}
	if got < r.n && r.k.Kind != source.String {
		r.k.Size = int64(got)
		return false, nil
	}
	r.stage = ending
	return r.k.Kind != source.String, nil
}

// takeEnd reads the size and, of lists and streams, the end, less what the
// beginning has already.
func (r *reading) takeEnd(w *Walk, a *arena) error {
	size, _, err := w.Shard.Conn.Int()
	if err != nil {
		if err := r.noValue(w, err); err != nil {
			return err
		}
	} else {
		r.k.Size = size
	}
	if r.access.end != nil {
		skip := max(0, 2*r.n-int(min(size, int64(2*r.n))))
		if _, err := r.elements(w.Shard.Conn, a, skip); err != nil {
			return r.noValue(w, err)
		}
	}
	if r.k.Value == nil {
		return nil
	}
	r.v.Of = max(size, r.v.Looked(r.k.Kind))
	r.v.Partial = r.v.Of > r.v.Looked(r.k.Kind)
	return nil
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
