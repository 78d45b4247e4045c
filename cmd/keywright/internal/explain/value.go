package explain

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source/server/look"
	"github.com/keywright/keywright/value/seal"
)

// Value describes the value of a key, as far as it may be shown; its JSON names are stable.
type Value struct {
	Key      finding.JSONKey `json:"key"`
	Entry    string          `json:"entry,omitempty"`
	Exists   bool            `json:"exists"`
	Type     string          `json:"type,omitempty"`
	Size     int64           `json:"size"`     // elements; bytes of a string
	Elements []Element       `json:"elements"` // that are shown; a string is one
	// why nothing of it is shown: it is declared encrypted or looks like it, it is of a lock, or its type has no reader
	Hidden  string `json:"hidden,omitempty" enum:"sealed,lock,type"`
	Sealed  int    `json:"sealed"`        // texts among the elements that are not shown because they are sealed
	Cut     string `json:"cut,omitempty"` // what is missing; absent: nothing is
	Touched bool   `json:"touched"`       // the key's idle time began again: the server has no CLIENT NO-TOUCH
}

// Element represents an element of a value.
type Element struct {
	Name   *Bytes `json:"name,omitempty"`   // field of a hash; ID of an entry of a stream
	Score  string `json:"score,omitempty"`  // of a member of a sorted set
	Value  *Bytes `json:"value,omitempty"`  // absent: of an entry of a stream
	Fields []Pair `json:"fields,omitempty"` // of an entry of a stream…
	Of     int    `json:"of,omitempty"`     // …and how many it has
}

// Pair represents a field of an entry of a stream.
type Pair struct {
	Name  Bytes `json:"name"`
	Value Bytes `json:"value"`
}

// Bytes represents a text of any bytes.
type Bytes struct {
	Text   string `json:"text"`             // the text itself, or where base64 is there, the bytes with escapes, for people
	Base64 []byte `json:"base64,omitempty"` // of what is not UTF-8
	Length int64  `json:"length"`           // bytes of all
	Cut    bool   `json:"cut,omitempty"`    // this is the beginning
	Sealed bool   `json:"sealed,omitempty"` // it is not shown
}

// Why nothing of a value is shown.
const (
	hiddenSealed = "sealed"
	hiddenLock   = "lock" // with the token in it anyone could give the lock back
	hiddenType   = "type"
)

// Look reads the value of the key, as far as it may be shown.
func (l *Located) Look(ctx context.Context, config connect.Config) (*Value, error) {
	got, err := look.At(ctx, config, look.Request{Key: l.Key, Hides: l.hides,
		Closed: func(kind string) bool { return l.closed(kind) != "" }})
	if err != nil {
		return nil, err
	}
	v := &Value{Key: l.Key, Entry: l.Entry, Exists: got.Exists, Type: got.Type, Size: got.Size, Touched: got.Touched,
		Elements: []Element{}}
	switch {
	case !got.Exists:
		v.Type = ""
	case got.Closed:
		v.Hidden = l.closed(got.Type)
	case got.Unknown:
		v.Hidden = hiddenType
	case !l.mask(&got):
		v.Hidden = hiddenSealed
	default:
		for _, item := range got.Elements {
			v.Elements = append(v.Elements, v.element(item))
		}
		v.Cut = omitted(&got)
	}
	return v, nil
}

// closed says why nothing of the value is shown, if it is of a type; "": it is.
func (l *Located) closed(kind string) string {
	switch e := l.owner(); {
	case e == nil:
		return ""
	case e.Construct == keyspace.Lock:
		return hiddenLock
	case l.Declared == nil:
		if e.HoldsSealed() {
			return hiddenSealed
		}
		return ""
	}
	if slices.ContainsFunc(l.Declared.Sealed(), func(p keyspace.SealedPart) bool {
		whole := p.Field == "" && p.Member == "" && !p.Each
		return whole || l.Declared.Headed || p.Each && kind == string(keyspace.List) || kind != string(l.Declared.Kind)
	}) {
		return hiddenSealed
	}
	return ""
}

// owner returns the entry that the key has a name of, present or old.
func (l *Located) owner() *keyspace.Entry {
	if l.Declared != nil {
		return l.Declared.Entry
	}
	return l.was
}

// hides reports whether a field is declared encrypted.
func (l *Located) hides(field []byte) bool {
	return l.Declared != nil && slices.ContainsFunc(l.Declared.Sealed(), func(p keyspace.SealedPart) bool {
		return p.Each || p.Field != "" && p.Field == string(field)
	})
}

// mask takes the members out of a JSON object that are declared encrypted; false: it is no whole object,
// and nothing of it is shown.
func (l *Located) mask(got *look.Look) bool {
	if l.Declared == nil || got.Type != string(keyspace.String) {
		return true
	}
	parts := l.Declared.Sealed()
	if len(parts) == 0 {
		return true
	}
	text := &got.Elements[0].Value
	var object map[string]json.RawMessage
	if text.Cut() || json.Unmarshal(text.Bytes, &object) != nil || object == nil {
		return false
	}
	for _, p := range parts {
		if _, there := object[p.Member]; there {
			object[p.Member] = json.RawMessage(`"(sealed)"`)
		}
	}
	shown, err := json.Marshal(object)
	text.Bytes, text.Length = shown, int64(len(shown))
	return err == nil
}

func (v *Value) element(item look.Item) (e Element) {
	e.Score = item.Score
	if item.Name.Bytes != nil {
		name := bytesOf(item.Name)
		e.Name = &name
	}
	if v.Type == string(keyspace.Stream) {
		e.Of = item.Of
		for _, f := range item.Fields {
			e.Fields = append(e.Fields, Pair{bytesOf(f.Name), v.shown(f.Value)})
		}
		return e
	}
	value := v.shown(item.Value)
	e.Value = &value
	return e
}

// shown returns a text, unless it is sealed.
func (v *Value) shown(t look.Text) Bytes {
	if t.Hidden || looksSealed(t.Bytes) {
		v.Sealed++
		return Bytes{Length: t.Length, Sealed: true}
	}
	return bytesOf(t)
}

func bytesOf(t look.Text) Bytes {
	out := Bytes{Length: t.Length, Cut: t.Cut()}
	text := t.Bytes
	if out.Cut {
		text = wholeRunes(text)
	}
	if out.Text = string(text); !utf8.Valid(text) {
		out.Text, out.Base64 = finding.FullKey(text), text
	}
	return out
}

// wholeRunes takes the part of a character from the end of a text that was cut.
func wholeRunes(text []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if at := len(text) - n; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return text[:at]
			}
			break
		}
	}
	return text
}

// ways says which elements are shown of a value of a type that is larger.
var ways = map[string]string{
	"list": "the first %s of %s elements", "set": "%s of %s members, at random", "hash": "%s of %s fields, at random",
	"zset": "the %s of %s members with the lowest scores", "stream": "the latest %s of %s entries",
}

// omitted says what is not shown of a value.
func omitted(got *look.Look) string {
	var words []string
	n := int64(len(got.Elements))
	if way := ways[got.Type]; way != "" && n < got.Size {
		words = append(words, fmt.Sprintf(way, finding.Grouped(n), finding.Grouped(got.Size)))
	}
	cut := func(i look.Item) bool { return i.Name.Cut() || i.Value.Cut() }
	if slices.ContainsFunc(got.Elements, func(i look.Item) bool {
		return cut(i) || len(i.Fields) < i.Of || slices.ContainsFunc(i.Fields, cut)
	}) {
		words = append(words, fmt.Sprintf("of all texts together the first %s bytes", finding.Grouped(look.MaxBytes)))
	}
	if got.TooLong {
		words = append(words, "the next element has more than 8 MiB")
	}
	return strings.Join(words, "; ")
}

// base64Run matches what may be a sealed text in a JSON document.
var base64Run = regexp.MustCompile(`[A-Za-z0-9+/]{42,}`)

// looksSealed reports whether a text begins as a sealed one, or has one in it where constructs put them:
// after the line of a job, and as base64 in a document.
func looksSealed(text []byte) bool {
	_, payload, _ := bytes.Cut(text, []byte("\n"))
	if sealedHeader(text) || sealedHeader(payload) {
		return true
	}
	for _, at := range base64Run.FindAllIndex(text, -1) {
		run := text[at[0]:min(at[1], at[0]+base64.RawStdEncoding.EncodedLen(headerBytes))]
		head := make([]byte, headerBytes)
		n, err := base64.RawStdEncoding.Decode(head, run[:len(run)/4*4])
		if err == nil && sealedHeader(head[:n]) {
			return true
		}
	}
	return false
}

// headerBytes is how many bytes tell a sealed text: what is before and after the text with the longest id.
const headerBytes = 66

// sealedHeader reports whether a text begins as a sealed one of any version.
func sealedHeader(text []byte) bool {
	begin := string(text[:min(len(text), headerBytes)])
	if seal.IsPlain(begin) {
		return false
	}
	_, ok := seal.KeyID("\x01" + begin[1:])
	return ok
}
