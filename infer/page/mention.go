package page

import (
	"strings"

	"github.com/keywright/keywright/infer/page/internal/shape"
)

// place describes where a candidate stood, which says how sure it is a key.
type place int

const (
	inProse   place = iota // inline code, a string of code: must look like a key
	inListing              // a line of its own in a code block
	inCommand              // argument of a Redis command or client call, or assigned to a key
	inColumn               // in the key column of a table
)

// maybe is in prose that tells a type or a TTL: a key if others begin like it.
const maybe place = -1

// candidate represents one mention of what may be a key.
type candidate struct {
	shape.Shape
	place
	line    int
	typ     string
	ttl     string
	doc     string
	section string
	hint    string // the type that the heading above tells
	prefix  bool   // it is what keys begin with, and nothing says how they go on
	maxlen  string // of a stream: how many entries it has at most
	shows   bool   // it is an example of a key
	weak    bool   // another sentence tells the TTL
	quoted  bool   // it is an example within a sentence
}

// add notes what may be a key where it is one by its looks; else it is passed over.
func (c *list) add(raw string, at candidate) {
	if len(c.found) >= maxCandidates && c.cut == 0 {
		c.cut = at.line
	}
	if c.cut > 0 {
		return
	}
	s, ok := shape.Parse(raw)
	if !ok {
		return
	}
	at.Shape = s
	if at.shows = at.shows || at.quoted || c.showing; s.Holes() > 0 && !s.Concrete() {
		at.shows, at.quoted = false, false // an example of a pattern is one
	}
	if why := at.implausible(); why != "" {
		if s.Colons() > 0 && s.HasWord() && why != short {
			c.pass(at.line, raw, why)
		}
		return
	}
	c.found = append(c.found, at)
}

// short says why a single word, or two, in prose are no key.
const short = "too little to be a key"

// implausible says why a shape is not taken for a key where it stands, "" if it
// is.
func (c *candidate) implausible() string {
	s := &c.Shape
	switch {
	case s.Meta(), c.place < inColumn && len(s.Parts) > 1 && s.GenericHoles() == len(s.Parts)-1:
		return "it is a naming scheme"
	case s.IsPort() && c.place != inCommand:
		return "it is a host and a port"
	case s.NotAKey():
		return "it is an address, a version or a file"
	case isOption[s.Raw], s.Sep == "" && isSyntax[strings.ToLower(strings.Trim(s.Raw, "<>{}[]"))]:
		return short
	}
	switch c.place {
	case inColumn:
		if !s.HasWord() {
			return short
		}
		return ""
	case inCommand:
		if !s.HasWord() {
			return short
		} else if s.Glob {
			return "it is a glob"
		}
		return ""
	case inListing:
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
	case c.place == maybe && s.Colons() > 0 && s.Rooted():
		return ""
	case s.Colons() > 0 && s.Rooted() && (s.Holes() > 0 || s.Colons() > 1):
		return ""
	}
	return short
}

// list holds the mentions of a page, and what was passed over.
type list struct {
	found   []candidate
	passed  []passedOver
	showing bool // what is read is an example
	cut     int  // the line from which on nothing is read; 0: none
}

// passedOver describes what looks like a key and was not taken for one.
type passedOver struct {
	line int
	text string
	why  string
}

// Bounds of what is kept of a page. No page that people read comes near.
const (
	maxCandidates = 10_000
	maxPassed     = 200
)

// isOption: words of commands.
var isOption = shape.Set("NX XX EX PX GET SET KEEPTTL EXAT PXAT GT LT INCR ZADD XADD PUBLISH SUBSCRIBE STREAMS MAXLEN")

// told describes what is said of a key that is not known yet.
type told struct {
	typ, ttl string
	line     int
}

// isSyntax: words for keys in the syntax of commands.
var isSyntax = shape.Set("key mykey my_key key_name keyname key1 key2 your_key yourkey some_key k foo bar name source " +
	"destination numkeys field value clave chave clé schlüssel ключ キー 键 키")

// pass remembers what is not taken for a key.
func (c *list) pass(line int, text, why string) {
	if scheme, _, isURL := strings.Cut(text, "://"); isURL { // what follows may be a password
		text = scheme + "://…"
	}
	if len(c.passed) < maxPassed {
		c.passed = append(c.passed, passedOver{line, strings.ToValidUTF8(strings.TrimSpace(text[:min(len(text), 120)]), ""), why})
	}
}
