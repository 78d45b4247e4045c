package command

import (
	"cmp"
	"context"
	"strconv"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/slot"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
)

// located is what there is to say of one key; its JSON names are stable.
type located struct {
	Key      finding.JSONKey `json:"key"`
	Status   string          `json:"status" enum:"declared,legacy,foreign,owned,undeclared"` // owned: under owns, but no entry declares it
	Entry    string          `json:"entry,omitempty"`
	Glob     string          `json:"glob,omitempty"`
	Pattern  string          `json:"pattern,omitempty"`
	Captures []capture       `json:"captures,omitempty"`
	Type     string          `json:"type,omitempty"`
	TTL      string          `json:"ttl,omitempty"`
	Owner    string          `json:"owner,omitempty"`
	Doc      string          `json:"doc,omitempty"`
	Near     []audit.Near    `json:"near,omitempty"` // declared keys that may have been meant
	Slot     uint16          `json:"slot"`
	Live     *live           `json:"live,omitempty"`
	Wrong    []string        `json:"wrong,omitempty"`

	declared *keyspace.Key
}

type capture struct {
	Name  string          `json:"name"`
	Value finding.JSONKey `json:"value"`
	Type  string          `json:"type"`
}

// live is what the server says.
type live struct {
	Exists   bool     `json:"exists"`
	Node     string   `json:"node"`
	Type     string   `json:"type,omitempty"`
	Encoding string   `json:"encoding,omitempty"`
	TTL      *float64 `json:"ttl_seconds"` // null: it never expires
	Bytes    *int64   `json:"bytes"`       // null: unknown
}

func (a *app) explainKey(ctx context.Context, o *explaining) error {
	d, _, err := a.usable()
	if err != nil {
		return err
	}
	l, err := locate(d, []byte(o.key))
	if err != nil {
		return err
	}
	if o.live {
		if err := a.inspect(ctx, l); err != nil {
			return err
		}
	}
	if o.output == "json" {
		err = a.json(explanation{Key: l})
	} else {
		a.printLocated(l)
	}
	if err == nil && (l.Status == "undeclared" || l.Status == "owned" || len(l.Wrong) > 0) {
		err = &exit{code: exitFindings}
	}
	return err
}

// locate finds the entry of a key.
func locate(d *declaration, key []byte) (*located, error) {
	items, targets := d.Items()
	m, _, err := match.Compile(items)
	if err != nil {
		return nil, err
	}
	var c match.Captures
	l := &located{Key: key, Status: "undeclared", Slot: slot.Of(key)}
	if id := m.Match(key, &c); id != match.None {
		l.target(targets[id], &c)
	}
	if l.Status == "undeclared" || l.Status == "owned" {
		l.Near = nearPatterns(d.Keyspace, key)
	}
	return l, nil
}

func (l *located) target(t keyspace.Target, c *match.Captures) {
	switch {
	case t.Foreign != nil:
		l.Status, l.Glob = "foreign", t.Foreign.Text
	case t.Owned != nil:
		l.Status, l.Glob = "owned", t.Owned.Text
	case t.Legacy != nil:
		l.Status, l.Entry = "legacy", t.Legacy.Name
	default:
		k := t.Key
		l.Status, l.declared, l.Entry, l.Pattern, l.Type, l.TTL, l.Owner = "declared", k, k.Name, k.Pattern.String(), string(k.Kind), k.TTL.String(), k.Entry.Owner
		l.Doc = cmp.Or(k.Doc, k.Entry.Doc)
		for i, place := range k.Pattern.Placeholders() {
			l.Captures = append(l.Captures, capture{place.Name, c.Of(l.Key, i), place.Type.Definition()})
		}
	}
}

// inspect adds what the server says of the key, and compares.
func (a *app) inspect(ctx context.Context, l *located) error {
	config, err := a.server()
	if err != nil {
		return err
	}
	f, err := server.Inspect(ctx, config, l.Key)
	if err != nil {
		return err
	}
	l.Live = &live{Exists: f.Exists, Node: f.Node}
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
	if l.declared != nil {
		l.Wrong = liveFaults(l.declared, f)
	}
	return nil
}

// liveFaults compares one live key with its declaration.
func liveFaults(k *keyspace.Key, f server.Facts) []string {
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

func (a *app) printLocated(l *located) {
	a.line("key", finding.Key(l.Key))
	switch l.Status {
	case "foreign":
		a.line("entry", "other software's, by foreign "+l.Glob+": counted, not judged")
	case "owned":
		a.line("entry", "none declares it, although owns has "+l.Glob)
	case "legacy":
		a.line("entry", l.Entry+", by an old name (was)")
	case "undeclared":
		a.line("entry", "none declares it")
	default:
		a.line("entry", l.Entry+" ("+l.declared.Entry.Type+")")
	}
	a.line("pattern", l.Pattern)
	for _, c := range l.Captures {
		a.line("  "+c.Name, finding.Key(c.Value)+" ("+c.Type+")")
	}
	for _, n := range l.Near {
		a.line("meant?", n.Entry+": "+n.Pattern)
	}
	a.line("type", l.Type)
	a.line("ttl", l.TTL)
	a.line("owner", l.Owner)
	a.line("doc", l.Doc)
	a.line("slot", strconv.Itoa(int(l.Slot)))
	if l.Live != nil {
		a.line("live", l.Live.String())
	}
	for _, w := range l.Wrong {
		a.line("wrong", w)
	}
}

// String is what the server says, in a line.
func (l *live) String() string {
	if !l.Exists {
		return "does not exist at " + l.Node
	}
	ttl, size := "no ttl", "size unknown"
	if l.TTL != nil {
		ttl = "ttl " + terminal.Duration(audit.Duration(*l.TTL))
	}
	if l.Bytes != nil {
		size = terminal.Bytes(*l.Bytes)
	}
	return l.Type + " (" + cmp.Or(l.Encoding, "encoding unknown") + "), " + ttl + ", " + size + ", at " + l.Node
}

// shownNear is how many proposals are made for a key that is not declared.
const shownNear = 3

// nearPatterns are the declared patterns that come nearest to a key.
func nearPatterns(ks *keyspace.Keyspace, key []byte) []audit.Near {
	var out []audit.Near
	for _, k := range keyspace.NewNear(ks).To(key, shownNear) {
		out = append(out, audit.Near{Entry: k.Name, Pattern: k.Pattern.String()})
	}
	return out
}
