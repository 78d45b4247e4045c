// Package scalar is the one grammar of values: what a placeholder of a key,
// a field of a hash, a member of a set or the value of a string may be. The
// same text ("int 1..5", "text max 64", "a|b|c", "date YYYY-MM-DD") means the
// same everywhere in a declaration.
//
// A Type answers two questions: is this byte string one of its values (Check),
// and which regular language is it inside a key (Key). It does no I/O: a JSON
// Schema file is only named here.
//
// API: may change until 1.0.
package scalar

import (
	"fmt"
	"strconv"
	"strings"
)

// Separator is the byte that divides a key into segments.
const Separator = ':'

// MaxKeyBytes bounds `text max N` where it is in a key, and the digits of
// `hex N`: longer counts would only make automata large.
const MaxKeyBytes = 1024

// Kind represents the first word of a type.
type Kind uint8

// The kinds of scalar types.
const (
	Text Kind = iota
	Int
	Float
	Bool
	Bytes
	UUID
	ULID
	Hex
	Slug
	Date
	Timestamp
	UnixS
	UnixMS
	Enum
	Regexp
	JSON
)

// words lists the kinds that are written as a word.
var words = map[string]Kind{
	"text": Text, "int": Int, "float": Float, "bool": Bool, "bytes": Bytes, "uuid": UUID, "ulid": ULID, "hex": Hex,
	"slug": Slug, "date": Date, "timestamp": Timestamp, "unix_s": UnixS, "unix_ms": UnixMS, "json": JSON,
}

var names = func() map[Kind]string {
	m := map[Kind]string{Enum: "enum", Regexp: "regexp"}
	for w, k := range words {
		m[k] = w
	}
	return m
}()

// String returns the word of the kind.
func (k Kind) String() string { return names[k] }

// DefaultLayout says what `date` means without a layout.
const DefaultLayout = "YYYY-MM-DD"

// Type represents one scalar type. The zero Type is `text`.
type Type struct {
	Kind           Kind
	Max            int      // text: bytes, 0 = unbounded
	Rest           bool     // text: may cross separators, last placeholder only
	HasMin, HasMax bool     // int: which of Low and High hold
	Low, High      int64    // int
	N              int      // hex: exact number of digits, 0 = any
	Layout         string   // date
	Values         []string // enum, in the order written
	Expr           string   // regexp, without the slashes
	File           string   // json: schema file relative to the declaring file, "" = any JSON
	Optional       bool
	Encrypted      bool
	Var            string // the var this type was taken from, "" if written in place
	Default        string // of that var: what a placeholder is that is left out; "": it cannot be
}

// SyntaxError represents a type that cannot be read.
type SyntaxError struct {
	Text     string
	Offset   int    // byte offset in Text
	Message  string // what was found and what was expected
	Proposal string // the nearest thing that would be right, "" if none
}

func (e *SyntaxError) Error() string { return e.Message }

// String returns the canonical text: parsing it gives the same type again. A type
// taken from a var prints as the name of the var.
func (t Type) String() string {
	text := t.Var
	if text == "" {
		text = t.body()
	}
	if t.Optional {
		text += " optional"
	}
	if t.Encrypted {
		text += " encrypted"
	}
	return text
}

// Definition works as String does, without the name of a var: what the type really is.
func (t Type) Definition() string {
	t.Var = ""
	return t.String()
}

func (t Type) body() string {
	switch t.Kind {
	case Enum:
		return strings.Join(t.Values, "|")
	case Regexp:
		return "/" + t.Expr + "/"
	case Text:
		return t.Kind.String() + suffix(t.Max > 0, "max "+strconv.Itoa(t.Max)) + suffix(t.Rest, "rest")
	case Int:
		return t.Kind.String() + suffix(t.HasMin || t.HasMax, t.bounds())
	case Hex:
		return t.Kind.String() + suffix(t.N > 0, strconv.Itoa(t.N))
	case Date:
		return t.Kind.String() + suffix(t.Layout != DefaultLayout, t.Layout)
	case JSON:
		return t.Kind.String() + suffix(t.File != "", t.File)
	}
	return t.Kind.String()
}

func suffix(given bool, text string) string {
	if !given {
		return ""
	}
	return " " + text
}

func (t Type) bounds() string {
	var lo, hi string
	if t.HasMin {
		lo = strconv.FormatInt(t.Low, 10)
	}
	if t.HasMax {
		hi = strconv.FormatInt(t.High, 10)
	}
	return lo + ".." + hi
}

// Describe says in words what a value must look like, for error messages.
func (t Type) Describe() string {
	switch t.Kind {
	case Text:
		if t.Max > 0 {
			return fmt.Sprintf("text of at most %d bytes", t.Max)
		}
		return "text"
	case Int:
		if t.HasMin || t.HasMax {
			return "an integer in " + t.bounds()
		}
		return "an integer"
	case Enum:
		return "one of " + strings.Join(t.Values, ", ")
	case Hex:
		if t.N > 0 {
			return fmt.Sprintf("%d lower-case hexadecimal digits", t.N)
		}
		return "lower-case hexadecimal digits"
	case Date:
		return "a date like " + t.Layout
	case Regexp:
		return "text that matches /" + t.Expr + "/"
	}
	return described[t.Kind]
}

var described = map[Kind]string{
	Float: "a number", Bool: "true or false", Bytes: "bytes", UUID: "a lower-case UUID", ULID: "a ULID",
	Slug: "a slug (a-z, 0-9, _ and -)", Timestamp: "an RFC 3339 timestamp", UnixS: "a Unix time in seconds",
	UnixMS: "a Unix time in milliseconds", JSON: "JSON",
}
