// Package bind makes of a declared entry and values for its placeholders what a program
// works with: the keys by role, and the live handle, as generated code does it for
// values that are known when it is compiled. Instances finds on a server which values
// there are.
//
// What is in a key is looked at as text: payloads and fields have no types here. It does
// not read declarations, and prints nothing.
//
// API: may change until 1.0.
package bind

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
)

// Values are those of placeholders, by name, as they are in keys.
type Values map[string]string

// With is the values with one more.
func (v Values) With(name, value string) Values {
	out := maps.Clone(v)
	if out == nil {
		out = Values{}
	}
	out[name] = value
	return out
}

// ID is a text that two sets of values share only if they are equal.
func (v Values) ID() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(v)) {
		b.WriteString(strconv.Quote(name) + "=" + strconv.Quote(v[name]) + " ")
	}
	return b.String()
}

// Build builds a key; names that the pattern does not have are left out.
func Build(p *pattern.Pattern, v Values) (string, error) {
	args := make([]string, len(p.Placeholders()))
	for i, place := range p.Placeholders() {
		args[i] = v[place.Name]
	}
	key, err := p.Build(args...)
	return string(key), err
}

// Read reads a key by name, without the placeholders that leave cut out.
func Read(p *pattern.Pattern, key string, leave ...string) (Values, bool) {
	captures, ok := p.Match([]byte(key))
	if !ok {
		return nil, false
	}
	v := Values{}
	for i, place := range p.Placeholders() {
		if !slices.Contains(leave, place.Name) {
			v[place.Name] = captures[i]
		}
	}
	return v, true
}

// Entry is what the runtime knows of a declared key.
func Entry(ks *keyspace.Keyspace, k *keyspace.Key) *keywright.Entry {
	policy := map[keyspace.Policy]keywright.Policy{keyspace.TTLAny: keywright.Undecided, keyspace.TTLNone: keywright.Forever, keyspace.TTLExpires: keywright.Expires}
	t := k.TTL
	if k.Role == "" && k.Entry != nil {
		t = k.Entry.TTL
	}
	return &keywright.Entry{Name: k.Name, Pattern: k.Pattern.String(), Type: string(k.Kind), Schema: ks.Package,
		TTL: keywright.TTL{Policy: policy[t.Policy], Default: t.Default, Min: t.Min, Max: t.Max, Text: t.Text}}
}

// builder builds keys of an entry by role, and gathers what fails.
type builder struct {
	e    *keyspace.Entry
	v    Values
	errs []error
}

func (b *builder) pattern(p *pattern.Pattern, v Values) string {
	key, err := Build(p, v)
	b.errs = append(b.errs, err)
	return key
}

// roles builds the keys of roles that the entry must have.
func (b *builder) roles(to map[string]*string) {
	for role, key := range to {
		if k := b.e.Key(role); k != nil {
			*key = b.pattern(k.Pattern, b.v)
		} else {
			b.errs = append(b.errs, errors.New(b.e.Name+" has no key of the role "+role))
		}
	}
}

func (b *builder) err() error { return errors.Join(b.errs...) }

// around is what a pattern has before and after some placeholders, with values for the
// others.
func around(p *pattern.Pattern, own []string, v Values) (prefix, suffix string) {
	first, last := p.Span(own...)
	text := func(elems []pattern.Element) string {
		var b strings.Builder
		for _, e := range elems {
			if e.Placeholder < 0 {
				b.WriteString(e.Literal)
			} else {
				b.WriteString(v[p.Placeholders()[e.Placeholder].Name])
			}
		}
		return b.String()
	}
	if first < 0 {
		return text(p.Elements()), ""
	}
	return text(p.Elements()[:first]), text(p.Elements()[last+1:])
}
