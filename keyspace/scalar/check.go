package scalar

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/keywright/keywright/keyspace/internal/automaton"
)

// Check says why value, as stored in Redis, is not of this type; nil if it is.
// A JSON value is only checked for being JSON (its schema file is not read
// here), and an encrypted value is not looked into. The error never repeats
// the value.
func (t Type) Check(value []byte) error {
	if t.Encrypted || t.Is(value) {
		return nil
	}
	return fmt.Errorf("not %s", t.Describe())
}

// Is works as Check does, without a reason: it does not allocate for the regular kinds.
func (t Type) Is(value []byte) bool {
	switch t.Kind {
	case Text:
		return t.Max == 0 || len(value) <= t.Max
	case Bytes:
		return true
	case JSON:
		return ValidJSON(value)
	case Float:
		_, ok := ParseFloat(string(value))
		return ok
	case Enum: // without an automaton, which has no room for all words that an enum may have
		return slices.ContainsFunc(t.Values, func(word string) bool { return word == string(value) })
	}
	l, err := t.Value()
	return err == nil && automaton.Match(l.DFA, value)
}

// Prepared works as Is does, for many values: the language of the type is looked up once, when the
// first value comes. It is safe for concurrent use.
func (t Type) Prepared() func(value []byte) bool {
	switch t.Kind {
	case Text, Bytes, JSON, Float:
		return t.Is
	case Enum:
		words := sync.OnceValue(func() map[string]bool {
			set := make(map[string]bool, len(t.Values))
			for _, word := range t.Values {
				set[word] = true
			}
			return set
		})
		return func(value []byte) bool { return words()[string(value)] }
	}
	prepared := sync.OnceValue(func() *automaton.DFA {
		if l, err := t.Value(); err == nil {
			return l.DFA
		}
		return nil
	})
	return func(value []byte) bool {
		dfa := prepared()
		return dfa != nil && automaton.Match(dfa, value)
	}
}

// Example returns a plausible value of the type, as it would be in a key.
func (t Type) Example() string {
	switch t.Kind {
	case Date:
		return exampleDate.Replace(t.Layout)
	case Text, Bytes, Int, UUID, ULID, Timestamp, UnixS, UnixMS, Slug:
		if text := examples[t.Kind]; t.Check([]byte(text)) == nil {
			return text
		}
	}
	if l, err := t.Key(); err == nil {
		text, _ := automaton.Shortest(l.DFA)
		return string(text)
	}
	return "{}"
}

var exampleDate = strings.NewReplacer("YYYY", "2026", "MM", "11", "DD", "20", "HH", "09", "mm", "30", "ss", "00")

var examples = map[Kind]string{
	Text: "abc", Bytes: "abc", Int: "42", UUID: "01932f6e-7c1a-7d3e-8f60-2b1c9a4d5e6f", ULID: "01JD3FKXJQ8Z5N0V7W4T2R6YCB",
	Timestamp: "2026-11-20T09:30:00Z", UnixS: "1795167000", UnixMS: "1795167000000", Slug: "blue-shirt",
}
