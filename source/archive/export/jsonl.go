package export

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/rdb"
	"github.com/keywright/keywright/source/rdb/write"
)

// JSONLines writes an object a line for each key: key ({"text"}, and "base64" if it is not
// UTF-8; then the text is for people), entry, db, type, expires (Unix
// milliseconds, absent: never) and value. A text of a value is a JSON string, or, if it is
// not UTF-8, {"base64": …}. The value of a string is a text; of a list or a set an array
// of texts; of a hash an array of [field, value], or
// [field, value, Unix milliseconds] where a field expires by itself; of a sorted set an array of [member,
// score], the score as a text; of a stream {"entries": [{"id", "fields": [[field, value]]}],
// "state": …}. A value that can only be moved as it is has dump and rdb in place of value:
// what RESTORE takes, without its last ten bytes, and the version that they would say. A
// library of functions is an object of its own, with library (its name), engine and code.
func JSONLines(ctx context.Context, out io.Writer, c *archive.Chain, o Options) (Report, error) {
	w := &lines{escape: o.Escape, torn: o.Torn, out: bufio.NewWriterSize(out, 64<<10)}
	report, err := o.all(ctx, c, w.library, func(int, int64) error { return nil }, w.value)
	return report, errors.Join(err, w.out.Flush())
}

// library writes a library of functions: an object with its name, its engine and its code.
func (l *lines) library(lib source.Library) error {
	l.raw(`{"library":`)
	l.text([]byte(lib.Name))
	l.raw(`,"engine":`)
	l.text([]byte(lib.Engine))
	l.raw(`,"code":`)
	l.text(lib.Code)
	l.raw("}\n")
	return nil
}

type lines struct {
	out     *bufio.Writer
	escape  func([]byte) []byte
	torn    func(key []byte) bool
	scratch []byte

	// Of a string in parts: whether all of it is UTF-8, and bytes that are written with
	// the next part.
	valid bool
	carry []byte
}

func (l *lines) raw(text string) { _, _ = l.out.WriteString(text) } // the writer keeps the first error

// json writes text that is JSON.
func (l *lines) json(text []byte) {
	if l.escape != nil {
		text = l.escape(text)
	}
	_, _ = l.out.Write(text)
}

// text writes bytes: as a string if they are UTF-8.
func (l *lines) text(p []byte) {
	if !utf8.Valid(p) {
		l.raw(`{"base64":"`)
		l.scratch = base64.StdEncoding.AppendEncode(l.scratch[:0], p)
		_, _ = l.out.Write(l.scratch)
		l.raw(`"}`)
		return
	}
	l.raw(`"`)
	for len(p) > 0 {
		n := min(len(p), 64<<10)
		if n < len(p) {
			n = pieceOf(p[:n])
		}
		l.quoted(p[:n])
		p = p[n:]
	}
	l.raw(`"`)
}

// quoted writes text as it is inside of a JSON string.
func (l *lines) quoted(text []byte) {
	quoted, _ := json.Marshal(string(text)) // a string that is UTF-8 has no error
	l.json(quoted[1 : len(quoted)-1])
}

// pieceOf returns how many bytes of a text are written at once if more follow: whole runes, and
// no end that means something else together with what follows.
func pieceOf(p []byte) int {
	n := runes(p)
	if n > 1 && p[n-1] == '#' {
		n--
	}
	return n
}

func (l *lines) value(v *archive.Value) error {
	begun := false
	if v.Kind == source.String {
		l.valid = isText(v)
	}
	err := v.Elements(func(elements [][]byte, more bool) error {
		if !begun {
			l.head(v)
			l.raw(`,"value":` + opening[v.Kind])
		}
		if err := l.part(v.Kind, elements, more, !begun); err != nil {
			return err
		}
		begun = true
		return nil
	})
	switch {
	case err != nil && !begun && expires(v):
		return l.expiring(v)
	case err != nil && !begun && v.Form == archive.Dump && errors.Is(err, rdb.ErrUnknown):
		l.head(v)
		l.raw(`,"dump":"` + base64.StdEncoding.EncodeToString(v.Payload) + `","rdb":` + strconv.Itoa(v.RDB) + "}\n")
		return nil
	case err != nil && !begun:
		return errRefused{err}
	case err != nil:
		return err
	}
	l.raw(closing[v.Kind] + "}\n")
	return nil
}

// head writes what is known of a key beside its value.
func (l *lines) head(v *archive.Value) {
	l.raw(`{"key":{"text":`)
	if utf8.Valid(v.Key) {
		l.text(v.Key)
	} else {
		escaped := strconv.QuoteToASCII(string(v.Key))
		l.text([]byte(escaped[1 : len(escaped)-1]))
		l.raw(`,"base64":"` + base64.StdEncoding.EncodeToString(v.Key) + `"`)
	}
	l.raw("}")
	if name := v.EntryName(); name != "" {
		l.raw(`,"entry":`)
		l.text([]byte(name))
	}
	l.raw(`,"db":` + strconv.Itoa(v.DB) + `,"type":"` + v.Kind.String() + `"`)
	if l.torn != nil && l.torn(v.Key) {
		l.raw(`,"torn":true`)
	}
	if v.Expires > 0 {
		l.raw(`,"expires":` + strconv.FormatInt(v.Expires, 10))
	}
}

// What a value begins and ends with. The bytes of a string are one text, in parts too.
var (
	opening = map[source.Kind]string{source.List: "[", source.Set: "[", source.Hash: "[", source.ZSet: "[",
		source.Stream: `{"entries":[`}
	closing = map[source.Kind]string{source.List: "]", source.Set: "]", source.Hash: "]", source.ZSet: "]",
		source.Stream: "}"}
)

func (l *lines) part(kind source.Kind, elements [][]byte, more, first bool) error {
	unit := 1
	switch kind {
	case source.String:
		return l.string(elements, more, first)
	case source.Stream:
		return l.stream(elements, more, first)
	case source.Hash, source.ZSet:
		unit = 2
	}
	for i := 0; i+unit <= len(elements); i += unit {
		if i > 0 || !first {
			l.raw(",")
		}
		if unit == 1 {
			l.text(elements[i])
			continue
		}
		l.raw("[")
		l.text(elements[i])
		l.raw(",")
		l.text(elements[i+1])
		l.raw("]")
	}
	return nil
}

func (l *lines) stream(elements [][]byte, more, first bool) error {
	if !more {
		if len(elements) != 1 {
			return errors.New("the last part of a stream has no state")
		}
		l.raw(`],"state":`)
		l.json(elements[0])
		return nil
	}
	return write.Entries(elements, func(id []byte, fields [][]byte) error {
		if !first {
			l.raw(",")
		}
		first = false
		l.raw(`{"id":`)
		l.text(id)
		l.raw(`,"fields":[`)
		for i := 0; i+1 < len(fields); i += 2 {
			if i > 0 {
				l.raw(",")
			}
			l.raw("[")
			l.text(fields[i])
			l.raw(",")
			l.text(fields[i+1])
			l.raw("]")
		}
		l.raw("]}")
		return nil
	})
}

// isText reports whether a string is UTF-8.
func isText(v *archive.Value) bool {
	valid := true
	var carry []byte
	err := v.Elements(func(elements [][]byte, more bool) error {
		for _, e := range elements {
			carry = append(carry, e...)
			n := len(carry)
			if more {
				n = runes(carry)
			}
			valid = valid && utf8.Valid(carry[:n])
			carry = append(carry[:0], carry[n:]...)
		}
		return nil
	})
	return valid && err == nil
}

// runes returns how many bytes of a piece of text are whole runes.
func runes(p []byte) int {
	for n := 1; n <= min(len(p), utf8.UTFMax-1); n++ {
		if c := p[len(p)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(p[len(p)-n:]) {
				return len(p) - n
			}
			break
		}
	}
	return len(p)
}

// string writes a string, a part at a time.
func (l *lines) string(elements [][]byte, more, first bool) error {
	if first {
		l.carry = l.carry[:0]
		l.raw(map[bool]string{true: `"`, false: `{"base64":"`}[l.valid])
	}
	for _, e := range elements {
		l.carry = append(l.carry, e...)
	}
	n := len(l.carry)
	switch {
	case more && l.valid:
		n = pieceOf(l.carry)
	case more:
		n -= n % 3
	}
	if l.valid {
		l.quoted(l.carry[:n])
	} else {
		l.scratch = base64.StdEncoding.AppendEncode(l.scratch[:0], l.carry[:n])
		_, _ = l.out.Write(l.scratch)
	}
	l.carry = append(l.carry[:0], l.carry[n:]...)
	if !more {
		l.raw(map[bool]string{true: `"`, false: `"}`}[l.valid])
	}
	return nil
}
