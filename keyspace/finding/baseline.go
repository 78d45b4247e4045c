package finding

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/keywright/keywright/internal/jsonbound"
)

// Baseline represents the findings a team has decided to live with for now: a run only
// fails for new ones. It is JSON, sorted, one finding a line, to be reviewed in
// a diff.
type Baseline struct {
	Findings []BaselineEntry `json:"findings"`
}

// BaselineEntry represents one accepted finding; only the fingerprint and the count are
// compared, the rest is for readers.
type BaselineEntry struct {
	Fingerprint string `json:"fingerprint"`
	Code        string `json:"code"`
	File        string `json:"file,omitempty"` // of the declaration; "": an older baseline, or the finding is at no line
	Entry       string `json:"entry,omitempty"`
	Message     string `json:"message"`
	Group       string `json:"group,omitempty"` // the pattern of the keys, of a finding about several groups
	Times       int    `json:"times"`
	Keys        int64  `json:"keys,omitempty"` // audit: how many keys were accepted; more are a new finding
}

// NewBaseline accepts all of findings.
func NewBaseline(findings []Finding) Baseline {
	b := Baseline{Findings: []BaselineEntry{}}
	at := map[string]int{}
	add := func(e BaselineEntry) {
		if i, known := at[e.Fingerprint]; known {
			b.Findings[i].Times++
			return
		}
		at[e.Fingerprint] = len(b.Findings)
		b.Findings = append(b.Findings, e)
	}
	for _, f := range findings {
		if len(f.Parts) == 0 {
			add(BaselineEntry{Fingerprint(f), f.Code, f.Pos.File, f.Entry, f.Message, "", 1, f.Count})
		}
		for _, p := range f.Parts {
			add(BaselineEntry{p.fingerprint(f), f.Code, f.Pos.File, f.Entry, f.Message, p.Name, 1, p.Count})
		}
	}
	b.sort()
	return b
}

func (b *Baseline) sort() {
	slices.SortFunc(b.Findings, func(x, y BaselineEntry) int {
		return cmp.Or(strings.Compare(x.Code+x.Entry+x.Message+x.Group, y.Code+y.Entry+y.Message+y.Group),
			strings.Compare(x.File, y.File))
	})
}

// Update accepts all of findings, and keeps of the baseline what looked says was not looked for.
func (b Baseline) Update(findings []Finding, looked func(BaselineEntry) bool) Baseline {
	out := NewBaseline(findings)
	at := map[string]int{}
	for i, e := range out.Findings {
		at[e.Fingerprint] = i
	}
	for _, e := range b.Findings {
		if looked(e) {
			continue
		}
		if i, found := at[e.Fingerprint]; found { // some of it was looked at
			f := &out.Findings[i]
			f.Times, f.Keys = max(f.Times, e.Times), max(f.Keys, e.Keys)
			continue
		}
		at[e.Fingerprint] = len(out.Findings)
		out.Findings = append(out.Findings, e)
	}
	out.sort()
	return out
}

// maxAccepted bounds the findings of a baseline, and maxBaseline its bytes.
const (
	maxAccepted = 300_000
	maxBaseline = 64 << 20
)

// ReadBaseline reads what Write wrote.
func ReadBaseline(r io.Reader) (Baseline, error) {
	var b Baseline
	text, err := io.ReadAll(io.LimitReader(r, maxBaseline+1))
	if err != nil {
		return b, err
	}
	if err := bounded(text); err != nil {
		return b, fmt.Errorf("not a baseline: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return b, fmt.Errorf("not a baseline: %w", err)
	}
	return b, nil
}

// Write prints the baseline. One that ReadBaseline would not read is an error.
func (b Baseline) Write(w io.Writer) error {
	var text bytes.Buffer
	if err := encode(&text, b); err != nil {
		return err
	}
	if err := bounded(text.Bytes()); err != nil {
		return fmt.Errorf("%d findings are too many for a baseline: %w", len(b.Findings), err)
	}
	_, err := w.Write(text.Bytes())
	return err
}

// bounded returns an error if a baseline is larger than any that is read.
func bounded(text []byte) error {
	if len(text) > maxBaseline {
		return fmt.Errorf("it is longer than %d bytes", maxBaseline)
	}
	return jsonbound.Check(text, maxAccepted, 10*maxAccepted)
}

// Settled holds findings held against a baseline.
type Settled struct {
	Fresh  []Finding       // not accepted: new ones, and all that grew
	Grown  []Growth        // of Fresh, those that were accepted for fewer keys
	Known  []Finding       // accepted
	Gone   []BaselineEntry // accepted, and not there any more: entries to remove
	Unseen []BaselineEntry // accepted, and not looked for: nothing is known of them
	Old    int             // findings that the baseline has one count of, where it would have one for each group now
}

// Growth represents a finding that has more keys than were accepted.
type Growth struct {
	Finding
	Accepted int64 // keys
}

// jsonGrowth represents a growth as JSON; its names are stable.
type jsonGrowth struct {
	Code        string `json:"code"`
	Entry       string `json:"entry,omitempty"`
	Message     string `json:"message"`
	Group       string `json:"group,omitempty"` // the pattern of the keys that grew, of a finding about several groups
	Keys        int64  `json:"keys"`            // now
	Accepted    int64  `json:"accepted_keys"`   // by the baseline
	Fingerprint string `json:"fingerprint"`
}

// Group returns the pattern of the keys that grew, "" if the finding is about one group.
func (g Growth) Group() string {
	if len(g.Parts) != 1 {
		return ""
	}
	return g.Parts[0].Name
}

// MarshalJSON implements json.Marshaler.
func (g Growth) MarshalJSON() ([]byte, error) {
	print := Fingerprint(g.Finding)
	if g.Group() != "" {
		print = g.Parts[0].fingerprint(g.Finding)
	}
	return json.Marshal(jsonGrowth{g.Code, g.Entry, g.Message, g.Group(), g.Count, g.Accepted, print})
}

// JSONShape returns the struct whose fields the JSON form has, for a schema.
func (Growth) JSONShape() any { return jsonGrowth{} }

// Violations returns how many keys the accepted findings have, in sum: a key may have several.
func (s Settled) Violations() (n int64) {
	for _, f := range s.Known {
		n += f.Count
	}
	return n
}

// Apply holds findings against the baseline. looked tells of an accepted finding that is not among
// findings whether it was looked for.
func (b Baseline) Apply(findings []Finding, looked func(BaselineEntry) bool) Settled {
	var s Settled
	left, keys := map[string]int{}, map[string]int64{}
	for _, e := range b.Findings {
		left[e.Fingerprint] += e.Times
		keys[e.Fingerprint] = e.Keys
	}
	groups := b.groups()
	for _, f := range findings {
		print := Fingerprint(f)
		accepted := left[print] > 0
		if len(f.Parts) > 0 && !accepted {
			s.matchGroups(f, groups, left)
			continue
		}
		if len(f.Parts) > 0 {
			s.Old++
		}
		left[print]--
		switch {
		case !accepted:
			s.Fresh = append(s.Fresh, f)
		case f.Count > keys[print]:
			s.Fresh = append(s.Fresh, f)
			s.Grown = append(s.Grown, Growth{f, keys[print]})
		default:
			s.Known = append(s.Known, f)
		}
	}
	for _, e := range b.Findings {
		switch {
		case left[e.Fingerprint] <= 0:
		case looked(e):
			s.Gone = append(s.Gone, e)
		default:
			s.Unseen = append(s.Unseen, e)
		}
	}
	return s
}
