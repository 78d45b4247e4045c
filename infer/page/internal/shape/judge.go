package shape

import (
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/infer/page/internal/regex"
)

// Colons returns how many colons are between the segments.
func (s *Shape) Colons() int {
	if s.Sep != ":" {
		return 0
	}
	return len(s.Parts) - 1
}

// Holes returns how many placeholders and example values there are.
func (s *Shape) Holes() int {
	n := 0
	for _, p := range s.Parts {
		for _, x := range p {
			if x.hole {
				n++
			}
		}
	}
	return n
}

// Concrete reports whether there is nothing but values, no placeholder.
func (s *Shape) Concrete() bool {
	return s.Holes() > 0 && !slices.ContainsFunc(s.Parts, func(p part) bool {
		return slices.ContainsFunc(p, func(x piece) bool { return x.hole && !x.value })
	})
}

var wordForm = regex.Lazy(`[\p{L}]{2,}`)

// HasWord reports whether there is a word of two letters or more beside the holes.
func (s *Shape) HasWord() bool {
	return slices.ContainsFunc(s.Parts, func(p part) bool {
		return slices.ContainsFunc(p, func(x piece) bool { return !x.hole && wordForm.MatchString(x.lit) })
	})
}

var rootForm = regex.Lazy(`^\{?[\p{L}][\p{L}\p{N}_.@-]*$`)

// Root returns the first segment.
func (s *Shape) Root() string {
	if len(s.Parts) == 0 || len(s.Parts[0]) == 0 {
		return ""
	}
	return strings.TrimLeft(s.Parts[0][0].lit, "{")
}

// Rooted reports whether it begins with a word of two letters or more.
func (s *Shape) Rooted() bool {
	return len(s.Parts) > 0 && !s.Parts[0][0].hole && rootForm.MatchString(s.Parts[0][0].lit) &&
		len(strings.TrimLeft(s.Parts[0][0].lit, "{")) > 1
}

// Prefixed reports whether it begins with a placeholder for what all keys of an installation begin with.
func (s *Shape) Prefixed() bool {
	return len(s.Parts) > 1 && s.Parts[0].IsHole() && prefixName.MatchString(s.Parts[0][0].name) && s.HasWord()
}

var prefixName = regex.Lazy(`(?i)^(?:\w*_)?(?:key_?)?(?:prefix|namespace|ns)$`)

// Says reports whether one of the words is a segment, or in one.
func (s *Shape) Says(words map[string]bool) bool {
	for _, p := range s.Parts {
		for _, w := range strings.FieldsFunc(strings.ToLower(p.Text()), func(r rune) bool {
			return r == '_' || r == '-' ||
				r == '.' || r == '{' || r == '}'
		}) {
			if words[w] {
				return true
			}
		}
	}
	return false
}

// Meta reports whether it is the scheme that names follow and not a key: {purpose}:{domain}:{id},
// app:{component}:{type}:{identifier}.
func (s *Shape) Meta() bool {
	if len(s.Parts) < 2 {
		return false
	}
	generic, others := 0, 0
	for i, p := range s.Parts {
		switch {
		case p.IsGeneric():
			generic++
		case i > 0:
			others++
		}
	}
	if s.Prefixed() {
		return generic > 1
	} else if s.Parts[0].IsHole() && !s.Parts[0][0].value {
		return generic > 0 || others == 0
	}
	return generic >= 2 && others == 0
}

// netWords are schemes that keys begin with, too, where a plain word follows.
var netWords = Set("ws host image data error info debug warning note")

// isOwn: a placeholder that is not one of what schemes have after them.
func (p part) isOwn() bool {
	return p.IsHole() && !p[0].value && len(p[0].name) > 3 && !addressNames[strings.ToLower(p[0].name)]
}

// isID: a placeholder for an id, which no scheme, image or host has after it.
func (p part) isID() bool {
	return p.IsHole() && !p[0].value && idName.MatchString(p[0].name)
}

var idName = regex.Lazy(`^(?:id|uuid|\w*(?:_id|Id))$`)

// isWord: letters only.
func (p part) isWord() bool { return !p.hasHole() && wordOnly.MatchString(p.Text()) }

var wordOnly = regex.Lazy(`^[a-z_]{3,}$`)

// NotAKey reports whether it is written like a key and is something else.
func (s *Shape) NotAKey() bool {
	root := strings.ToLower(s.Root())
	switch {
	case strings.Contains(s.Raw, "://"), strings.HasPrefix(s.Raw, "-"), strings.HasPrefix(s.Raw, "/"),
		strings.HasPrefix(s.Raw, "."), strings.HasPrefix(s.Raw, "@"):
		return true
	case len(s.Parts) == 2 && schemes[root] && !s.Parts[1].isID() &&
		!(netWords[root] && (s.Parts[1].isWord() || s.Parts[1].isOwn())):
		return true
	case alwaysSchemes[root] && !s.Parts[0].hasHole():
		return true
	}
	if len(s.Parts) == 2 && s.Sep == ":" {
		last := s.Parts[1]
		if versionForm.MatchString(s.Parts[1].raw()) || portForm.MatchString(s.Parts[1].raw()) &&
			hostForm.MatchString(s.Parts[0].Text()) || fileForm.MatchString(s.Parts[0].Text()) {
			return true
		}
		if last.IsHole() && portNames[strings.ToLower(last[0].name)] {
			return true
		}
	}
	return s.Sep == "/" && (fileForm.MatchString(s.Parts[len(s.Parts)-1].Text()) || pathRoots[root])
}

// portRoots end the names of what listens at a port.
var portRoots = regex.Lazy(`(?i)(gateway|exporter|sentinel|broker|proxy|server|service|host|redis|valkey` +
	`|rabbitmq|kafka|zookeeper|nginx|grafana|prometheus|postgres|mysql|mongo|elastic|localhost|api|node|app|web` +
	`|db)(-?\d+)?$`)

// IsPort reports whether it is a host and a port.
func (s *Shape) IsPort() bool {
	if len(s.Parts) != 2 || s.Sep != ":" || s.Parts[0].hasHole() || !portForm.MatchString(s.Parts[1].raw()) {
		return false
	}
	n, err := strconv.Atoi(s.Parts[1].raw())
	return err == nil && n >= 1000 && n < 1<<16 && portRoots.MatchString(s.Parts[0].Text())
}

// EndsInGlob reports whether stars are whole segments or at the end: they mean what varies there.
func (s *Shape) EndsInGlob() bool {
	return !slices.ContainsFunc(s.Parts, func(p part) bool {
		return len(p) > 1 && slices.ContainsFunc(p, func(x piece) bool { return x.hole && x.name == "" && !x.value })
	})
}

// Lettered reports whether it begins with a letter.
func (s *Shape) Lettered() bool { return rootForm.MatchString(s.Root()) }

// HasName reports whether there is a word, or one letter at the beginning and a placeholder: u:{user}.
func (s *Shape) HasName() bool {
	return s.HasWord() || s.Colons() > 0 && s.Holes() > 0 && !s.Concrete() && !s.Parts[0].hasHole() && s.Lettered()
}

// raw returns the segment with its values.
func (p part) raw() string { return p.Text() }

var (
	versionForm = regex.Lazy(`^v?\d+(\.\d+)+|^(?:latest|alpine|stable|edge|slim)(?:$|[^a-z_])`)
	portForm    = regex.Lazy(`^\d{2,5}$`)
	hostForm    = regex.Lazy(`^(localhost|[a-z0-9-]+(\.[a-z0-9-]+)+|redis|valkey|host|server|sentinel` +
		`|redis-\w+|[a-z]+-\d+)$`)
	fileForm = regex.Lazy(`(?i)\.(go|js|ts|tsx|py|rb|java|kt|rs|md|ya?ml|json|toml|ini|conf|lua|sql|sh|txt` +
		`|html|css|rdb|aof|xml|php|cs|log)$`)
)

// Signature is equal for two ways of writing one key.
func (s *Shape) Signature() string {
	var b strings.Builder
	b.WriteString(s.Sep)
	for _, p := range s.Parts {
		b.WriteByte(0)
		for _, x := range p {
			if x.hole {
				b.WriteByte(1)
			} else {
				b.WriteString(x.lit)
			}
		}
	}
	return b.String()
}

// Covers reports whether the other is this key with a value or a mixture of
// words and values where this one has a placeholder.
func (s *Shape) Covers(o *Shape) bool {
	if s.Sep != o.Sep || len(s.Parts) != len(o.Parts) {
		return false
	}
	wider := false
	for i, p := range s.Parts {
		q := o.Parts[i]
		switch {
		case same(p, q):
		case i == 0 && s.Prefixed() && !q.hasHole():
			wider = true
		case p.IsHole() && !p[0].value && q.hasHole(), p.IsHole() && p[0].name != "" && !p.IsGeneric() && o.Concrete():
			wider = true
		default:
			return false
		}
	}
	return wider
}

// IsGeneric reports whether a segment is a placeholder of a naming scheme, such as {domain}.
func (p part) IsGeneric() bool {
	return p.IsHole() && !p[0].value && metaNames[strings.ToLower(strings.ReplaceAll(p[0].name, "_", ""))]
}

// GenericHoles returns the placeholders that stand for a word of the naming scheme.
func (s *Shape) GenericHoles() int {
	n := 0
	for _, p := range s.Parts {
		if p.IsGeneric() {
			n++
		}
	}
	return n
}

// InstanceOf reports whether this key has words where the other has generic
// placeholders, and is alike besides.
func (s *Shape) InstanceOf(o *Shape) bool {
	if s.Sep != o.Sep || len(s.Parts) != len(o.Parts) {
		return false
	}
	words := 0
	for i, p := range s.Parts {
		q := o.Parts[i]
		switch {
		case same(p, q), q.IsHole() && p.hasHole():
		case q.IsGeneric() && !p.hasHole():
			words++
		default:
			return false
		}
	}
	return words > 0
}

// DiffersAt reports whether two shapes are equal but for one segment, which is a word here and a placeholder
// there.
func (s *Shape) DiffersAt(o *Shape, at int) bool {
	if s.Sep != o.Sep || len(s.Parts) != len(o.Parts) || s.Parts[at].hasHole() {
		return false
	}
	for i := range s.Parts {
		if i != at && !same(s.Parts[i], o.Parts[i]) {
			return false
		}
	}
	return true
}

func same(p, q part) bool {
	return slices.EqualFunc(p, q, func(a, b piece) bool { return a.hole == b.hole && (a.hole || a.lit == b.lit) })
}

// AllDigits reports whether a text has nothing but digits, the empty one too.
func AllDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// InstanceOfKey reports whether a key without placeholders is another one with words in their
// places: person:anna of person:{handle}.
func (s *Shape) InstanceOfKey(o *Shape) bool {
	if s.Sep != o.Sep || len(s.Parts) != len(o.Parts) || s.Holes() > 0 && !s.Concrete() {
		return false
	}
	words := 0
	for i, p := range s.Parts {
		q := o.Parts[i]
		switch {
		case same(p, q):
		case i > 0 && q.IsHole() && !q[0].value:
			words++
		default:
			return false
		}
	}
	return words > 0
}
