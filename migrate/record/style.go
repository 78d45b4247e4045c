package record

import (
	"bytes"
	"strings"
)

// style describes how a document is laid out, as far as it was seen.
type style struct {
	colon string // between a name and its value
	comma string // white space after a comma on one line
	unit  string // one level of indentation
}

// member represents one member of an object that is added or changed; without a value it
// is taken out.
type member struct {
	name  string
	value []byte
}

// editMembers returns an object with some members changed, added or taken out. The
// others keep their bytes. An object that is not there, or no object, is a new one.
func (st *style) editMembers(raw []byte, changes []member) []byte {
	if len(raw) == 0 || raw[0] != '{' {
		raw = []byte("{}")
	}
	done := make([]bool, len(changes)) // a name may be "", too
	out := []byte{'{'}
	segment, kept, lead, end := 1, 0, []byte(nil), 1
	for i := skipSpace(raw, 1); raw[i] != '}'; {
		nameEnd := skipValue(raw, i)
		from := skipSpace(raw, skipSpace(raw, nameEnd)+1)
		to := skipValue(raw, from)
		lead = raw[segment:i]
		value, name := raw[from:to], textOf(raw[i:nameEnd])
		for j, change := range changes {
			if !done[j] && change.name == name {
				value, done[j] = change.value, true
				break
			}
		}
		if value != nil {
			if kept++; kept > 1 {
				out = append(out, ',')
			}
			out = append(append(append(out, lead...), raw[i:from]...), value...)
		}
		end = to
		if i = skipSpace(raw, to); raw[i] == ',' {
			segment = i + 1
			i = skipSpace(raw, segment)
		}
	}
	for j, m := range changes {
		if done[j] || m.value == nil {
			continue
		}
		if kept++; kept > 1 {
			out = append(out, ',')
			if lead == nil {
				out = append(out, st.comma...)
			}
		}
		out = append(append(out, lead...), quote(nil, m.name)...)
		out = append(append(out, st.colon...), m.value...)
	}
	if kept > 0 && end > 1 {
		out = append(out, raw[end:len(raw)-1]...)
	}
	return append(out, '}')
}

// set returns a value with the value at some members below it changed; nil takes it
// out. Objects on the way are made.
func (st *style) set(raw []byte, path []string, value []byte) []byte {
	if len(path) == 0 {
		return st.merge(raw, value)
	}
	old := lookup(raw, path[:1])
	if value == nil && old == nil {
		return raw
	}
	inner := st.set(old, path[1:], value)
	return st.editMembers(raw, []member{{path[0], inner}})
}

// merge returns the new value with the bytes of the old one wherever the two are
// equal.
func (st *style) merge(old, new []byte) []byte {
	if len(new) == 0 {
		return new
	}
	if len(old) == 0 || old[0] != new[0] {
		return st.inline(new)
	}
	if bytes.Equal(appendCanonical(nil, old), appendCanonical(nil, new)) {
		return old
	}
	switch old[0] {
	case '{':
		return st.mergeObjects(old, new)
	case '[':
		return st.mergeArrays(old, new)
	}
	return new
}

func (st *style) mergeObjects(old, new []byte) []byte {
	was := map[string][]byte{}
	eachMember(old, func(key, value []byte) { was[textOf(key)] = value })
	is := map[string]bool{}
	var changes []member
	eachMember(new, func(key, value []byte) {
		name := textOf(key)
		is[name] = true
		if before, there := was[name]; !there {
			changes = append(changes, member{name, st.inline(value)})
		} else if merged := st.merge(before, value); !bytes.Equal(merged, before) {
			changes = append(changes, member{name, merged})
		}
	})
	for name := range was {
		if !is[name] {
			changes = append(changes, member{name, nil})
		}
	}
	return st.editMembers(old, changes)
}

// mergeArrays keeps the elements that are at their place still.
func (st *style) mergeArrays(old, new []byte) []byte {
	first, second := elements(old), elements(new)
	if len(first) == 0 || len(second) == 0 {
		return new
	}
	lead := old[1:skipSpace(old, 1)]
	tail := old[len(trimRight(old[:len(old)-1])) : len(old)-1]
	between := lead
	if len(first) > 1 {
		i := skipSpace(old, skipValue(old, skipSpace(old, 1)))
		between = old[i+1 : skipSpace(old, i+1)]
	} else if len(lead) == 0 {
		between = []byte(st.comma)
	}
	out := append([]byte{'['}, lead...)
	for i, e := range second {
		if i > 0 {
			out = append(append(out, ','), between...)
		}
		if i < len(first) {
			e = st.merge(first[i], e)
		}
		out = append(out, e...)
	}
	return append(append(out, tail...), ']')
}

// lay returns a value in the layout of the document, where lead is the white space
// before it or its name.
func (st *style) lay(raw, lead []byte) []byte {
	newline := bytes.LastIndexByte(lead, '\n')
	if newline < 0 {
		return st.inline(raw)
	}
	return st.indented(nil, raw, "\n"+string(lead[newline+1:]))
}

// inline returns a value on one line.
func (st *style) inline(raw []byte) []byte {
	switch raw[0] {
	case '{':
		out := []byte{'{'}
		eachMember(raw, func(key, value []byte) {
			if len(out) > 1 {
				out = append(append(out, ','), st.comma...)
			}
			out = append(append(append(out, key...), st.colon...), st.inline(value)...)
		})
		return append(out, '}')
	case '[':
		out := []byte{'['}
		eachElement(raw, func(value []byte) {
			if len(out) > 1 {
				out = append(append(out, ','), st.comma...)
			}
			out = append(out, st.inline(value)...)
		})
		return append(out, ']')
	}
	return raw
}

// indented writes a value over several lines; lead is the line end and the
// indentation of the line that it begins on.
func (st *style) indented(dst, raw []byte, lead string) []byte {
	inner, count := lead+st.unit, 0
	before := func() {
		if count++; count > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, inner...)
	}
	switch raw[0] {
	case '{':
		dst = append(dst, '{')
		eachMember(raw, func(key, value []byte) {
			before()
			dst = append(append(dst, key...), st.colon...)
			dst = st.indented(dst, value, inner)
		})
	case '[':
		dst = append(dst, '[')
		eachElement(raw, func(value []byte) {
			before()
			dst = st.indented(dst, value, inner)
		})
	default:
		return append(dst, raw...)
	}
	if count > 0 {
		dst = append(dst, lead...)
	}
	return append(dst, strings.Map(closing, string(raw[:1]))...)
}

func closing(open rune) rune { return open + 2 } // { } and [ ] are two apart
