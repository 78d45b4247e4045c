// Package mention gathers what may be a key on a page, each with its line and what is said of it, and notes what was
// passed over and why. It judges a mention by its looks and its place alone; what two mentions make together, package
// page knows.
package mention

import (
	"strings"

	"github.com/keywright/keywright/infer/page/internal/shape"
)

// Place describes where a candidate stood, which says how sure it is a key.
type Place int

const (
	InProse   Place = iota // inline code, a string of code: must look like a key
	InListing              // a line of its own in a code block
	InCommand              // argument of a Redis command or client call, or assigned to a key
	InColumn               // in the key column of a table
)

// Maybe is in prose that tells a type or a TTL: a key if others begin like it.
const Maybe Place = -1

// Mention represents one mention of what may be a key.
type Mention struct {
	shape.Shape
	Place
	Line    int
	Type    string
	TTL     string
	Doc     string
	Section string
	Hint    string // the type that the heading above tells
	Prefix  bool   // it is what keys begin with, and nothing says how they go on
	MaxLen  string // of a stream: how many entries it has at most
	Shows   bool   // it is an example of a key
	Weak    bool   // another sentence tells the TTL
	Quoted  bool   // it is an example within a sentence
}

// Add notes what may be a key where it is one by its looks; else it is passed over.
func (c *List) Add(raw string, at Mention) {
	if len(c.Found) >= MaxCandidates && c.Cut == 0 {
		c.Cut = at.Line
	}
	if c.Cut > 0 {
		return
	}
	s, ok := shape.Parse(raw)
	if !ok {
		return
	}
	at.Shape = s
	if at.Shows = at.Shows || at.Quoted || c.Showing; s.Holes() > 0 && !s.Concrete() {
		at.Shows, at.Quoted = false, false // an example of a pattern is one
	}
	if why := at.implausible(); why != "" {
		if s.Colons() > 0 && s.HasWord() && why != short {
			c.Pass(at.Line, raw, why)
		}
		return
	}
	c.Found = append(c.Found, at)
}

// short says why a single word, or two, in prose are no key.
const short = "too little to be a key"

// implausible says why a shape is not taken for a key at its place, "" if it
// is.
func (c *Mention) implausible() string {
	s := &c.Shape
	switch {
	case s.Meta(), c.Place < InColumn && len(s.Parts) > 1 && s.GenericHoles() == len(s.Parts)-1:
		return "it is a naming scheme"
	case s.IsPort() && c.Place != InCommand:
		return "it is a host and a port"
	case s.NotAKey():
		return "it is an address, a version or a file"
	case isOption[s.Raw], s.Sep == "" && IsSyntax[strings.ToLower(strings.Trim(s.Raw, "<>{}[]"))]:
		return short
	}
	switch c.Place {
	case InColumn:
		if !s.HasName() {
			return short
		}
		return ""
	case InCommand:
		if !s.HasWord() {
			return short
		} else if s.Glob {
			return "it is a glob"
		}
		return ""
	case InListing:
		if s.Glob && !s.EndsInGlob() {
			return "it is a glob"
		} else if s.Colons() == 0 || !s.Rooted() && !(s.Holes() > 0 && s.Lettered()) && !s.Prefixed() {
			return short
		}
		return ""
	}
	switch {
	case s.Glob:
		return "it is a glob"
	case c.Place == Maybe && s.Colons() > 0 && s.Rooted():
		return ""
	case s.Colons() > 0 && s.Rooted() && (s.Holes() > 0 || s.Colons() > 1):
		return ""
	}
	return short
}

// List holds the mentions of a page, and what was passed over.
type List struct {
	Found   []Mention
	Passed  []passedOver
	Showing bool // what is read is an example
	Cut     int  // the line from which on nothing is read; 0: none
}

// passedOver describes what looks like a key and was not taken for one.
type passedOver struct {
	Line int
	Text string
	Why  string
}

// Bounds of what is kept of a page. No page that people read comes near.
const (
	MaxCandidates = 10_000
	MaxPassed     = 200
)

// isOption: words of commands.
var isOption = shape.Set("NX XX EX PX GET SET KEEPTTL EXAT PXAT GT LT INCR ZADD XADD PUBLISH SUBSCRIBE STREAMS MAXLEN")

// Statement describes what is said of a key that is not known yet.
type Statement struct {
	Type, TTL string
	Line      int
}

// IsSyntax lists words for keys in the syntax of commands.
var IsSyntax = shape.Set("key mykey my_key key_name keyname key1 key2 your_key yourkey some_key k foo bar name " +
	"source destination numkeys field value clave chave clé schlüssel ключ キー 键 키")

// Pass remembers what is not taken for a key.
func (c *List) Pass(line int, text, why string) {
	if scheme, _, isURL := strings.Cut(text, "://"); isURL { // what follows may be a password
		text = scheme + "://…"
	}
	if len(c.Passed) < MaxPassed {
		c.Passed = append(c.Passed, passedOver{line, strings.ToValidUTF8(strings.TrimSpace(text[:min(len(text), 120)]),
			""), why})
	}
}
