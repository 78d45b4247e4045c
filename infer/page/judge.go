package page

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/infer/noun"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

func (s *shape) colons() int {
	if s.sep != ":" {
		return 0
	}
	return len(s.parts) - 1
}

func (s *shape) holes() int {
	n := 0
	for _, p := range s.parts {
		for _, x := range p {
			if x.hole {
				n++
			}
		}
	}
	return n
}

// concrete: nothing but values, no placeholder.
func (s *shape) concrete() bool {
	return s.holes() > 0 && !slices.ContainsFunc(s.parts, func(p part) bool {
		return slices.ContainsFunc(p, func(x piece) bool { return x.hole && !x.value })
	})
}

var wordForm = lazy(`[\p{L}]{2,}`)

func (s *shape) hasWord() bool {
	return slices.ContainsFunc(s.parts, func(p part) bool {
		return slices.ContainsFunc(p, func(x piece) bool { return !x.hole && wordForm.MatchString(x.lit) })
	})
}

var rootForm = lazy(`^\{?[\p{L}][\p{L}\p{N}_.@-]*$`)

// root returns the first segment.
func (s *shape) root() string {
	if len(s.parts) == 0 || len(s.parts[0]) == 0 {
		return ""
	}
	return strings.TrimLeft(s.parts[0][0].lit, "{")
}

// rooted: it begins with a word of two letters or more.
func (s *shape) rooted() bool {
	return len(s.parts) > 0 && !s.parts[0][0].hole && rootForm.MatchString(s.parts[0][0].lit) &&
		len(strings.TrimLeft(s.parts[0][0].lit, "{")) > 1
}

// prefixed: it begins with a placeholder for what all keys of an installation begin with.
func (s *shape) prefixed() bool {
	return len(s.parts) > 1 && s.parts[0].isHole() && prefixName.MatchString(s.parts[0][0].name) && s.hasWord()
}

var prefixName = lazy(`(?i)^(?:\w*_)?(?:key_?)?(?:prefix|namespace|ns)$`)

// says reports whether one of the words is a segment, or in one.
func (s *shape) says(words map[string]bool) bool {
	for _, p := range s.parts {
		for _, w := range strings.FieldsFunc(strings.ToLower(p.text()), func(r rune) bool {
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

// meta: the scheme that names follow and not a key: {purpose}:{domain}:{id},
// app:{component}:{type}:{identifier}.
func (s *shape) meta() bool {
	if len(s.parts) < 2 {
		return false
	}
	generic, others := 0, 0
	for i, p := range s.parts {
		switch {
		case p.isGeneric():
			generic++
		case i > 0:
			others++
		}
	}
	if s.prefixed() {
		return generic > 1
	} else if s.parts[0].isHole() && !s.parts[0][0].value {
		return generic > 0 || others == 0
	}
	return generic >= 2 && others == 0
}

// netWords are schemes that keys begin with, too, where a plain word follows.
var netWords = set("ws host image data error info debug warning note")

// isOwn: a placeholder that is not one of what schemes have after them.
func (p part) isOwn() bool {
	return p.isHole() && !p[0].value && len(p[0].name) > 3 && !addressNames[strings.ToLower(p[0].name)]
}

// isWord: letters only.
func (p part) isWord() bool { return !p.hasHole() && wordOnly.MatchString(p.text()) }

var wordOnly = lazy(`^[a-z_]{3,}$`)

// notAKey: what is written like a key and is something else.
func (s *shape) notAKey() bool {
	root := strings.ToLower(s.root())
	switch {
	case strings.Contains(s.raw, "://"), strings.HasPrefix(s.raw, "-"), strings.HasPrefix(s.raw, "/"),
		strings.HasPrefix(s.raw, "."), strings.HasPrefix(s.raw, "@"):
		return true
	case len(s.parts) == 2 && schemes[root] && !(netWords[root] && (s.parts[1].isWord() || s.parts[1].isOwn())):
		return true
	case alwaysSchemes[root] && !s.parts[0].hasHole():
		return true
	}
	if len(s.parts) == 2 && s.sep == ":" {
		last := s.parts[1]
		if versionForm.MatchString(s.parts[1].raw()) || portForm.MatchString(s.parts[1].raw()) &&
			hostForm.MatchString(s.parts[0].text()) || fileForm.MatchString(s.parts[0].text()) {
			return true
		}
		if last.isHole() && portNames[strings.ToLower(last[0].name)] {
			return true
		}
	}
	return s.sep == "/" && (fileForm.MatchString(s.parts[len(s.parts)-1].text()) || pathRoots[root])
}

// portRoots end the names of what listens at a port.
var portRoots = lazy(`(?i)(gateway|exporter|sentinel|broker|proxy|server|service|host|redis|valkey` +
	`|rabbitmq|kafka|zookeeper|nginx|grafana|prometheus|postgres|mysql|mongo|elastic|localhost|api|node|app|web` +
	`|db)(-?\d+)?$`)

// isPort: a host and a port.
func (s *shape) isPort() bool {
	if len(s.parts) != 2 || s.sep != ":" || s.parts[0].hasHole() || !portForm.MatchString(s.parts[1].raw()) {
		return false
	}
	n, err := strconv.Atoi(s.parts[1].raw())
	return err == nil && n >= 1000 && n < 1<<16 && portRoots.MatchString(s.parts[0].text())
}

// endsInGlob: a star at the end, or a whole segment, stands for what varies.
func (s *shape) endsInGlob() bool {
	return !slices.ContainsFunc(s.parts, func(p part) bool {
		return len(p) > 1 && slices.ContainsFunc(p, func(x piece) bool { return x.hole && x.name == "" && !x.value })
	})
}

// lettered: it begins with a letter.
func (s *shape) lettered() bool { return rootForm.MatchString(s.root()) }

// raw returns the segment with its values.
func (p part) raw() string { return p.text() }

var (
	versionForm = lazy(`^v?\d+(\.\d+)+|^(latest|alpine|stable|edge|slim)`)
	portForm    = lazy(`^\d{2,5}$`)
	hostForm    = lazy(`^(localhost|[a-z0-9-]+(\.[a-z0-9-]+)+|redis|valkey|host|server|sentinel` +
		`|redis-\w+|[a-z]+-\d+)$`)
	fileForm = lazy(`(?i)\.(go|js|ts|tsx|py|rb|java|kt|rs|md|ya?ml|json|toml|ini|conf|lua|sql|sh|txt` +
		`|html|css|rdb|aof|xml|php|cs|log)$`)
)

// signature is equal for two ways of writing one key.
func (s *shape) signature() string {
	var b strings.Builder
	b.WriteString(s.sep)
	for _, p := range s.parts {
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

// covers reports whether the other is this key with a value or a mixture of
// words and values where this one has a placeholder.
func (s *shape) covers(o *shape) bool {
	if s.sep != o.sep || len(s.parts) != len(o.parts) {
		return false
	}
	wider := false
	for i, p := range s.parts {
		q := o.parts[i]
		switch {
		case same(p, q):
		case i == 0 && s.prefixed() && !q.hasHole():
			wider = true
		case p.isHole() && !p[0].value && q.hasHole(), p.isHole() && p[0].name != "" && !p.isGeneric() && o.concrete():
			wider = true
		default:
			return false
		}
	}
	return wider
}

func (p part) isGeneric() bool {
	return p.isHole() && !p[0].value && metaNames[strings.ToLower(strings.ReplaceAll(p[0].name, "_", ""))]
}

// genericHoles returns the placeholders that stand for a word of the naming scheme.
func (s *shape) genericHoles() int {
	n := 0
	for _, p := range s.parts {
		if p.isGeneric() {
			n++
		}
	}
	return n
}

// instanceOf reports whether this key has words where the other has generic
// placeholders, and is alike besides.
func (s *shape) instanceOf(o *shape) bool {
	if s.sep != o.sep || len(s.parts) != len(o.parts) {
		return false
	}
	words := 0
	for i, p := range s.parts {
		q := o.parts[i]
		switch {
		case same(p, q), q.isHole() && p.hasHole():
		case q.isGeneric() && !p.hasHole():
			words++
		default:
			return false
		}
	}
	return words > 0
}

// differsAt: equal but for one segment, which is a word here and a placeholder
// there.
func (s *shape) differsAt(o *shape, at int) bool {
	if s.sep != o.sep || len(s.parts) != len(o.parts) || s.parts[at].hasHole() {
		return false
	}
	for i := range s.parts {
		if i != at && !same(s.parts[i], o.parts[i]) {
			return false
		}
	}
	return true
}

func same(p, q part) bool {
	return slices.EqualFunc(p, q, func(a, b piece) bool { return a.hole == b.hole && (a.hole || a.lit == b.lit) })
}

// nameHoles takes the names that another way of writing the key has.
func (s *shape) nameHoles(o *shape) {
	for i, p := range s.parts {
		for j := range p {
			x, y := &s.parts[i][j], o.parts[i][j]
			if x.hole && x.name == "" {
				x.name = y.name
			}
			if x.hole && x.typ == "" && (y.typ != "int" || x.lit == "" || allDigits(x.lit)) {
				x.typ = y.typ
			} else if x.typ == "int" && y.value && !allDigits(y.lit) {
				x.typ = ""
			}
			if x.hole && !y.value {
				x.value = false
			}
		}
	}
}

// print writes the pattern, and the types of its placeholders.
func (s *shape) print(enums map[int][]string) (string, map[string]string) {
	var b strings.Builder
	types := map[string]string{}
	used := map[string]bool{}
	before := ""
	for i, p := range s.parts {
		if i > 0 {
			b.WriteString(s.sep)
		}
		for _, x := range p {
			if !x.hole {
				b.WriteString(escape(x.lit))
				if w := lastWord(x.lit); w != "" && !generic[w] {
					before = w
				} else if before == "" {
					before = w
				}
				continue
			}
			name := fresh(cleanName(x.name), before, x.typ, used)
			if x.typ != "" {
				types[name] = x.typ
			}
			if list := enums[i]; len(list) > 1 && p.isHole() {
				slices.Sort(list)
				types[name] = strings.Join(slices.Compact(list), "|")
			}
			b.WriteString("{" + name + "}")
		}
	}
	return hashTagged(b.String()), types
}

// widen lets a number have more digits than its format shows, where nothing follows it at once.
func (s *shape) widen() {
	for _, p := range s.parts {
		for i := range p {
			if strings.HasPrefix(p[i].typ, "/[0-9]{") && len(p) == 1 {
				p[i].typ = strings.Replace(p[i].typ, "}/", ",}/", 1)
			}
		}
	}
}

// doubt takes back that a placeholder is a number if another mention has something else there.
func (s *shape) doubt(o *shape) {
	for i, p := range s.parts {
		for j := range p {
			if p[j].typ != "int" || i >= len(o.parts) || j >= len(o.parts[i]) {
				continue
			}
			if q := o.parts[i][j]; q.lit != "" && !allDigits(q.lit) {
				s.parts[i][j].typ = ""
			}
		}
	}
}

// narrow keeps placeholders of one segment apart: none has the byte that the next
// word begins with.
func (s *shape) narrow() {
	for _, p := range s.parts {
		for i := range p {
			if p[i].hole && !p[i].value && p[i].typ == "" && i+1 < len(p) && !p[i+1].hole {
				p[i].typ = "/[^" + regexp.QuoteMeta(p[i+1].lit[:1]) + `:\/]+/`
			}
		}
	}
}

// escape keeps braces that are a hash tag for hashTagged to find.
func escape(lit string) string {
	return strings.NewReplacer("{", "\x01", "}", "\x02", `\`, `\\`).Replace(lit)
}

// hashTagged writes the braces of a hash tag as patterns have them.
func hashTagged(p string) string {
	open, shut := strings.IndexByte(p, 1), strings.LastIndexByte(p, 2)
	if open >= 0 && shut > open+1 {
		p = p[:open] + "{#" + p[open+1:shut] + "}" + p[shut+1:]
	}
	return strings.NewReplacer("\x01", `\{`, "\x02", `\}`).Replace(p)
}

var wordIn = lazy(`[A-Za-z][A-Za-z0-9]*`)

func lastWord(lit string) string {
	all := wordIn.FindAllString(lit, -1)
	for i := len(all) - 1; i >= 0; i-- {
		if w := strings.ToLower(all[i]); !generic[w] || i == 0 {
			return w
		}
	}
	return ""
}

var notName = lazy(`[^A-Za-z0-9_]+`)

func cleanName(name string) string {
	name = strings.Trim(notName.ReplaceAllString(name, "_"), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return ""
	}
	return name[:min(len(name), 60)]
}

// fresh returns a name that the pattern does not have yet.
func fresh(name, before, typ string, used map[string]bool) string {
	if name == "date" && typ != "" {
		name = "" // a var cannot be called like its type
	}
	if name == "" {
		switch {
		case strings.HasPrefix(typ, "date"):
			name = "day"
		case before != "":
			name = noun.Singular(before) + "_id"
		default:
			name = "id"
		}
	}
	try := name
	for n := 2; used[try]; n++ {
		try = name + "_" + strconv.Itoa(n)
	}
	used[try] = true
	return try
}

// loads makes sure that the pattern is one of the language.
func loads(text string, types map[string]string) bool {
	_, err := pattern.Parse(text, func(name string) (scalar.Type, bool) {
		if def, ok := types[name]; ok {
			if t, err := scalar.Parse(def, nil); err == nil {
				return t, true
			}
		}
		return scalar.Type{}, false
	})
	return err == nil
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// instanceOfKey reports whether a key without placeholders is another one with words in their
// places: person:anna of person:{handle}.
func (s *shape) instanceOfKey(o *shape) bool {
	if s.sep != o.sep || len(s.parts) != len(o.parts) || s.holes() > 0 && !s.concrete() {
		return false
	}
	words := 0
	for i, p := range s.parts {
		q := o.parts[i]
		switch {
		case same(p, q):
		case i > 0 && q.isHole() && !q[0].value:
			words++
		default:
			return false
		}
	}
	return words > 0
}
