package jsontext

import (
	"bytes"
	"strings"
)

// Style describes how a document is laid out, as far as it was seen.
type Style struct {
	Colon string // between a name and its value
	Comma string // white space after a comma on one line
	Unit  string // one level of indentation

	colonSeen, commaSeen, unitSeen bool
}

// Member represents one member of an object that is added or changed; without a value it
// is taken out.
type Member struct {
	Name  string
	Value []byte
}

// EditMembers returns an object with some members changed, added or taken out. The
// others keep their bytes. An object that is not there, or no object, is a new one.
func (st *Style) EditMembers(raw []byte, changes []Member) []byte {
	if len(raw) == 0 || raw[0] != '{' {
		raw = []byte("{}")
	}
	done := make([]bool, len(changes)) // a name may be "", too
	out := []byte{'{'}
	segment, kept, lead, end := 1, 0, []byte(nil), 1
	for i := SkipSpace(raw, 1); raw[i] != '}'; {
		nameEnd := skipValue(raw, i)
		from := SkipSpace(raw, SkipSpace(raw, nameEnd)+1)
		to := skipValue(raw, from)
		lead = raw[segment:i]
		value, name := raw[from:to], TextOf(raw[i:nameEnd])
		for j, change := range changes {
			if !done[j] && change.Name == name {
				value, done[j] = change.Value, true
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
		if i = SkipSpace(raw, to); raw[i] == ',' {
			segment = i + 1
			i = SkipSpace(raw, segment)
		}
	}
	for j, m := range changes {
		if done[j] || m.Value == nil {
			continue
		}
		if kept++; kept > 1 {
			out = append(out, ',')
			if lead == nil {
				out = append(out, st.Comma...)
			}
		}
		out = append(append(out, lead...), Quote(nil, m.Name)...)
		out = append(append(out, st.Colon...), m.Value...)
	}
	if kept > 0 && end > 1 {
		out = append(out, raw[end:len(raw)-1]...)
	}
	return append(out, '}')
}

// Set returns a value with the value at some members below it changed; nil takes it
// out. Objects on the way are made.
func (st *Style) Set(raw []byte, path []string, value []byte) []byte {
	if len(path) == 0 {
		return st.merge(raw, value)
	}
	old := Lookup(raw, path[:1])
	if value == nil && old == nil {
		return raw
	}
	inner := st.Set(old, path[1:], value)
	return st.EditMembers(raw, []Member{{path[0], inner}})
}

// merge returns the new value with the bytes of the old one wherever the two are
// equal.
func (st *Style) merge(old, new []byte) []byte {
	if len(new) == 0 {
		return new
	}
	if len(old) == 0 || old[0] != new[0] {
		return st.Inline(new)
	}
	if bytes.Equal(AppendCanonical(nil, old), AppendCanonical(nil, new)) {
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

func (st *Style) mergeObjects(old, new []byte) []byte {
	was := map[string][]byte{}
	EachMember(old, func(key, value []byte) { was[TextOf(key)] = value })
	is := map[string]bool{}
	var changes []Member
	EachMember(new, func(key, value []byte) {
		name := TextOf(key)
		is[name] = true
		if before, there := was[name]; !there {
			changes = append(changes, Member{name, st.Inline(value)})
		} else if merged := st.merge(before, value); !bytes.Equal(merged, before) {
			changes = append(changes, Member{name, merged})
		}
	})
	for name := range was {
		if !is[name] {
			changes = append(changes, Member{name, nil})
		}
	}
	return st.EditMembers(old, changes)
}

// mergeArrays keeps the elements that are at their place still.
func (st *Style) mergeArrays(old, new []byte) []byte {
	first, second := Elements(old), Elements(new)
	if len(first) == 0 || len(second) == 0 {
		return new
	}
	lead := old[1:SkipSpace(old, 1)]
	tail := old[len(trimRight(old[:len(old)-1])) : len(old)-1]
	between := lead
	if len(first) > 1 {
		i := SkipSpace(old, skipValue(old, SkipSpace(old, 1)))
		between = old[i+1 : SkipSpace(old, i+1)]
	} else if len(lead) == 0 {
		between = []byte(st.Comma)
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

// Lay returns a value in the layout of the document, where lead is the white space
// before it or its name.
func (st *Style) Lay(raw, lead []byte) []byte {
	newline := bytes.LastIndexByte(lead, '\n')
	if newline < 0 {
		return st.Inline(raw)
	}
	return st.Indented(nil, raw, "\n"+string(lead[newline+1:]))
}

// Inline returns a value on one line.
func (st *Style) Inline(raw []byte) []byte {
	switch raw[0] {
	case '{':
		out := []byte{'{'}
		EachMember(raw, func(key, value []byte) {
			if len(out) > 1 {
				out = append(append(out, ','), st.Comma...)
			}
			out = append(append(append(out, key...), st.Colon...), st.Inline(value)...)
		})
		return append(out, '}')
	case '[':
		out := []byte{'['}
		eachElement(raw, func(value []byte) {
			if len(out) > 1 {
				out = append(append(out, ','), st.Comma...)
			}
			out = append(out, st.Inline(value)...)
		})
		return append(out, ']')
	}
	return raw
}

// Indented writes a value over several lines; lead is the line end and the
// indentation of the line that it begins on.
func (st *Style) Indented(dst, raw []byte, lead string) []byte {
	inner, count := lead+st.Unit, 0
	before := func() {
		if count++; count > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, inner...)
	}
	switch raw[0] {
	case '{':
		dst = append(dst, '{')
		EachMember(raw, func(key, value []byte) {
			before()
			dst = append(append(dst, key...), st.Colon...)
			dst = st.Indented(dst, value, inner)
		})
	case '[':
		dst = append(dst, '[')
		eachElement(raw, func(value []byte) {
			before()
			dst = st.Indented(dst, value, inner)
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

// Nest returns a value with members or elements.
func (st *Style) Nest(value []byte, members []Member, object bool) []byte {
	if object {
		return st.EditMembers(value, members)
	}
	out := []byte{'['}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, m.Value...)
	}
	return append(out, ']')
}

// Learn learns the layout of a document by the white space before a value, which is so deep in it. more is true if the
// value is not the first one.
func (st *Style) Learn(lead []byte, depth int, more bool) {
	newline := bytes.LastIndexByte(lead, '\n')
	switch wide := len(lead) - newline - 1; {
	case newline >= 0 && !st.unitSeen && wide > 0 && wide%depth == 0:
		st.Unit, st.unitSeen = string(lead[newline+1:][:wide/depth]), true
	case newline < 0 && more && !st.commaSeen:
		st.Comma, st.commaSeen = string(lead), true
	}
}

// LearnColon learns the layout by the byte after the colon of a member.
func (st *Style) LearnColon(after byte) {
	if st.colonSeen {
		return
	}
	st.Colon, st.colonSeen = ":", true
	if after == ' ' {
		st.Colon = ": "
	} else if !st.commaSeen {
		st.Comma = ""
	}
}

// Below returns the white space before a value that is below one with such white space before it, and after the last
// one there.
func (st *Style) Below(outer []byte) (lead, tail []byte) {
	newline := bytes.LastIndexByte(outer, '\n')
	if newline < 0 {
		return nil, nil
	}
	tail = append([]byte{'\n'}, outer[newline+1:]...)
	return append(bytes.Clone(tail), st.Unit...), tail
}

// Edit returns an object that has been checked with the values of its members changed by a function.
func Edit(raw []byte, edit func(name string, value []byte) ([]byte, error)) (out []byte, err error) {
	var changes []Member
	EachMember(raw, func(key, value []byte) {
		if err != nil {
			return
		}
		name := TextOf(key)
		var next []byte
		if next, err = edit(name, value); !bytes.Equal(next, value) {
			changes = append(changes, Member{name, next})
		}
	})
	if err != nil {
		return nil, err
	}
	return (&Style{}).EditMembers(raw, changes), nil
}
