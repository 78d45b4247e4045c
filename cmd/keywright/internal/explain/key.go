// Package explain says what a key is: the entry that it belongs to, what a server says of it, and its value, as far as
// that may be shown; and what an entry is. It is what `keywright explain` prints and what the server shows.
//
// It prints nothing, and reads one key at a time: what constructs hold is what package answer reads.
package explain

import (
	"cmp"
	"context"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/look"
)

// Located describes what there is to say of one key; its JSON names are stable.
type Located struct {
	Key finding.JSONKey `json:"key"`
	// owned: under owns, but no entry declares it
	Status   string       `json:"status" enum:"declared,legacy,foreign,owned,undeclared"`
	Entry    string       `json:"entry,omitempty"`
	Glob     string       `json:"glob,omitempty"`
	Pattern  string       `json:"pattern,omitempty"`
	Captures []Capture    `json:"captures,omitempty"`
	Type     string       `json:"type,omitempty"`
	TTL      string       `json:"ttl,omitempty"`
	Owner    string       `json:"owner,omitempty"`
	Doc      string       `json:"doc,omitempty"`
	Near     []audit.Near `json:"near,omitempty"` // declared keys that may have been meant
	Slot     uint16       `json:"slot"`
	Live     *Live        `json:"live,omitempty"`
	Wrong    []string     `json:"wrong,omitempty"`

	Declared *keyspace.Key `json:"-"`

	was *keyspace.Entry // of a legacy key
}

// Capture represents a placeholder and the part of the key that it matched.
type Capture struct {
	Name  string          `json:"name"`
	Value finding.JSONKey `json:"value"`
	Type  string          `json:"type"`
}

// Live describes what the server says.
type Live struct {
	Exists   bool     `json:"exists"`
	Node     string   `json:"node"`
	Type     string   `json:"type,omitempty"`
	Encoding string   `json:"encoding,omitempty"`
	TTL      *float64 `json:"ttl_seconds"` // null: it never expires
	Bytes    *int64   `json:"bytes"`       // null: unknown
}

// Locator finds the entries of keys. It may be used by several goroutines.
type Locator struct {
	ks      *keyspace.Keyspace
	matcher *match.Matcher
	targets []keyspace.Target
}

// NewLocator compiles the patterns of a keyspace.
func NewLocator(ks *keyspace.Keyspace) (*Locator, error) {
	items, targets := ks.Items()
	m, _, err := match.Compile(items)
	return &Locator{ks, m, targets}, err
}

// Find finds the entry of a key.
func (f *Locator) Find(key []byte) *Located {
	var c match.Captures
	l := &Located{Key: key, Status: "undeclared", Slot: slot.Of(key)}
	if id := f.matcher.Match(key, &c); id != match.None {
		l.target(f.targets[id], &c)
	}
	if l.Status == "undeclared" || l.Status == "owned" {
		l.Near = nearPatterns(f.ks, key)
	}
	return l
}

// Target returns what a key belongs to; false: to nothing.
func (f *Locator) Target(key []byte) (keyspace.Target, bool) {
	id := f.matcher.Match(key, nil)
	if id == match.None {
		return keyspace.Target{}, false
	}
	return f.targets[id], true
}

func (l *Located) target(t keyspace.Target, c *match.Captures) {
	switch {
	case t.Foreign != nil:
		l.Status, l.Glob = "foreign", t.Foreign.Text
	case t.Owned != nil:
		l.Status, l.Glob = "owned", t.Owned.Text
	case t.Legacy != nil:
		l.Status, l.Entry, l.was = "legacy", t.Legacy.Name, t.Legacy
	default:
		k := t.Key
		l.Status, l.Declared, l.Entry, l.Pattern = "declared", k, k.Name, k.Pattern.String()
		l.Type, l.TTL, l.Owner = string(k.Kind), k.TTL.String(), k.Entry.Owner
		l.Doc = cmp.Or(k.Doc, k.Entry.Doc)
		for i, place := range k.Pattern.Placeholders() {
			l.Captures = append(l.Captures, Capture{place.Name, c.Of(l.Key, i), place.Type.Definition()})
		}
	}
}

// Inspect adds what the server says of the key, and compares.
func (l *Located) Inspect(ctx context.Context, config connect.Config) error {
	f, err := look.Inspect(ctx, config, l.Key)
	if err != nil {
		return err
	}
	l.Live = &Live{Exists: f.Exists, Node: f.Node}
	if !f.Exists {
		return nil
	}
	l.Live.Type, l.Live.Encoding = f.Type, f.Encoding
	if f.TTL != source.NoTTL {
		seconds := f.TTL.Seconds()
		l.Live.TTL = &seconds
	}
	if f.Bytes >= 0 {
		l.Live.Bytes = &f.Bytes
	}
	if l.Declared != nil {
		l.Wrong = liveFaults(l.Declared, f)
	}
	return nil
}

// liveFaults compares one live key with its declaration.
func liveFaults(k *keyspace.Key, f look.Facts) []string {
	var out []string
	if f.Type != string(k.Kind) {
		out = append(out, "KW504: it is a "+f.Type+", not a "+string(k.Kind))
	}
	switch {
	case k.TTL.Policy == keyspace.TTLExpires && f.TTL == source.NoTTL:
		out = append(out, "KW505: it has no TTL")
	case k.TTL.Policy == keyspace.TTLExpires && f.TTL > k.TTL.LiveMax():
		out = append(out, "KW506: its TTL is above "+keyspace.FormatDuration(k.TTL.LiveMax()))
	case k.TTL.Policy == keyspace.TTLNone && f.TTL != source.NoTTL:
		out = append(out, "KW507: it has a TTL")
	}
	return out
}

// shownNear says how many proposals are made for a key that is not declared.
const shownNear = 3

// nearPatterns returns the declared patterns that come nearest to a key.
func nearPatterns(ks *keyspace.Keyspace, key []byte) []audit.Near {
	var out []audit.Near
	for _, k := range keyspace.NewNear(ks).To(key, shownNear) {
		out = append(out, audit.Near{Entry: k.Name, Pattern: k.Pattern.String()})
	}
	return out
}
