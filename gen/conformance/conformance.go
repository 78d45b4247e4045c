// Package conformance generates vectors from a keyspace: values and the key they
// build, keys and the values they hold, values and keys that must be refused.
// They are language-neutral: the Go library, the generated TypeScript and the
// generated Python are run against the same file and must agree on every byte.
//
// It chooses what to try, by rule and by chance with a fixed seed; the answers
// are those of package pattern. It runs nothing.
//
// API: may change until 1.0.
package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/gen/portable"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
)

// File describes what a file of vectors holds.
type File struct {
	Generated string    `json:"generated"`
	Package   string    `json:"package"`
	Keys      []Subject `json:"keys"`
	Channels  []Subject `json:"channels"`
}

// Subject represents one key or channel and its vectors.
type Subject struct {
	Name         string        `json:"name"`
	Pattern      string        `json:"pattern"`
	Glob         Bytes         `json:"glob"`           // for SCAN or PSUBSCRIBE
	Type         string        `json:"type,omitempty"` // Redis type; none for a channel
	Construct    string        `json:"construct,omitempty"`
	TTL          *TTL          `json:"ttl,omitempty"`
	Placeholders []Placeholder `json:"placeholders"`

	Build       []Vector  `json:"build"`       // params give key, and key gives params
	Parse       []Vector  `json:"parse"`       // the same, found from the key
	RejectBuild []Refusal `json:"rejectBuild"` // params that must be refused
	RejectParse []Bytes   `json:"rejectParse"` // not a key of this pattern
	NotText     []Bytes   `json:"notText"`     // a key, but a text in it is not UTF-8: a string cannot hold it
}

// TTL represents the declared TTL in milliseconds.
type TTL struct {
	Policy  string  `json:"policy"`
	Default int64   `json:"defaultMs"`
	Min     int64   `json:"minMs"`
	Max     int64   `json:"maxMs"`
	Jitter  float64 `json:"jitter"`
	Sliding bool    `json:"sliding"`
}

// Placeholder represents a placeholder of the pattern, in order. Kind is the first word
// of its type, "enum" or "regexp".
type Placeholder struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Kind string `json:"kind"`

	Default string `json:"default,omitempty"` // what it is when it is left out
}

// Vector represents one key and the values in it.
type Vector struct {
	Params []Value `json:"params"`
	Key    Bytes   `json:"key"`
}

// Refusal represents a list of values of which one must be refused.
type Refusal struct {
	Params      []Value `json:"params"`
	Placeholder string  `json:"placeholder"` // the one at fault
	Reason      string  `json:"reason"`
}

// Generate makes `<package>.vectors.json`.
func Generate(ks *keyspace.Keyspace) ([]gen.File, error) {
	f := File{Generated: gen.Marker, Package: ks.Package, Keys: []Subject{}, Channels: []Subject{}}
	foreign := strangers(ks)
	for _, k := range ks.Keys {
		s := subject(k.Name, k.Pattern, foreign)
		s.Type, s.Construct, s.TTL = string(k.Kind), string(k.Entry.Construct), ttlOf(k.TTL)
		f.Keys = append(f.Keys, s)
	}
	for _, c := range ks.PubSub() {
		f.Channels = append(f.Channels, subject(c.Name, c.Pattern, foreign))
	}
	text, err := print(f)
	if err != nil {
		return nil, fmt.Errorf("vectors of %s: %w", ks.Package, err)
	}
	return []gen.File{{Name: portable.Module(ks) + ".vectors.json", Text: text}}, nil
}

// strangers returns keys of all patterns: each must be refused by all others, or be
// theirs as well.
func strangers(ks *keyspace.Keyspace) []string {
	var keys []string
	for _, k := range ks.Keys {
		keys = append(keys, string(k.Pattern.Example()))
	}
	for _, c := range ks.PubSub() {
		keys = append(keys, string(c.Pattern.Example()))
	}
	return keys
}

func subject(name string, p *pattern.Pattern, foreign []string) Subject {
	s := Subject{Name: name, Pattern: p.String(), Glob: Bytes(p.ScanGlob()), Placeholders: []Placeholder{},
		Build: []Vector{}, Parse: []Vector{}, RejectBuild: []Refusal{},
		RejectParse: []Bytes{}, NotText: []Bytes{}}
	for _, place := range p.Placeholders() {
		s.Placeholders = append(s.Placeholders,
			Placeholder{place.Name, place.Type.Definition(), place.Type.Kind.String(), place.Type.Default})
	}
	newAuthor(name, p, &s).write(foreign)
	return s
}

func ttlOf(t keyspace.TTL) *TTL {
	policy := map[keyspace.Policy]string{keyspace.TTLAny: "any", keyspace.TTLNone: "none",
		keyspace.TTLExpires: "expires"}[t.Policy]
	return &TTL{policy, t.Default.Milliseconds(), t.Min.Milliseconds(), t.Max.Milliseconds(), t.Jitter, t.Sliding}
}

// print is JSON with a line per vector: a difference in a review is one vector.
func print(f File) ([]byte, error) {
	var flat, out bytes.Buffer
	enc := json.NewEncoder(&flat)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(f); err != nil {
		return nil, err
	}
	depth, quoted := 0, false
	for i, c := range flat.Bytes() {
		out.WriteByte(c)
		switch {
		case c == '"' && !escaped(flat.Bytes()[:i]):
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			breakLine(&out, depth, depth <= lineDepth)
		case c == '}' || c == ']':
			depth--
		case c == ',':
			breakLine(&out, depth, depth <= lineDepth)
		}
	}
	return out.Bytes(), nil
}

// lineDepth is the nesting below which everything stays on one line: file, list
// of subjects, subject, list of vectors.
const lineDepth = 4

func breakLine(out *bytes.Buffer, depth int, wanted bool) {
	if wanted {
		out.WriteByte('\n')
		out.Write(bytes.Repeat([]byte(" "), depth))
	}
}

// escaped reports whether an odd number of backslashes ends the text.
func escaped(before []byte) bool {
	return (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 1
}
