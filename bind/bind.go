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
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
)

// Values holds those of placeholders, by name, as they are in keys.
type Values map[string]string

// With returns the values with one more.
func (v Values) With(name, value string) Values {
	out := maps.Clone(v)
	if out == nil {
		out = Values{}
	}
	out[name] = value
	return out
}

// ID returns a text that two sets of values share only if they are equal.
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

var policies = map[keyspace.Policy]keywright.Policy{
	keyspace.TTLAny: keywright.Undecided, keyspace.TTLNone: keywright.Forever, keyspace.TTLExpires: keywright.Expires,
}

// Entry returns what the runtime knows of a declared key.
func Entry(ks *keyspace.Keyspace, k *keyspace.Key) *keywright.Entry {
	t := k.TTL
	out := &keywright.Entry{Name: k.Name, Pattern: k.Pattern.String(), Type: string(k.Kind), Schema: ks.Package,
		TTL: keywright.TTL{Policy: policies[t.Policy], Text: t.Text}}
	if t.Policy == keyspace.TTLExpires {
		out.TTL.Default, out.TTL.Min, out.TTL.Max, out.TTL.Jitter, out.TTL.Sliding = t.Default, t.Min, t.Max, t.Jitter,
			t.Sliding
	}
	return out
}
