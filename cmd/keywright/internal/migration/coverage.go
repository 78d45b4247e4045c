package migration

import (
	"slices"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/record"
)

// coverageReport describes what of the sources of a part the moves of all parts read; its JSON names are stable.
type coverageReport struct {
	Covered bool             `json:"covered"` // a move reads all that is there, or it is ignored
	Sources []sourceCoverage `json:"sources"`
	Unmet   []string         `json:"unmet,omitempty"` // moves whose path met nothing, in sources that have something
}

// sourceCoverage represents one source.
type sourceCoverage struct {
	Source    string         `json:"source"`
	Bytes     int64          `json:"bytes"`
	Unread    amountReport   `json:"unread"`           // no move reads it
	Places    []unreadReport `json:"places,omitempty"` // of it, by path; at most 100
	Misshapen int64          `json:"misshapen"`        // values of another shape than a path has there
	Shapes    []shapeReport  `json:"shapes,omitempty"` // of them; at most 100
	Ignored   amountReport   `json:"ignored"`          // as the declaration says
	Excepted  amountReport   `json:"excepted"`         // by except
}

// amountReport counts values.
type amountReport struct {
	Values int64 `json:"values"`
	Bytes  int64 `json:"bytes"`
}

// unreadReport represents what no move reads of one path.
type unreadReport struct {
	Path   string `json:"path"`
	Values int64  `json:"values"`
	Bytes  int64  `json:"bytes"`
	File   string `json:"file"` // of the first
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// shapeReport represents values of another shape than a path has there.
type shapeReport struct {
	Path   string `json:"path"`
	Want   string `json:"want"`
	Has    string `json:"has"`
	Values int64  `json:"values"`
	File   string `json:"file"` // of the first
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

func coverageOf(c *migrate.Coverage) *coverageReport {
	out := &coverageReport{Covered: c.Covered(), Sources: []sourceCoverage{}, Unmet: c.Unmet}
	amount := func(a record.Amount) amountReport { return amountReport{a.Values, a.Bytes} }
	for _, name := range c.Names() {
		s := c.Sources[name]
		x := sourceCoverage{Source: name, Bytes: s.Bytes, Unread: amount(s.Unread), Misshapen: s.Misshapen,
			Ignored: amount(s.Ignored), Excepted: amount(s.Excepted)}
		for _, u := range s.Places {
			x.Places = append(x.Places, unreadReport{u.Path, u.Values, u.Bytes, u.At.File, u.At.Line, u.At.Column})
		}
		for _, m := range s.Shapes {
			x.Shapes = append(x.Shapes, shapeReport{m.Path, m.Want, m.Has, m.Values, m.At.File, m.At.Line, m.At.Column})
		}
		out.Sources = append(out.Sources, x)
	}
	return out
}

// covered represents what was printed about the coverage of parts: what several of them have in common is printed once.
type covered struct {
	said      map[string]bool
	unread    amountReport
	misshapen int64
}

// lines returns what is to be said of a part's coverage, and was not said yet.
func (c *covered) lines(r *coverageReport) (out []string) {
	if r == nil {
		return nil
	}
	if c.said == nil {
		c.said = map[string]bool{}
	}
	for _, s := range r.Sources {
		if c.said[s.Source] { // the moves of all parts count for it
			continue
		}
		c.said[s.Source] = true
		c.unread.Values, c.unread.Bytes = c.unread.Values+s.Unread.Values, c.unread.Bytes+s.Unread.Bytes
		c.misshapen += s.Misshapen
		out = append(out, s.lines()...)
	}
	for _, move := range r.Unmet {
		out = append(out, move+": no file has anything on its path")
	}
	return out
}

func (s *sourceCoverage) lines() (out []string) {
	for _, x := range s.Shapes {
		out = append(out, placeIn(x.File, x.Line, x.Column)+": "+s.Source+":"+x.Path+" has "+x.Has+
			", and a path of a move goes on as in "+x.Want+": "+terminal.Plural(x.Values, "value"))
	}
	listed := int64(0)
	for _, u := range s.Places {
		listed += u.Values
		out = append(out, placeIn(u.File, u.Line, u.Column)+": no move reads "+s.Source+":"+u.Path+": "+
			terminal.Plural(u.Values, "value")+", "+terminal.Bytes(u.Bytes))
	}
	if more := s.Unread.Values - listed; more > 0 {
		out = append(out, s.Source+": no move reads "+terminal.Plural(more, "more value")+" of other paths")
	}
	if s.Ignored.Values > 0 {
		out = append(out, s.Source+": ignored, as declared: "+terminal.Plural(s.Ignored.Values, "value")+", "+
			terminal.Bytes(s.Ignored.Bytes))
	}
	if s.Excepted.Values > 0 {
		out = append(out, s.Source+": left out by except: "+terminal.Plural(s.Excepted.Values, "value")+", "+
			terminal.Bytes(s.Excepted.Bytes))
	}
	return out
}

// printCoverage says what no move reads.
func (r *migrationRun) printCoverage(c *covered, report *coverageReport) {
	for _, line := range c.lines(report) {
		r.Print("%s", finding.Printable(line))
	}
}

// sentence sums up what no move reads, "" where there is nothing.
func (c *covered) sentence() string {
	var out []string
	if c.unread.Values > 0 {
		out = append(out, "No move reads "+terminal.Plural(c.unread.Values, "value")+" ("+terminal.Bytes(c.unread.Bytes)+
			"): add a move, or ignore: with the reason.")
	}
	if c.misshapen > 0 {
		out = append(out, "Of another shape than a path has: "+terminal.Plural(c.misshapen, "value")+".")
	}
	return strings.Join(out, " ")
}

// noFiles represents a source of which there is no file.
type noFiles struct {
	Source string `json:"source"`
	File   string `json:"file"` // as it is declared
}

// noFilesOf returns the sources of a part, of many files, of which none was read.
func noFilesOf(part *keyspace.Part, read *migrate.Coverage) (out []noFiles) {
	for _, mv := range part.Moves {
		s := noFiles{mv.Source.Name, mv.Source.File.String()}
		if len(mv.Source.File.Captures()) > 0 && read.Sources[s.Source] == nil && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func (r *migrationRun) printNoFiles(all []noFiles) {
	for _, s := range all {
		r.Print("%s: no file is %s: --root may be another folder", s.Source, finding.Printable(s.File))
	}
}
