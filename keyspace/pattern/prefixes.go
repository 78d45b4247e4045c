package pattern

// Prefixes holds globs of the form text*, to look up which of very many patterns are
// under one of them without automata.
type Prefixes struct {
	texts   map[string]bool
	longest int
}

// PrefixesOf takes the globs of that form out of a list.
func PrefixesOf(globs []*Pattern) Prefixes {
	x := Prefixes{texts: map[string]bool{}}
	for _, g := range globs {
		if text, ok := g.prefix(); ok {
			x.texts[text] = true
			x.longest = max(x.longest, len(text))
		}
	}
	return x
}

// prefix returns the text that all keys of a glob begin with, if they are all that do.
func (p *Pattern) prefix() (text string, ok bool) {
	last := len(p.elems) - 1
	if !p.glob || last < 0 || last > 1 || p.elems[last].Literal != "" || !p.elems[last].Expr.Nullable() {
		return "", false
	}
	if last == 1 {
		text = p.elems[0].Literal
	}
	return text, last == 0 || text != ""
}

// Cover reports whether one of the globs alone matches every key of p. If it does
// not, several of them, or globs of another form, still may.
func (x Prefixes) Cover(p *Pattern) bool {
	text := ""
	if len(p.elems) > 0 {
		text = p.elems[0].Literal
	}
	for n := range min(len(text), x.longest) + 1 {
		if x.texts[text[:n]] {
			return true
		}
	}
	return false
}
