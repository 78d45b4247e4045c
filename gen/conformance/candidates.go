package conformance

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// anywhere is tried for every type: separators, braces, what ends a string or a
// comment in some language, names that mean something in one, spellings of
// numbers, and text that counts differently in bytes, runes and UTF-16.
var anywhere = []string{
	"abc", "a", "", ":", "a:b", ":a", "a:", "{", "}", "{a}", "a}b", "é", "한글", "日本", "😀", "e\u0301", "\u0000", "a\u0000b",
	"\ufeff", "\ufeffabc", "\u2028", "\n", "a\n",
	"a b", " a", "a ", `"`, `'`, "`", `\`, "${x}", "*/", `"""`, "__proto__", "constructor", "None", "0", "1", "-1", "-0",
	"00", "01", "+1", "1.0", "1.5", "0.1", "-0.5",
	"1.50", ".5", "1e3", "Infinity", "NaN", "true", "false", "True", "null", "-", "_", ".", "a-b_c", "A", "\u007f",
	"\u0080", "\uffff", "\U0010ffff", "\ufffd",
	"9007199254740991", "9007199254740992", "9223372036854775807", "9223372036854775808", "-9007199254740992",
	"-9223372036854775808", "-9223372036854775809",
	"99999999999", "100000000000", "99999999999999", "100000000000000", "123456789012345678901234567890",
	"2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "2024-04-31", "2024-12-31", "2024-13-01", "2024-1-1",
	"0000-01-01", "9999-12-31",
	"2024-02-29T23:59:59Z", "2023-02-29T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:00:00.123456789+14:00",
	"2024-01-01t00:00:00z",
	"01932f6e-7c1a-7d3e-8f60-2b1c9a4d5e6f", "01932F6E-7c1a-7d3e-8f60-2b1c9a4d5e6f", "01JD3FKXJQ8Z5N0V7W4T2R6YCB",
	"81JD3FKXJQ8Z5N0V7W4T2R6YCB", "00ff", "00FF",
}

// notUTF8 are bytes that no string of text holds.
var notUTF8 = []string{"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80"}

// candidates returns texts to try for a type, the most telling first and none twice.
func candidates(t scalar.Type, table *pattern.Table, rng *rand.Rand) []string {
	out := append([]string{t.Example()}, special(t)...)
	walked := walks(table, rng)
	out = append(out, walked...)
	for _, text := range walked {
		out = append(out, changed(text, rng))
	}
	out = append(out, anywhere...)
	out = append(out, changed(t.Example(), rng), strings.ToUpper(t.Example()), strings.Repeat("a", 300),
		strings.Repeat("7", 300))
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(text string) bool {
		was := seen[text]
		seen[text] = true
		return was
	})
}

// special returns the boundaries of one type.
func special(t scalar.Type) []string {
	switch t.Kind {
	case scalar.Int:
		return append(append(around(t.HasMin, t.Low), around(t.HasMax, t.High)...), "0", "-0", "00", "01", "-01", "-", "+1",
			"1.0", "1e3")
	case scalar.Text, scalar.Bytes:
		return lengths(t.Max)
	case scalar.Hex:
		return hexes(t.N)
	case scalar.Enum:
		return neighbours(t.Values)
	case scalar.Date:
		return days(t.Layout)
	}
	return nil
}

// around returns a bound, its neighbours, and the numbers with one digit more, and one less.
func around(given bool, bound int64) []string {
	if !given {
		return nil
	}
	var out []string
	n := big.NewInt(bound)
	for _, d := range []int64{0, -1, 1, -2, 2, -10, 10} {
		out = append(out, new(big.Int).Add(n, big.NewInt(d)).String())
	}
	text := n.String()
	return append(out, text+"0", text[:len(text)-1], new(big.Int).Neg(n).String())
}

// lengths returns texts about the length of the limit, in one byte and in three
// bytes a character.
func lengths(limit int) []string {
	if limit == 0 {
		return nil
	}
	var out []string
	for _, n := range []int{limit - 1, limit, limit + 1} {
		ascii := strings.Repeat("x", n)
		out = append(out, ascii, strings.Repeat("한", n/3)+ascii[:n%3])
	}
	return out
}

func hexes(n int) []string {
	n = max(n, 1)
	digits := strings.Repeat("0123456789abcdef", n/16+2)
	return []string{digits[:n], digits[:n-1], digits[:n+1], strings.ToUpper(digits[10 : 10+n]), digits[:n-1] + "g"}
}

// neighbours returns the words, what begins like them and what they are part of.
func neighbours(words []string) []string {
	out := slices.Clone(words)
	for _, w := range words {
		out = append(out, w+"x", "x"+w, w[:len(w)-1], strings.ToUpper(w), w+w, w+"|"+w)
	}
	return out
}

// days returns days about the ends of months and the leap rule, in a layout.
func days(layout string) []string {
	var out []string
	for _, d := range []string{"2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "2100-02-29", "2023-02-28",
		"2024-04-30", "2024-04-31", "2024-01-31", "2024-00-10", "2024-13-01",
		"2024-01-00", "2024-01-32", "0000-02-29", "9999-12-31"} {
		for _, clock := range []string{"000000", "235959", "240000", "126000"} {
			out = append(out,
				strings.NewReplacer("YYYY", d[:4], "MM", d[5:7], "DD", d[8:], "HH", clock[:2], "mm", clock[2:4], "ss", clock[4:]).
					Replace(layout))
		}
	}
	return out
}

// walks returns texts of the language, by chance: from state to state, home by the
// shortest way when it has become long.
func walks(t *pattern.Table, rng *rand.Rand) []string {
	home := distances(t)
	var out []string
	for i := range 24 {
		if text, ok := walk(t, home, 1+i*2, rng); ok {
			out = append(out, text)
		}
	}
	return out
}

func walk(t *pattern.Table, home []int, enough int, rng *rand.Rand) (string, bool) {
	var text []byte
	for s := int32(0); home[s] >= 0; {
		if t.Final[s] && (len(text) >= enough || rng.IntN(8) == 0) {
			return string(text), true
		}
		b, next := step(t, home, s, len(text) >= enough, rng)
		if next < 0 {
			return string(text), t.Final[s]
		}
		text, s = append(text, b), next
	}
	return "", false
}

// step chooses a byte from which a final state can be reached; a nearer one if
// the way home is wanted.
func step(t *pattern.Table, home []int, s int32, homeward bool, rng *rand.Rand) (byte, int32) {
	start := rng.IntN(256)
	for i := range 256 {
		b := (start + i) % 256
		next := t.Next[int(s)*t.Width+int(t.Classes[b])]
		if next >= 0 && home[next] >= 0 && (!homeward || home[next] < home[s]) {
			return byte(b), next
		}
	}
	return 0, -1
}

// distances returns the bytes from each state to the nearest final one, -1 where
// there is none.
func distances(t *pattern.Table) []int {
	home := make([]int, len(t.Final))
	for s, final := range t.Final {
		if home[s] = -1; final {
			home[s] = 0
		}
	}
	for changed := true; changed; {
		changed = false
		for s := len(home) - 1; s >= 0; s-- { // later states are mostly nearer to the end
			for _, to := range t.Next[s*t.Width : (s+1)*t.Width] {
				if to >= 0 && home[to] >= 0 && (home[s] < 0 || home[to]+1 < home[s]) {
					home[s], changed = home[to]+1, true
				}
			}
		}
	}
	return home
}

// changed returns a text with one byte of ASCII more, less or different.
func changed(text string, rng *rand.Rand) string {
	if text == "" {
		return "x"
	}
	at, other := rng.IntN(len(text)), string(rune(' '+rng.IntN(95)))
	return []string{text[:at] + other + text[at+1:], text[:at] + other + text[at:], text[:at] + text[at+1:], text + other,
		text + strconv.Itoa(rng.IntN(10))}[rng.IntN(5)]
}

// nearMisses returns keys that differ from one in a byte.
func nearMisses(key string, rng *rand.Rand) []string {
	out := []string{key[:len(key)-1], key[1:], strings.ToUpper(key), strings.ToLower(key), "x" + key, " " + key,
		"\ufeff" + key, key + key}
	for _, more := range []string{":", "x", "0", "\n", "\x00", "\xff", "{", "}", " "} {
		out = append(out, key+more)
	}
	for range 12 {
		at := rng.IntN(len(key))
		out = append(out, key[:at]+key[at+1:], key[:at]+key[at:at+1]+key[at:])
		for _, b := range []string{":", "0", "\xff", "{", "é"} {
			out = append(out, key[:at]+b+key[at+1:])
		}
	}
	return out
}
