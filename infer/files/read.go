package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/migrate/record"
)

// reader reads documents into nodes.
type reader struct {
	ctx   context.Context
	nodes int
	in    *json.Decoder
	above []string // the names of the objects that are open
}

// read reads one file twice: whether it is JSON as a migration reads it, and what it has.
func (r *reader) read(f File, lines bool, into *node) error {
	for _, pass := range []func(io.Reader) error{
		func(in io.Reader) error { _, err := record.Check(in, f.Name, lines, record.Options{}); return err },
		func(in io.Reader) error { return r.values(in, lines, into) },
	} {
		in, err := f.Open()
		if err != nil {
			return err
		}
		if err = errors.Join(pass(in), in.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) values(in io.Reader, lines bool, into *node) error {
	r.in = json.NewDecoder(in)
	r.in.UseNumber()
	if !lines {
		return r.value(into)
	}
	into.arrays++
	if into.elements == nil {
		into.elements = r.node()
	}
	seen := &distinct{}
	for n := 0; ; n++ {
		into.longest = max(into.longest, n)
		if err := r.element(into, seen); errors.Is(err, io.EOF) {
			seen.end(into)
			return nil
		} else if err != nil {
			return err
		}
	}
}

// node returns a new one, nil if there are too many: what is there is read, and not remembered.
func (r *reader) node() *node {
	if r.nodes++; r.nodes > 4*maxNodes {
		return nil
	}
	return &node{}
}

// skip reads a value that is not remembered.
func (r *reader) skip(t json.Token) error {
	for depth := 0; ; {
		if d, ok := t.(json.Delim); ok && (d == '{' || d == '[') {
			depth++
		} else if ok {
			depth--
		}
		if depth == 0 {
			return nil
		}
		var err error
		if t, err = r.in.Token(); err != nil {
			return err
		}
	}
}

func (r *reader) value(n *node) error {
	t, err := r.in.Token()
	if err != nil {
		return err
	}
	return r.token(n, t)
}

func (r *reader) token(n *node, t json.Token) error {
	if n == nil {
		return r.skip(t)
	}
	switch t := t.(type) {
	case nil:
		n.nulls++
	case bool:
		n.bools++
	case json.Number:
		n.number(t)
	case string:
		n.texts.add(t)
		for i := range min(len(r.above), maxLevels) {
			count(&n.same[i], r.above[len(r.above)-1-i] == t)
		}
	case json.Delim:
		if t == '{' {
			return r.object(n, nil)
		}
		return r.array(n)
	}
	return nil
}

// object reads the members of an object. texts are those of its members, where it is an element.
func (r *reader) object(n *node, texts func(name, text string)) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	n.objects++
	var begins, ends time.Time
	for r.in.More() {
		t, err := r.in.Token()
		if err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok {
			return fmt.Errorf("a member without a name")
		}
		n.names.add(name)
		child := r.member(n, name)
		if t, err = r.in.Token(); err != nil {
			return err
		}
		switch text := spelled(t); {
		case text == "":
		case texts != nil && identifies(name):
			texts(name, text)
			fallthrough
		default:
			at, ok := instantOf(t)
			if ok && startNames[name] && begins.IsZero() {
				begins = at
			} else if ok && endNames[name] {
				ends = at
			}
		}
		r.above = append(r.above, name)
		if err := r.token(child, t); err != nil {
			return err
		}
		r.above = r.above[:len(r.above)-1]
	}
	if !begins.IsZero() && ends.After(begins) {
		n.life, n.lives = max(n.life, ends.Sub(begins)), n.lives+1
	}
	_, err := r.in.Token()
	return err
}

// member returns the place of a member: its own, or that of all members of an object with too many.
func (r *reader) member(n *node, name string) *node {
	if m := n.members[name]; m != nil {
		return m
	}
	if len(n.members) >= maxMembers || r.nodes >= maxNodes || len(name) > maxSample {
		n.lost = n.lost || len(n.members) < maxMembers
		if n.each == nil {
			n.each = r.node()
		}
		return n.each
	}
	if n.members == nil {
		n.members = map[string]*node{}
	}
	n.members[name] = r.node()
	return n.members[name]
}

func (r *reader) array(n *node) error {
	n.arrays++
	if n.elements == nil {
		n.elements = r.node()
	}
	seen := &distinct{}
	length := 0
	for ; r.in.More(); length++ {
		if err := r.element(n, seen); err != nil {
			return err
		}
	}
	n.longest = max(n.longest, length)
	seen.end(n)
	_, err := r.in.Token()
	return err
}

func (r *reader) element(n *node, seen *distinct) error {
	t, err := r.in.Token()
	if err != nil {
		return err
	}
	seen.n++
	if text := spelled(t); text != "" {
		seen.add("", text)
	}
	if d, ok := t.(json.Delim); ok && d == '{' && n.elements != nil {
		return r.object(n.elements, seen.add)
	}
	return r.token(n.elements, t)
}

// distinct tells which texts of one array are there twice.
type distinct struct {
	n, texts int
	of       map[string]map[string]bool
	had      map[string]int
	twice    map[string]bool
}

func (d *distinct) add(name, text string) {
	if d.of == nil {
		d.of, d.had, d.twice = map[string]map[string]bool{}, map[string]int{}, map[string]bool{}
	}
	if d.of[name] == nil {
		d.of[name] = map[string]bool{}
	}
	d.had[name]++
	if d.texts++; d.of[name][text] || d.texts > maxDistinct || len(text) > maxSample {
		d.twice[name] = true
		return
	}
	d.of[name][text] = true
}

// end says what is unique in this array: what every element has, and none twice.
func (d *distinct) end(n *node) {
	for name, had := range d.had {
		if n.elements == nil {
			return
		}
		if name == "" {
			n.twice = n.twice || d.twice[name]
			continue
		}
		n.elements.say(name, had == d.n && !d.twice[name])
	}
}

// spelled returns a text or a whole number as text, "" for what is none.
func spelled(t json.Token) string {
	switch t := t.(type) {
	case string:
		return t
	case json.Number:
		if allDigits(t.String()) {
			return t.String()
		}
	}
	return ""
}

// identifies reports whether a member of this name may tell its element from others.
func identifies(name string) bool {
	w := wordsOf(name)
	return len(w) > 0 && slices.Contains([]string{"id", "hash", "uuid", "key", "slug", "name", "url", "guid"}, w[len(w)-1])
}

// Names of members that say when something began, and when it ends.
var (
	startNames = wordSet(starts)
	endNames   = wordSet(strings.Fields("expires_at expires expiry expiration valid_until until expiresAt validUntil"))
	starts     = strings.Fields("queued_at posted_at created_at started_at ended_at received_at added_at inserted_at " +
		"published_at createdAt postedAt queuedAt startedAt publishedAt created published timestamp updated_at updatedAt " +
		"time date at")
)

func wordSet(words []string) map[string]bool {
	out := map[string]bool{}
	for _, w := range words {
		out[w] = true
	}
	return out
}

// instant reads a text as a migration's iso8601 does.
func instant(text string) (time.Time, bool) {
	if len(text) < len("2006-01-02T15:04") || len(text) > 40 || text[4] != '-' {
		return time.Time{}, false
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// Seconds and milliseconds since 1970 that are taken for times: 2001 to 2100.
const (
	firstSecond = 1_000_000_000
	lastSecond  = 4_102_444_800
)

func instantOf(t json.Token) (time.Time, bool) {
	switch t := t.(type) {
	case string:
		return instant(t)
	case json.Number:
		i, err := strconv.ParseInt(t.String(), 10, 64)
		switch {
		case err != nil:
		case i >= firstSecond && i <= lastSecond:
			return time.Unix(i, 0), true
		case i >= firstSecond*1000 && i <= lastSecond*1000:
			return time.UnixMilli(i), true
		}
	}
	return time.Time{}, false
}

// seconds reports whether all that was seen are seconds since 1970, and millis whether
// milliseconds.
func (n *node) seconds() bool {
	return n.ints > 0 && n.ints == n.total() && n.low >= firstSecond && n.high <= lastSecond
}

func (n *node) millis() bool {
	return n.ints > 0 && n.ints == n.total() && n.low >= firstSecond*1000 && n.high <= lastSecond*1000
}

func (n *node) timestamps() bool {
	return n.texts.n > 0 && n.texts.n == n.total() && n.texts.times == n.texts.n
}

// timeTerm returns the term of a time, "" if this is none.
func (n *node) timeTerm(of string) string {
	switch {
	case n == nil:
	case n.seconds():
		return "unix_s(" + of + ")"
	case n.millis():
		return "unix_ms(" + of + ")"
	case n.timestamps():
		return "iso8601(" + of + ")"
	}
	return ""
}

// began returns the member of a record that says since when it is there, and its term.
func (n *node) began() (name, term string) {
	return n.first(starts)
}

func (n *node) first(names []string) (name, term string) {
	for _, name := range names {
		if m := n.members[name]; m != nil && m.total() == n.objects {
			if term := m.timeTerm(member(name)); term != "" {
				return name, term
			}
		}
	}
	return "", ""
}

// ends returns the member of a record that says when it is over.
func (n *node) ends() (name, term string) {
	return n.first(slices.SortedFunc(func(yield func(string) bool) {
		for name := range endNames {
			if !yield(name) {
				return
			}
		}
	}, func(a, b string) int { return cmp.Or(-cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }))
}
