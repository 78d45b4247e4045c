package declare

import (
	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/keyspace/group"
	"github.com/keywright/keywright/source"
)

// DraftReport represents a draft as JSON. The keys and bytes of entries, foreign and left are, with those that are
// declared already, all that were looked at. It holds no name of a key.
type DraftReport struct {
	Server     string         `json:"server,omitempty"` // absent: drafted from a page
	Complete   bool           `json:"complete"`
	Incomplete source.Reasons `json:"incomplete,omitempty"` // why not
	Keys       int64          `json:"keys"`                 // that were looked at
	Bytes      int64          `json:"bytes"`
	Known      int64          `json:"declared_keys,omitempty"`
	KnownBytes int64          `json:"declared_bytes,omitempty"`
	Looked     int64          `json:"values"`            // keys whose value was read whole
	About      bool           `json:"about,omitempty"`   // the counts of entries are near the truth only
	Vars       []draftVar     `json:"vars"`              // types of placeholders
	Entries    []draftEntry   `json:"entries"`           // what is drafted
	Foreign    []draftForeign `json:"foreign,omitempty"` // keys of other software
	Left       []draftLeft    `json:"left,omitempty"`    // what is not declared, and why
	Passed     []string       `json:"passed,omitempty"`  // lines of a page that were not taken for keys
}

type draftVar struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type draftEntry struct {
	Name       string           `json:"name"`
	Pattern    string           `json:"pattern"`
	Type       string           `json:"type"`
	TTL        string           `json:"ttl"`
	Confidence group.Confidence `json:"confidence" enum:"high,medium,low"`
	Guesses    []string         `json:"guesses,omitempty"`
	Source     string           `json:"source,omitempty"` // where a page names it
	Keys       int64            `json:"keys"`
	Bytes      int64            `json:"bytes"`
	NoTTL      int64            `json:"no_ttl"`
}

type draftForeign struct {
	Glob     string `json:"glob"`
	Software string `json:"software"`
	URL      string `json:"url"`
	Type     string `json:"type,omitempty"` // absent: several
	Keys     int64  `json:"keys"`
	Bytes    int64  `json:"bytes"`
	NoTTL    int64  `json:"no_ttl"`
}

type draftLeft struct {
	Pattern string `json:"pattern,omitempty"` // absent: they have none in common
	Why     string `json:"why"`
	Keys    int64  `json:"keys"`
	Bytes   int64  `json:"bytes"`
}

func reportOfDraft(d *infer.Draft, sum source.Summary, complete bool) *DraftReport {
	r := &DraftReport{Server: sum.Server, Complete: complete, Incomplete: sum.Incomplete, Keys: d.All.Keys,
		Bytes: d.All.Bytes, Known: d.Known.Keys, KnownBytes: d.Known.Bytes, Looked: d.Looked, About: d.About,
		Vars: []draftVar{}, Entries: []draftEntry{}, Passed: d.Passed}
	for _, v := range d.Vars {
		r.Vars = append(r.Vars, draftVar(v))
	}
	for _, e := range d.Entries {
		r.Entries = append(r.Entries, draftEntry{e.Name, e.Pattern, e.Type, e.TTL, d.Confidence(e), e.Guesses, e.Source,
			e.Keys, e.Bytes, e.NoTTL})
	}
	for _, f := range d.Foreign {
		r.Foreign = append(r.Foreign, draftForeign{f.Glob, f.Software, f.URL, f.Type, f.Keys, f.Bytes, f.NoTTL})
	}
	for _, l := range d.Left {
		r.Left = append(r.Left, draftLeft{l.What, l.Why, l.Keys, l.Bytes})
	}
	return r
}
