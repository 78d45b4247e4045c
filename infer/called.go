package infer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/infer/internal/class"
	"github.com/keywright/keywright/infer/internal/content"
	"github.com/keywright/keywright/infer/internal/path"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
)

// vars gives every placeholder name one meaning: the first pattern, which has
// the most keys, keeps the name, others with another type get another one.
func (d *Draft) vars() {
	options := d.options
	types := map[string]string{}
	if options.Known != nil {
		for _, v := range options.Known.Vars {
			types[v.Name] = v.Type.String()
		}
		for name := range placeholders(options.Known) { // without a var: a text, and a var of that name would change it
			if _, isVar := types[name]; !isVar {
				types[name] = ""
			}
		}
	}
	for _, e := range d.Entries {
		for i := range e.tokens {
			if t := &e.tokens[i]; t.Class != 0 {
				t.Type = t.ScalarType()
				t.Name = freeName(types, t.Name, t.Type)
				types[t.Name] = t.Type
			}
		}
		e.Pattern = path.Spell(e.tokens)
	}
	d.listVars(types, options)
}

// placeholders returns the names of those in all patterns.
func placeholders(ks *keyspace.Keyspace) map[string]bool {
	names := map[string]bool{}
	add := func(p *pattern.Pattern) {
		for _, t := range tokensOf(p.String(), nil) {
			if t.Class != 0 {
				names[t.Name] = true
			}
		}
	}
	for _, k := range ks.Keys {
		add(k.Pattern)
	}
	for _, e := range ks.Entries {
		for _, p := range e.Was {
			add(p)
		}
	}
	for _, c := range ks.Channels {
		add(c.Pattern)
	}
	return names
}

var typeNames = path.Words("text int float bool bytes uuid ulid hex slug date timestamp unix_s unix_ms json")

// freeName returns the name itself, or one made from it, that has this type or none.
func freeName(types map[string]string, name, typ string) string {
	if typ != "" && typeNames[name] { // a var cannot be called like a type
		name += "_value"
	}
	base := strings.TrimSuffix(name, "_id")
	for _, s := range []string{"", suffix(typ)} {
		try := base + s
		if s == "" {
			try = name
		}
		if old, taken := types[try]; !taken || old == typ {
			return try
		}
	}
	for n := 2; ; n++ {
		try := name + "_" + strconv.Itoa(n)
		if old, taken := types[try]; !taken || old == typ {
			return try
		}
	}
}

// suffix tells a placeholder from another that is called the same.
func suffix(typ string) string {
	first, _, _ := strings.Cut(typ, " ")
	switch {
	case typ == "":
		return "_name"
	case first == "int" || strings.HasPrefix(first, "/[0-9]"):
		return "_no"
	case first == "hex":
		return "_hash"
	case content.IsName(first):
		return "_" + first
	}
	return "_key"
}

// listVars lists the vars that the draft adds, and those of the known declaration
// that it refers to.
func (d *Draft) listVars(types map[string]string, options Options) {
	d.Vars, d.borrowed = nil, nil
	used := map[string]bool{}
	for _, e := range d.Entries {
		for _, t := range e.tokens {
			if t.Class == 0 || used[t.Name] {
				continue
			}
			used[t.Name] = true
			switch {
			case isKnown(options, t.Name):
				d.borrowed = append(d.borrowed, Var{t.Name, types[t.Name]})
			case t.Type != "":
				d.Vars = append(d.Vars, Var{t.Name, types[t.Name]})
			}
		}
	}
	slices.SortFunc(d.Vars, func(a, b Var) int { return cmp.Compare(a.Name, b.Name) })
}

func isKnown(options Options, name string) bool {
	return options.Known != nil && slices.ContainsFunc(options.Known.Vars,
		func(v keyspace.Var) bool { return v.Name == name })
}

// names gives every entry a name: the words of its pattern, without the one
// that all begin with.
func (d *Draft) names() {
	options := d.options
	taken := map[string]bool{}
	if options.Known != nil {
		for _, e := range options.Known.Entries {
			taken[e.Name] = true
		}
	}
	prefix := d.prefix()
	for _, e := range d.Entries {
		words := e.entryWords(prefix)
		if e.reserved {
			words = append(words, "key")
		}
		e.Name = uniqueName(words, e, taken)
		taken[e.Name] = true
	}
	if d.Package == "" {
		d.Package = packageName(prefix)
	}
}

// prefix returns the word that all patterns begin with, "" if there is none.
func (d *Draft) prefix() string {
	prefix := ""
	for i, e := range d.Entries {
		words := path.WordsOf(e.tokens[0].Literal)
		if len(words) == 0 || i > 0 && words[0] != prefix {
			return ""
		}
		prefix = words[0]
	}
	return prefix
}

func packageName(prefix string) string {
	if prefix = path.Clean(prefix); prefix == "" || class.Kinds[prefix[0]]&class.IsDigit != 0 {
		return "appkeys"
	}
	return strings.ReplaceAll(prefix, "_", "") + "keys"
}

func (e *Entry) entryWords(prefix string) []string {
	var words []string
	for i, t := range e.tokens {
		for _, w := range path.WordsOf(t.Literal) {
			if letters := path.LettersBefore(e.tokens, i+1); letters == w && path.InFull[w] != "" {
				w = path.InFull[w]
			}
			if w = path.Clean(w); w != "" && !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
	}
	if len(words) > 1 && words[0] == prefix {
		words = words[1:]
	}
	return words
}

// maxName says how long a name may be, with room for a number after it.
const maxName = 56

func uniqueName(words []string, e *Entry, taken map[string]bool) string {
	name := strings.Join(words, "_")
	if name == "" {
		name = "key"
	}
	if class.Kinds[name[0]]&class.IsDigit != 0 {
		name = "k" + name
	}
	name = name[:min(len(name), maxName)]
	if !taken[name] {
		return name
	}
	for i := len(e.tokens) - 1; i >= 0; i-- {
		if t := e.tokens[i]; t.Class != 0 {
			if try := name + "_by_" + strings.TrimSuffix(t.Name, "_id"); len(try) <= maxName+4 && !taken[try] {
				return try
			}
			break
		}
	}
	for n := 2; ; n++ {
		if try := name + "_" + strconv.Itoa(n); !taken[try] {
			return try
		}
	}
}
