package infer_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/keywright/keywright/source"
	"pgregory.net/rapid"
)

// scalars are texts that look like one type, nearly like one, or like none.
var scalars = rapid.OneOf(
	rapid.StringMatching(`-?[0-9]{1,19}`), rapid.StringMatching(`[0-9]{1,3}\.[0-9]{1,4}(e[0-9]{1,3})?`),
	rapid.StringMatching(`[0-9a-f]{8,16}`),
	rapid.StringMatching(`[0-9a-f]{32}`), rapid.StringMatching(`[a-z ]{0,12}`),
	rapid.StringMatching(`14[0-9]{8}|17[0-9]{11}`),
	rapid.SampledFrom([]string{"", "true", "false", "0", "-0", "007", "+1", "1e5",
		".5", "5.", "1e999", "Inf", "NaN", "0x1f", "1_000", "null", "{}", "[1]",
		`{"a":`,
		"2026-01-01", "2026-02-30", "2026-01-01T10:00:00Z", "2026-01-01T10:00:00+09:00",
		"2026-01-01T25:00:00Z", "2026-01-01T10:00:00,5Z",
		"7e7590d0-9e23-4763-b774-ee8514e10d0c", "7E7590D0-9E23-4763-B774-EE8514E10D0C",
		"01ARZ3NDEKTSV4RRFFQ69G5FAV", "01arz3ndektsv4rrffq69g5fav",
		"free", "pro", "9007199254740993", "99999999999999999999",
		"\xff\xfe", "a\x00b", "日本", "\u202e", "a\nb", "HYLL\x01\x00"}),
)

var members = rapid.SampledFrom([]string{"1", "1.5", "1e400", "-0", "true", "null", `"x"`, `"7"`, `""`, "[]", `{"b":1}`,
	"1700000000", `"2026-01-01"`, `"\u0000"`, "123456789012345678901"})

// objects are JSON objects, nearly so, or odd ones.
var objects = rapid.Custom(func(t *rapid.T) string {
	var parts []string
	for _, name := range rapid.SliceOfN(fieldNames, 0, 4).Draw(t, "names") {
		parts = append(parts, fmt.Sprintf("%q:%s", name, members.Draw(t, "json")))
	}
	return "{" + strings.Join(parts, ",") + "}"
})

var fieldNames = rapid.OneOf(
	rapid.SampledFrom(strings.Fields("id at name plan total totl type key true on class a-b a.b")),
	rapid.StringMatching(`[a-z]{1,5}[0-9]{0,4}`),
	rapid.SampledFrom([]string{"", "a b", "日本", "\xff", "#", "{x}", "1"}))

// values draws values of one family: they are alike, but for some.
type values struct {
	texts  *rapid.Generator[string]
	names  []string
	scores *rapid.Generator[float64]
}

func valuesOf(t *rapid.T) values {
	return values{
		texts: rapid.SampledFrom([]*rapid.Generator[string]{scalars, objects, rapid.StringMatching(`[0-9]{1,5}`),
			rapid.StringMatching(`17[0-9]{8}`), rapid.StringMatching(`[a-z]{1,9}`),
			rapid.SampledFrom([]string{"free", "pro", "team"}),
			rapid.SampledFrom([]string{"true", "false"})}).Draw(t, "texts"),
		names: rapid.SliceOfNDistinct(fieldNames, 1, 5, rapid.ID).Draw(t, "fields"),
		scores: rapid.OneOf(rapid.Just(1.5), rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, 1e17,
			1 << 53, 1e300, math.Inf(1), math.Inf(-1), 1763700000, 1763700000123, 3673983964876493})),
	}
}

func (v *values) text(t *rapid.T) []byte {
	if rapid.IntRange(0, 9).Draw(t, "odd value") == 0 {
		return []byte(scalars.Draw(t, "value"))
	}
	return []byte(v.texts.Draw(t, "value"))
}

// pairs returns fields with values, some of them missing, some that others do not have.
func (v *values) pairs(t *rapid.T) (out [][]byte) {
	for _, name := range v.names {
		if rapid.IntRange(0, 9).Draw(t, "missing") > 0 {
			out = append(out, []byte(name), v.text(t))
		}
	}
	if len(out) == 0 || rapid.IntRange(0, 9).Draw(t, "more") == 0 {
		out = append(out, []byte("more"), v.text(t))
	}
	return out
}

// of returns a value of a kind, whole.
func (v *values) of(t *rapid.T, kind source.Kind) *source.Value {
	out := &source.Value{}
	switch kind {
	case source.String:
		out.Str = v.text(t)
		return out
	case source.Hash:
		out.Elements = v.pairs(t)
		return out
	case source.Stream:
		for range rapid.IntRange(1, 5).Draw(t, "entries") {
			out.Elements = append(out.Elements, v.pairs(t)...)
			out.Ends = append(out.Ends, len(out.Elements))
		}
		return out
	}
	for range rapid.IntRange(1, 5).Draw(t, "members") {
		out.Elements = append(out.Elements, v.text(t))
		if kind == source.ZSet {
			out.Scores = append(out.Scores, v.scores.Draw(t, "score"))
		}
	}
	return out
}
