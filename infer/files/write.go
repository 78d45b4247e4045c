package files

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/lint"
)

func decimal(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

type writer struct {
	strings.Builder
	lines int
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(w, format+"\n", args...)
	w.lines++
}

// quoteYAML returns a text as YAML has it between quotes: JSON, and no command for a CI system.
func quoteYAML(s string) string {
	text, _ := json.Marshal(finding.Printable(s)) // a text can always be written
	return strings.ReplaceAll(string(text), "##", `#\u0023`)
}

// YAML returns the declaration that is drafted; with Known, that one with the migration at its end.
func (d *Draft) YAML() []byte {
	w := &writer{}
	if d.Known != nil {
		text := strings.TrimRight(string(d.Original), "\n")
		w.line("%s", text)
		w.lines = strings.Count(text, "\n") + 1
	} else {
		d.head(w)
	}
	d.migration(w)
	if len(d.Left) > 0 {
		w.line("")
		w.line("# Not moved:")
		for _, l := range d.Left {
			w.line("#   %s", finding.Printable(l))
		}
	}
	return []byte(w.String())
}

func (d *Draft) head(w *writer) {
	w.line("# A draft, drawn from %d JSON files: what is there, not what should be.", d.Files)
	w.line("# Read every line; then keywright lint and keywright migrate plan.")
	w.line("keywright: 1")
	w.line("package: %s", d.Package)
	w.line("owner: app                           # who writes these keys")
	if len(d.vars) > 0 {
		w.line("")
		w.line("vars:")
		for _, name := range slices.Sorted(maps.Keys(d.vars)) {
			w.line("  %s: %s", name, quoteYAML(d.vars[name]))
		}
	}
	w.line("")
	if len(d.Entries) == 0 {
		w.line("keys: {}")
		return
	}
	w.line("keys:")
	for i, e := range d.Entries {
		if i > 0 {
			w.line("")
		}
		if e.note != "" {
			w.line("  # guess: %s", e.note)
		}
		w.line("  %s:", e.name)
		w.line("    key: %s", quoteYAML(e.key))
		w.line("    type: %s", e.kind)
		for _, p := range e.props {
			w.line("    %s: %s", p.name, quoteYAML(p.value))
		}
		if len(e.fields) > 0 {
			w.line("    fields:")
			for _, p := range e.fields {
				w.line("      %s: %s", quoteYAML(p.name), quoteYAML(p.value))
			}
		}
		w.line("    ttl: %s", e.ttl)
	}
}

// migration writes the section.
func (d *Draft) migration(w *writer) {
	if len(d.Moves) == 0 {
		return
	}
	w.line("")
	w.line("# Drafted from %d JSON files. Which place goes to which entry is a guess: read every move.", d.Files)
	w.line("migrations:")
	w.line("  %s:", d.Migration)
	w.line("    sources:")
	for _, s := range d.sources {
		if !slices.ContainsFunc(d.Moves, func(mv *move) bool { return mv.place.source == s }) {
			continue
		}
		format := ""
		if s.lines {
			format = ", format: lines"
		}
		w.line("      %s: {file: %s%s}", s.name, quoteYAML(s.pattern), format)
	}
	w.line("    parts:")
	part := ""
	for _, mv := range d.Moves {
		if mv.part != part {
			part = mv.part
			w.line("      %s:", part)
			w.line("        moves:")
		}
		mv.first = w.lines + 1
		mv.write(w)
	}
	if len(d.ignored) > 0 {
		w.line("    # No move reads these: write a move for each, or why it may stay in the files.")
		w.line("    ignore:")
	}
	for _, from := range d.ignored {
		w.line("      - {from: %s, reason: drafted without a move}", quoteYAML(from))
	}
}

func (mv *move) write(w *writer) {
	if mv.ignored != "" {
		w.line("          # keywright:ignore %s", mv.ignored)
	}
	w.line("          - from: %s", quoteYAML(mv.from))
	w.line("            to: %s", mv.to)
	for _, p := range mv.props {
		w.line("            %s: %s", p.name, quoteYAML(p.value))
	}
	for _, m := range mv.maps {
		parts := make([]string, len(m.props))
		for i, p := range m.props {
			parts[i] = p.name + ": " + quoteYAML(p.value)
		}
		w.line("            %s: {%s}", m.name, strings.Join(parts, ", "))
	}
}

// dropInvalid leaves out what the language or lint does not take, and says so.
func (d *Draft) dropInvalid() {
	if d.Load == nil {
		return
	}
	for range len(d.Moves) + 1 {
		ks, findings := d.Load(d.YAML())
		if finding.Count(findings).Errors == 0 {
			findings = lint.Run(ks)
		}
		if !d.drop(findings) {
			return
		}
	}
}

// drop leaves out the moves that findings are about.
func (d *Draft) drop(findings []finding.Finding) bool {
	before := len(d.Moves)
	for _, f := range findings {
		if f.Severity == finding.Note || f.Code == "KW351" || f.Code == "KW355" || len(d.Moves) == 0 ||
			f.Pos.File != d.File { // what it imports is not of the draft
			continue
		}
		of := -1
		for i, mv := range d.Moves {
			if mv.first <= f.Pos.Line {
				of = i
			}
		}
		if of < 0 || d.Moves[of].to == "" {
			i := slices.IndexFunc(d.Entries, func(e *entry) bool { return e.name == f.Entry })
			if i >= 0 && f.Severity == finding.Error {
				d.leave(d.Entries[i].key, f.Message)
				name := d.Entries[i].name
				d.Entries = slices.Delete(d.Entries, i, i+1)
				d.Moves = slices.DeleteFunc(d.Moves, func(mv *move) bool { return mv.to == name })
				return true
			}
			continue
		}
		d.leave(d.Moves[of].from, f.Message)
		d.Moves[of].to = ""
	}
	var gone []string
	d.Moves = slices.DeleteFunc(d.Moves, func(mv *move) bool { return mv.to == "" })
	d.Entries = slices.DeleteFunc(d.Entries, func(e *entry) bool {
		left := !slices.ContainsFunc(d.Moves, func(mv *move) bool { return mv.to == e.name })
		if left {
			gone = append(gone, e.name)
		}
		return left
	})
	return len(d.Moves) < before || len(gone) > 0
}
