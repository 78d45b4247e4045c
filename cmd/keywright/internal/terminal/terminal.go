// Package terminal is how output looks on a screen: colour, width, tables,
// figures for people and a progress line. Results go to standard output,
// everything else to standard error; a file or pipe gets no colour, no progress
// bar and nothing shortened.
//
// It knows nothing of keyspaces, and machine-readable output does not pass
// through it.
package terminal

import (
	"io"

	"github.com/keywright/keywright/keyspace/finding"
	"golang.org/x/term"
)

// Screen represents a writer and what is known about its device. It keeps
// the first error of writing and writes nothing after it, so that printing can
// be checked once, at the end.
type Screen struct {
	w      io.Writer
	err    error
	inLine bool // the last text did not end its line
	Color  bool
	Width  int // in columns; 0: a file or a pipe, which is as wide as it needs to be
	TTY    bool
	Live   bool // a terminal that can draw over what it shows
}

// NewScreen looks at w. Its colour is automatic until SetColor says
// otherwise.
func NewScreen(w io.Writer, getenv func(string) string) *Screen {
	s := &Screen{w: w}
	if f, ok := w.(interface{ Fd() uintptr }); ok && term.IsTerminal(int(f.Fd())) {
		s.TTY, s.Live = true, getenv("TERM") != "dumb"
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			s.Width = width
		}
	}
	s.SetColor("auto", getenv)
	return s
}

// SetColor decides on colour: mode is auto, always or never; NO_COLOR,
// CLICOLOR_FORCE and TERM=dumb are respected (https://no-color.org/).
func (s *Screen) SetColor(mode string, getenv func(string) string) {
	force := getenv("CLICOLOR_FORCE")
	switch {
	case mode == "always":
		s.Color = true
	case mode == "never" || getenv("NO_COLOR") != "":
		s.Color = false
	default:
		s.Color = s.Live || force != "" && force != "0"
	}
}

// Write implements io.Writer for text that people read: whatever is quoted in it, it
// commands no terminal and no log of a CI system (finding.Harmless). It is given whole
// characters.
func (s *Screen) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, s.err
	}
	_, err := s.write(finding.Harmless(p, s.Color, s.inLine))
	s.inLine = p[len(p)-1] != '\n'
	return len(p), err
}

func (s *Screen) write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(p)
	s.err = err
	return n, err
}

// raw writes what is not changed.
type raw struct{ s *Screen }

func (r raw) Write(p []byte) (int, error) { return r.s.write(p) }

// Raw returns the screen for forms that have an escape of their own: JSON, CSV, YAML,
// annotations, and for what a program draws itself.
func (s *Screen) Raw() io.Writer { return raw{s} }

// Err returns the first error of writing.
func (s *Screen) Err() error { return s.err }

// Style describes how a piece of text is set off.
type Style string

// The styles; they mean the same everywhere.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Faint  Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Paint sets text in a style, where there is colour.
func (s *Screen) Paint(style Style, text string) string {
	if !s.Color || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}
