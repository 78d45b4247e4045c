package record

import (
	"errors"
	"fmt"
	"io"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/migrate/record/cover"
	"github.com/keywright/keywright/migrate/record/internal/jsontext"
	"github.com/keywright/keywright/migrate/record/internal/scan"
	"github.com/keywright/keywright/migrate/record/internal/twice"
)

// frame represents one open object or array.
type frame struct {
	object bool
	nodes  []*node // the prefixes of paths that lead here; none where no path goes
	name   string  // of the member under way, where a path goes on or an edit is made
	place  int64   // of the element under way
	edits  level   // of a rewrite
}

// walker reads a document and calls each for every match.
type walker struct {
	*scan.Scanner
	opt    Options
	source *Source
	file   Captures
	names  *twice.Names
	frames []frame
	spare  [][]*node // slices of nodes by depth, used again
	each   func(*Match) error
	found  Match        // each is given it
	edit   *editor      // of a rewrite
	cover  *cover.Cover // what is read; nil: it is not asked for
	stats  Stats
}

// Read calls each for every match of a document, in the order in which they end.
// An error of each ends it and is returned as it is. A document that is found
// bad further on has had its first matches called: read it once with a function
// that does nothing to know.
func (s *Source) Read(in io.Reader, file string, opt Options, each func(*Match) error) (Stats, error) {
	w, err := s.newWalker(in, file, opt)
	if err != nil {
		return Stats{}, err
	}
	if w.each = each; opt.Coverage != nil {
		w.cover = cover.New(opt.Coverage, s.covers, w.file)
		defer func() { opt.Coverage.Ended(w.Offset()) }()
	}
	return w.run()
}

// Check reads a document, or a document in each line, as a migration does, and takes nothing
// of it. The error is an *Error with the place.
func Check(in io.Reader, file string, lines bool, opt Options) (Stats, error) {
	s := &Source{Source: &keyspace.Source{Format: keyspace.JSONDocument}, root: &node{}}
	if lines {
		s.Format = keyspace.JSONLines
	}
	s.File.Parts = []route.FilePart{{Literal: file}}
	return s.Read(in, file, opt, func(*Match) error { return nil })
}

func (s *Source) newWalker(in io.Reader, file string, opt Options) (*walker, error) {
	captures, ok := s.Match(file)
	if !ok {
		return nil, &Error{At: Position{File: file, Line: 1, Column: 1},
			Message: fmt.Sprintf("this is no file of the source %s, which has %s", s.Name, s.File), Err: errOtherFile}
	}
	opt = opt.filled()
	w := &walker{Scanner: scan.New(in, file, opt.MaxRecord), opt: opt, source: s, file: captures,
		names: twice.New(opt.MaxNames, opt.Spill)}
	w.Lines = s.Format == keyspace.JSONLines
	return w, nil
}

var errOtherFile = errors.New("a file of another source")

func (w *walker) run() (Stats, error) {
	defer w.names.Close()
	err := w.document()
	w.stats.Bytes, w.stats.Lines = w.Offset(), int64(w.Line)
	if w.Offset() == w.LineStart {
		w.stats.Lines--
	}
	if w.stats.Bytes == 0 {
		w.stats.Lines = 0
	}
	return w.stats, err
}

// document reads the one value of a document, or the value of each line.
func (w *walker) document() error {
	root := []*node{w.source.root}
	if w.Lines {
		return w.eachLine(root)
	}
	if c, err := w.Peek(); err != nil {
		return err
	} else if c == 0 && w.Pos == len(w.Buf) {
		return w.Unexpected("a value")
	}
	if err := w.value(root); err != nil {
		return err
	}
	if _, err := w.Peek(); err != nil {
		return err
	}
	if w.Pos < len(w.Buf) {
		return w.Unexpected("the end of the document")
	}
	return nil
}

// eachLine reads a file of lines as an array of them.
func (w *walker) eachLine(root []*node) error {
	w.frames = append(w.frames, frame{place: -1, nodes: root})
	if w.cover != nil { // an array of the lines
		w.cover.Begin('[', w.Here())
		defer func() { w.cover.End(w.Offset()) }()
	}
	if w.edit != nil {
		w.edit.open(w)
	}
	for {
		if _, err := w.Peek(); err != nil {
			return err
		}
		if w.Pos == len(w.Buf) {
			break
		}
		if err := w.element(); err != nil {
			return err
		}
		if w.edit != nil {
			if err := w.edit.ended(w); err != nil {
				return err
			}
		}
		if err := w.lineEnd(); err != nil {
			return err
		}
	}
	if w.edit != nil {
		return w.edit.close(w)
	}
	return nil
}

// lineEnd reads up to the end of a line.
func (w *walker) lineEnd() error {
	for {
		more, err := w.Ensure(1)
		if err != nil || !more {
			return err
		}
		switch w.Buf[w.Pos] {
		case '\n':
			return nil // space counts it
		case ' ', '\t', '\r':
			w.Pos++
		default:
			return w.Unexpected("the end of the line")
		}
	}
}

// value reads one value; nodes are the prefixes of paths that lead to it.
func (w *walker) value(nodes []*node) error {
	c, err := w.Peek()
	if err != nil {
		return err
	}
	at, mine, outermost := Position{}, false, w.Hold < 0
	held := false
	for _, n := range nodes {
		mine = mine || len(n.moves) > 0
		held = held || n.held
	}
	if mine {
		at = w.Here()
	}
	if outermost = outermost && held; outermost {
		w.Hold = at.Offset
	}
	if w.cover != nil {
		w.cover.Begin(c, w.Here())
	}
	switch {
	case c == '{':
		err = w.object(nodes)
	case c == '[':
		err = w.array(nodes)
	case c == '"':
		_, err = w.Text()
	case c == '-' || c >= '0' && c <= '9':
		err = w.Number()
	case c == 't':
		err = w.Keyword("true")
	case c == 'f':
		err = w.Keyword("false")
	case c == 'n':
		err = w.Keyword("null")
	default:
		err = w.Unexpected("a value")
	}
	if w.cover != nil && err == nil {
		w.cover.End(w.Offset())
	}
	if err != nil || !mine {
		return err
	}
	if err = w.matched(nodes, at); outermost && w.edit == nil {
		w.Hold = -1
	}
	return err
}

// nest opens an object or array.
func (w *walker) nest(object bool, nodes []*node) error {
	if w.Depth++; w.Depth > w.opt.MaxDepth {
		return w.Fault(ErrDepth, "nested deeper than %d", w.opt.MaxDepth)
	}
	w.Pos++
	w.frames = append(w.frames, frame{object: object, nodes: nodes, place: -1})
	if w.edit != nil {
		w.edit.open(w)
	}
	return nil
}

// unnest closes the innermost object or array; its bracket is the next byte.
func (w *walker) unnest() error {
	if w.edit != nil {
		if err := w.edit.close(w); err != nil {
			return err
		}
	}
	w.Pos++
	w.Depth--
	w.frames = w.frames[:len(w.frames)-1]
	return nil
}

func (w *walker) object(nodes []*node) error {
	if err := w.nest(true, nodes); err != nil {
		return err
	}
	w.names.Push()
	for first := true; ; first = false {
		done, err := w.separator('}', first)
		if err != nil {
			return err
		}
		if done {
			break
		}
		if err := w.member(); err != nil {
			return err
		}
	}
	if err := w.names.Pop(); err != nil {
		return w.nameError(err)
	}
	return w.unnest()
}

// separator reads what is between two members or elements, or before the closing
// bracket, which it leaves.
func (w *walker) separator(closing byte, first bool) (done bool, err error) {
	if w.edit != nil {
		if err := w.edit.ended(w); err != nil {
			return false, err
		}
	}
	c, err := w.Peek()
	switch {
	case err != nil:
		return false, err
	case c == closing:
		return true, nil
	case first:
		return false, nil
	case c != ',':
		return false, w.Unexpected("a comma or '" + string(closing) + "'")
	}
	w.Pos++
	if w.edit != nil {
		w.edit.comma(w)
	}
	if c, err = w.Peek(); err == nil && c == closing {
		err = w.Fault(ErrSyntax, "a comma after the last value")
	}
	return false, err
}

func (w *walker) nameError(err error) error {
	var twice *twice.Error
	if errors.As(err, &twice) {
		at := w.Here()
		at.Line, at.Column, at.Offset = int(twice.Line), int(twice.Column), -1
		return &Error{At: at, Path: w.pointer(), Message: "a member of this name is already in its object", Err: ErrDuplicate}
	}
	if errors.Is(err, ErrNames) {
		return w.Fault(ErrNames,
			"open objects have more than %d members, and there is no room to tell whether one is there twice", w.opt.MaxNames)
	}
	return w.Fault(err, "%v", err)
}

// member reads a name, a colon and a value.
func (w *walker) member() error {
	f := &w.frames[len(w.frames)-1]
	if w.Pos == len(w.Buf) || w.Buf[w.Pos] != '"' {
		return w.Unexpected("the name of a member in double quotes")
	}
	at, mine := w.Here(), w.Hold < 0
	if mine {
		w.Hold = at.Offset
	}
	escaped, err := w.Text()
	if err != nil {
		return err
	}
	raw := w.Bytes(at.Offset)
	if len(raw) > w.opt.MaxName {
		return &Error{At: at, Message: fmt.Sprintf("the name of a member has more than %d bytes", w.opt.MaxName),
			Err: ErrTooLarge}
	}
	name := raw[1 : len(raw)-1]
	if escaped {
		name = jsontext.Unquote(raw)
	}
	if fresh, err := w.names.Add(name, at.Line, at.Column); err != nil {
		return w.nameError(err)
	} else if !fresh {
		return &Error{At: at, Path: w.pointer(), Message: "a member of this name is already in its object", Err: ErrDuplicate}
	}
	var next []*node
	if f.name = ""; len(f.nodes) > 0 {
		next = w.after(f, func(s route.Step) bool {
			return s.Kind == route.Capture || s.Kind == route.Member && s.Name == string(name)
		})
		if len(next) > 0 || w.edit != nil {
			f.name = string(name)
		}
	}
	if w.cover != nil {
		w.cover.Step(string(name), true, at.Offset)
	}
	if mine {
		w.Hold = -1
	}
	if c, err := w.Peek(); err != nil {
		return err
	} else if c != ':' {
		return w.Unexpected("a colon")
	}
	w.Pos++
	if w.edit != nil {
		if err := w.edit.begin(w, at.Offset, next); err != nil {
			return err
		}
	}
	return w.value(next)
}

// after returns the nodes after those of a frame by the step to the value under way.
func (w *walker) after(f *frame, takes func(route.Step) bool) []*node {
	depth := len(w.frames)
	for len(w.spare) <= depth {
		w.spare = append(w.spare, nil)
	}
	next := w.spare[depth][:0]
	for _, n := range f.nodes {
		for _, c := range n.children {
			if takes(c.step) {
				next = append(next, c)
			}
		}
	}
	w.spare[depth] = next
	return next
}

func (w *walker) array(nodes []*node) error {
	if err := w.nest(false, nodes); err != nil {
		return err
	}
	for first := true; ; first = false {
		done, err := w.separator(']', first)
		if err != nil {
			return err
		}
		if done {
			return w.unnest()
		}
		if err := w.element(); err != nil {
			return err
		}
	}
}

// element reads one element of an array, or one line.
func (w *walker) element() error {
	f := &w.frames[len(w.frames)-1]
	f.place++
	var next []*node
	if len(f.nodes) > 0 {
		next = w.after(f, func(s route.Step) bool { return s.Kind == route.Element || s.Kind == route.Place })
	}
	if w.cover != nil {
		w.cover.Step("", false, w.Offset())
	}
	if w.edit != nil {
		if err := w.edit.begin(w, w.Offset(), next); err != nil {
			return err
		}
	}
	return w.value(next)
}
