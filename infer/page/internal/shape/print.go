package shape

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/infer/noun"
	"github.com/keywright/keywright/infer/page/internal/regex"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// NameHoles takes the names that another way of writing the key has.
func (s *Shape) NameHoles(o *Shape) {
	for i, p := range s.Parts {
		for j := range p {
			x, y := &s.Parts[i][j], o.Parts[i][j]
			if x.hole && x.name == "" {
				x.name = y.name
			}
			if x.hole && x.typ == "" && (y.typ != "int" || x.lit == "" || AllDigits(x.lit)) {
				x.typ = y.typ
			} else if x.typ == "int" && y.value && !AllDigits(y.lit) {
				x.typ = ""
			}
			if x.hole && !y.value {
				x.value = false
			}
		}
	}
}

// Print writes the pattern, and the types of its placeholders.
func (s *Shape) Print(enums map[int][]string) (string, map[string]string) {
	var b strings.Builder
	types := map[string]string{}
	used := map[string]bool{}
	before := ""
	for i, p := range s.Parts {
		if i > 0 {
			b.WriteString(s.Sep)
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
			if list := enums[i]; len(list) > 1 && p.IsHole() {
				slices.Sort(list)
				types[name] = strings.Join(slices.Compact(list), "|")
			}
			b.WriteString("{" + name + "}")
		}
	}
	return hashTagged(b.String()), types
}

// Widen lets a number have more digits than its format shows, where nothing follows it at once.
func (s *Shape) Widen() {
	for _, p := range s.Parts {
		for i := range p {
			if strings.HasPrefix(p[i].typ, "/[0-9]{") && len(p) == 1 {
				p[i].typ = strings.Replace(p[i].typ, "}/", ",}/", 1)
			}
		}
	}
}

// Doubt takes back that a placeholder is a number if another mention has something else there.
func (s *Shape) Doubt(o *Shape) {
	for i, p := range s.Parts {
		for j := range p {
			if p[j].typ != "int" || i >= len(o.Parts) || j >= len(o.Parts[i]) {
				continue
			}
			if q := o.Parts[i][j]; q.lit != "" && !AllDigits(q.lit) {
				s.Parts[i][j].typ = ""
			}
		}
	}
}

// Narrow keeps placeholders of one segment apart: none has the byte that the next
// word begins with.
func (s *Shape) Narrow() {
	for _, p := range s.Parts {
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

// WordIn finds the words of a text: letters and digits after a letter.
var WordIn = regex.Lazy(`[A-Za-z][A-Za-z0-9]*`)

func lastWord(lit string) string {
	all := WordIn.FindAllString(lit, -1)
	for i := len(all) - 1; i >= 0; i-- {
		if w := strings.ToLower(all[i]); !generic[w] || i == 0 {
			return w
		}
	}
	return ""
}

var notName = regex.Lazy(`[^A-Za-z0-9_]+`)

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

// Loads makes sure that the pattern is one of the language.
func Loads(text string, types map[string]string) bool {
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
