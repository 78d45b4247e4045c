// Package files drafts a migration from JSON files: sources and patterns of their names, the
// parts, and of each place of the documents the entry that it goes to, its key, type and TTL.
// Without a declaration it drafts the entries, too; with one it looks for the entries whose
// types, placeholders and words fit.
//
// It is pure: it opens what it is given. Memory is bounded whatever the files hold: a fixed
// number of places, and of the texts of each a few. The same files give the same draft.
//
// API: may change until 1.0.
package files

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
)

// File represents a file below the folder of the sources.
type File struct {
	Name string // slash-separated
	Open func() (io.ReadCloser, error)
}

// MaxFiles bounds the files of a draft.
const MaxFiles = 100_000

// Options say what to draft for.
type Options struct {
	Migration string             // its name; "": json_files
	Package   string             // of a declaration that is drafted; "": appkeys
	Known     *keyspace.Keyspace // whose entries are moved to; nil: they are drafted
	Original  []byte             // the text of Known
	// Load loads a text in the place of the declaration, as a file that is called File.
	Load func(text []byte) (*keyspace.Keyspace, []finding.Finding)
	File string
}

// Draft represents a drafted migration.
type Draft struct {
	Options
	Files   int
	Entries []*entry // that are drafted
	Moves   []*move
	Left    []string // what is not moved, and why

	sources []*source
	vars    map[string]string
	ignored []string // places that no move reads
}

// entry represents a drafted entry.
type entry struct {
	name, key, kind, ttl string
	props                []prop
	fields               []prop
	note                 string
}

type prop struct{ name, value string }

// move represents a drafted move.
type move struct {
	place   *place
	from    string
	to      string
	kind    keyspace.RecordKind
	whole   bool // it takes all of what is there
	props   []prop
	maps    []mapped // with, kept, ttl, fields
	ignored string   // a rule, and why
	part    string
	first   int // the first line of it in the text

	// to a declared entry, until it is spelled
	names   map[*capture]string // of the placeholders of its key
	with    []prop              // placeholders that are members
	by      string              // how subject is used: field or member
	subject *capture
	scores  []string // terms, the best first
	keeps   []*capture
	kept    []string // the members that say what keeps were
}

type mapped struct {
	name  string
	props []prop
}

// Build reads the files and drafts.
func Build(ctx context.Context, files []File, o Options) (*Draft, error) {
	o.Migration, o.Package = cmp.Or(o.Migration, "json_files"), cmp.Or(o.Package, "appkeys")
	d := &Draft{Options: o, Files: len(files), vars: map[string]string{}}
	d.group(files)
	r := &reader{ctx: ctx}
	for _, s := range d.sources {
		for _, f := range s.files {
			if err := r.read(f, s.lines, s.node); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
		}
		if r.nodes > maxNodes {
			d.leave(s.pattern, "the files have more places than a draft remembers; some are not in it")
		}
	}
	if o.Known != nil {
		d.match()
	} else {
		d.invent()
	}
	d.divide()
	d.dropInvalid()
	return d, d.cover(ctx)
}

func (d *Draft) leave(what, why string) {
	const most = 200
	switch {
	case len(d.Left) < most:
		d.Left = append(d.Left, what+": "+why)
	case len(d.Left) == most:
		d.Left = append(d.Left, "and more that is not listed")
	}
}

// source is files of one name.
type source struct {
	name, pattern string
	words         []string
	captures      []*capture
	lines         bool
	files         []File
	node          *node
}

// group makes sources of files: those of one folder whose names are ids, or of which a folder has
// many, are one source.
func (d *Draft) group(files []File) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	folders := map[string]int{} // files in it, by folder and extension
	for _, f := range files {
		folders[path.Dir(f.Name)+"\x00"+path.Ext(f.Name)]++
	}
	by := map[string]*source{}
	for _, f := range files {
		dir, ext := path.Dir(f.Name), path.Ext(f.Name)
		stem := strings.TrimSuffix(path.Base(f.Name), ext)
		many := folders[dir+"\x00"+ext]
		pattern, name := f.Name, stem
		captured := many > 1 && (!isWord(stem) || dir != "." && many > 2) && !strings.ContainsAny(dir, "{}")
		if captured {
			name = dir
			if dir == "." {
				name = "file"
			}
			pattern = path.Join(dir, "{"+d.fileCapture(name)+"}"+ext)
		}
		if strings.ContainsAny(strings.ReplaceAll(pattern, "{"+d.fileCapture(name)+"}", ""), "{}\\") {
			d.leave(f.Name, "a file of this name cannot be declared")
			continue
		}
		s := by[pattern]
		if s == nil {
			s = &source{pattern: pattern, lines: ext == ".jsonl" || ext == ".ndjson", node: &node{}}
			s.name = free(plainName(name), func(n string) bool {
				return slices.ContainsFunc(d.sources, func(o *source) bool { return o.name == n })
			})
			s.words = wordsOf(name)
			if captured {
				s.captures = []*capture{{name: d.fileCapture(name), texts: &words{}}}
			}
			by[pattern], d.sources = s, append(d.sources, s)
		}
		if captured {
			s.captures[0].texts.add(stem)
		}
		s.files = append(s.files, f)
	}
}

// fileCapture returns what the name of a file is called: after its folder.
func (d *Draft) fileCapture(folder string) string {
	w := wordsOf(path.Base(folder))
	if len(w) == 0 {
		return "file_name"
	}
	return plainName(strings.Join(w, "_")) + "_id"
}

// divide gives each move its part: by the first word of its key with a declaration, by its
// source without one. Records of one place are in one part.
func (d *Draft) divide() {
	part := map[string]string{} // of a source and path
	for _, mv := range d.Moves {
		name := mv.place.source.name
		if d.Known != nil {
			name = mv.part
		}
		at := mv.place.from()
		if part[at] != "" {
			name = part[at]
		}
		part[at] = name
		mv.part = name
	}
	order := map[string]int{}
	for i, mv := range d.Moves {
		if _, there := order[mv.part]; !there {
			order[mv.part] = i
		}
	}
	slices.SortStableFunc(d.Moves, func(a, b *move) int { return cmp.Compare(order[a.part], order[b.part]) })
}
