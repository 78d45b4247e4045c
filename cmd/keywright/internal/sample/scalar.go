package sample

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

var words = strings.Fields(`amber birch cedar delta ember fjord grove heron islet juniper kelp linden maple
north ochre pine quartz river stone tundra umber violet willow yarrow`)

// inKey returns a value of a placeholder.
func (g *maker) inKey(t scalar.Type, ttl keyspace.TTL) string {
	switch t.Kind {
	case scalar.Date:
		back := time.Duration(g.IntN(days(ttl)))*24*time.Hour + time.Duration(g.IntN(24))*time.Hour
		return date(t.Layout, g.now.Add(-back))
	case scalar.Text, scalar.Slug, scalar.Bytes:
		return truncate(g.identifier(), t.Max)
	case scalar.JSON, scalar.Float:
		return g.identifier()
	}
	return string(g.value(t))
}

// value returns a value of a type as it is stored.
func (g *maker) value(t scalar.Type) []byte {
	if t.Encrypted {
		return g.sealed(t)
	}
	if make, ok := values[t.Kind]; ok {
		return []byte(make(g, t))
	}
	return []byte(truncate(g.text(), t.Max))
}

var values = map[scalar.Kind]func(*maker, scalar.Type) string{
	scalar.Int:   func(g *maker, t scalar.Type) string { return strconv.FormatInt(g.integer(t), 10) },
	scalar.Float: func(g *maker, _ scalar.Type) string { return strconv.FormatFloat(100*g.Float64(), 'f', 3, 64) },
	scalar.Bool:  func(g *maker, _ scalar.Type) string { return strconv.FormatBool(g.IntN(2) == 0) },
	scalar.Bytes: func(g *maker, _ scalar.Type) string { return string(g.bytes(16 + g.IntN(240))) },
	scalar.UUID:  func(g *maker, _ scalar.Type) string { return g.uuid() },
	scalar.ULID: func(g *maker, _ scalar.Type) string {
		return "01" + g.pick(24, "0123456789ABCDEFGHJKMNPQRSTVWXYZ")
	},
	scalar.Hex:       func(g *maker, t scalar.Type) string { return g.pick(hexDigits(t), "0123456789abcdef") },
	scalar.Slug:      func(g *maker, _ scalar.Type) string { return g.identifier() },
	scalar.Date:      func(g *maker, t scalar.Type) string { return date(t.Layout, g.past()) },
	scalar.Timestamp: func(g *maker, _ scalar.Type) string { return g.past().UTC().Format(time.RFC3339) },
	scalar.UnixS:     func(g *maker, _ scalar.Type) string { return strconv.FormatInt(g.past().Unix(), 10) },
	scalar.UnixMS:    func(g *maker, _ scalar.Type) string { return strconv.FormatInt(g.past().UnixMilli(), 10) },
	scalar.Enum:      func(g *maker, t scalar.Type) string { return t.Values[g.IntN(len(t.Values))] },
	scalar.Regexp:    func(g *maker, t scalar.Type) string { return g.matching(t.Expr) },
	scalar.JSON:      func(g *maker, _ scalar.Type) string { return g.json() },
}

// integer prefers small numbers, as ids and counts do.
func (g *maker) integer(t scalar.Type) int64 {
	low, high := int64(0), int64(1_000_000)
	if t.HasMin {
		low, high = t.Low, max(high, t.Low+1_000_000)
	}
	if t.HasMax {
		high = t.High
		low = min(low, high)
	}
	if span := uint64(high) - uint64(low); span != ^uint64(0) {
		return low + int64(g.Uint64N(span+1))
	}
	return int64(g.Uint64())
}

func (g *maker) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return b
}

func (g *maker) pick(n int, alphabet string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[g.IntN(len(alphabet))]
	}
	return string(b)
}

func (g *maker) uuid() string {
	b := g.bytes(16)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func hexDigits(t scalar.Type) int {
	if t.N == 0 {
		return 16
	}
	return t.N
}

func (g *maker) randomWord() string { return words[g.IntN(len(words))] }

func (g *maker) identifier() string { return g.randomWord() + "-" + strconv.Itoa(g.IntN(1_000_000)) }

func (g *maker) text() string {
	parts := make([]string, 2+g.IntN(6))
	for i := range parts {
		parts[i] = g.randomWord()
	}
	return strings.Join(parts, " ")
}

// json returns an object of some hundred bytes.
func (g *maker) json() string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"id":%d,"name":%q,"active":%t`, g.IntN(1_000_000), g.text(), g.IntN(2) == 0)
	for range g.IntN(8) {
		fmt.Fprintf(&b, `,"%s_%d":%q`, g.randomWord(), g.IntN(1000), g.text())
	}
	return b.String() + "}"
}

// sealed has the size of an encrypted value: nonce, text and tag.
func (g *maker) sealed(t scalar.Type) []byte {
	t.Encrypted = false
	return []byte(base64.StdEncoding.EncodeToString(g.bytes(28 + len(g.value(t)))))
}

// past returns a moment of the last week.
func (g *maker) past() time.Time {
	return g.now.Add(-time.Duration(g.Int64N(int64(7 * 24 * time.Hour))))
}

var layouts = strings.NewReplacer("YYYY", "2006", "MM", "01", "DD", "02", "HH", "15", "mm", "04", "ss", "05")

func date(layout string, at time.Time) string {
	if layout == "" {
		layout = scalar.DefaultLayout
	}
	return at.UTC().Format(layouts.Replace(layout))
}

func truncate(s string, n int) string {
	if n > 0 && len(s) > n {
		return s[:n]
	}
	return s
}
