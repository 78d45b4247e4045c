package packed

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
)

// walked visits packed bytes of a form, and returns copies of the entries.
func walked(form, bytes string) (out []string, whole bool) {
	whole = Packings[form].Walk([]byte(bytes), func(e []byte) bool { out = append(out, string(e)); return true })
	return out, whole
}

// listpack packs entries as they are written; the length after each is left to back.
func listpack(entries ...string) string {
	body := ""
	for _, e := range entries {
		body += e + back(len(e))
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(ListpackHead+len(body)+1))
	return string(binary.LittleEndian.AppendUint16(head, uint16(len(entries)))) + body + "\xff"
}

// back is the length after an entry, as lpEncodeBacklen of Redis 7.0 has it.
func back(l int) string {
	size := 5
	switch {
	case l <= 127:
		return string([]byte{byte(l)})
	case l < 16383:
		size = 2
	case l < 2097151:
		size = 3
	case l < 268435455:
		size = 4
	}
	out := make([]byte, size)
	for i := range out {
		out[i] = byte(l>>(7*(size-1-i))) & 127
		if i > 0 {
			out[i] |= 128
		}
	}
	return string(out)
}

// long is the entry of a string of any length.
func long(n int) string {
	return string(binary.LittleEndian.AppendUint32([]byte{0xf0}, uint32(n))) + strings.Repeat("x", n)
}

// TestEntriesOfListpacks: every encoding of an entry, at its borders.
func TestEntriesOfListpacks(t *testing.T) {
	for entry, want := range map[string]string{
		"\x00": "0", "\x7f": "127", "\x80": "", "\x81a": "a", "\xbf" + strings.Repeat("y", 63): strings.Repeat("y", 63),
		"\xc0\x00": "0", "\xcf\xff": "4095", "\xd0\x00": "-4096", "\xdf\xff": "-1",
		"\xe0\x40" + strings.Repeat("z", 64): strings.Repeat("z", 64), "\xe0\x00": "",
		"\xef\xff" + strings.Repeat("z", 4095): strings.Repeat("z", 4095), "\xf0\x00\x00\x00\x00": "",
		"\xf0\x02\x00\x00\x00\xff\x00": "\xff\x00", long(5000): strings.Repeat("x", 5000),
		"\xf1\xff\x7f": "32767", "\xf1\x00\x80": "-32768", "\xf2\xff\xff\x7f": "8388607", "\xf2\x00\x00\x80": "-8388608",
		"\xf3\xff\xff\xff\x7f": "2147483647", "\xf3\x00\x00\x00\x80": "-2147483648",
		"\xf4\xff\xff\xff\xff\xff\xff\xff\x7f": "9223372036854775807",
		"\xf4\x00\x00\x00\x00\x00\x00\x00\x80": "-9223372036854775808", "\xf1\x00\x00": "0",
	} {
		got, whole := walked("listpack", listpack(entry, "\x05"))
		if !whole || !slices.Equal(got, []string{want, "5"}) {
			t.Errorf("%.20q: %.40q %t", entry, got, whole)
		}
		l := NewListpack([]byte(listpack("\x05", entry)))
		if n, v := l.Number(), string(l.Next()); n != 5 || v != want || l.Bad || !l.Ends() {
			t.Errorf("%.20q, one by one: %d %.40q, bad %t", entry, n, v, l.Bad)
		}
	}
}

// TestLengthsAfterEntries: an entry of any length is followed by as many bytes as the servers write: where the length
// is the largest number that the bytes could hold, by one more. A list of one text of 16378 bytes is such a value.
func TestLengthsAfterEntries(t *testing.T) {
	for _, n := range []int{0, 1, 122, 123, 16377, 16378, 16379, 2097145, 2097146, 2097147} {
		want := []string{strings.Repeat("x", n), "7"}
		p := listpack(long(n), "\x07")
		if got, whole := walked("listpack", p); !whole || !slices.Equal(got, want) {
			t.Errorf("a text of %d bytes: %t", n, whole)
		}
		l := NewListpack([]byte(p))
		if v, number := string(l.Next()), l.Number(); v != want[0] || number != 7 || !l.Ends() {
			t.Errorf("a text of %d bytes, one by one: then %d", n, number)
		}
	}
	for size, want := range map[int]int{0: 1, 1: 1, 127: 1, 128: 2, 16382: 2, 16383: 3, 16384: 3, 2097150: 3, 2097151: 4,
		268435454: 4, 268435455: 5, math.MaxUint32: 5} {
		if got := BackSize(size); got != want || want < 5 && got != len(back(size)) {
			t.Errorf("%d: %d bytes", size, got)
		}
	}
}

// TestHostileListpacks: what makes no sense is said, and what came before it was given. One by one the last entry must
// be whole, too.
func TestHostileListpacks(t *testing.T) {
	head := "\x00\x00\x00\x00\x00\x00"
	for _, c := range []struct {
		name, bytes string
		got         []string
	}{
		{"nothing", "", nil}, {"half a head", "\x00\x00\x00", nil}, {"a head alone", head, nil},
		{"no end", head + "\x05\x01", []string{"5"}}, {"no length after an entry", head + "\x05", []string{"5"}},
		{"half a length after an entry", head + long(200) + "\x01", []string{strings.Repeat("x", 200)}},
		{"a text cut short", head + "\x86abc\x06\xff", nil}, {"a text of 12 bits cut short", head + "\xe1\x00abc", nil},
		{"half its head", head + "\xe1", nil}, {"a text of 32 bits cut short", head + "\xf0\xff\xff\xff\xffabc\xff", nil},
		{"half its head", head + "\xf0\x01\x00\x00", nil}, {"half a number of 13 bits", head + "\xc1", nil},
		{"half a number of 16 bits", head + "\xf1\x01", nil}, {"half of 24", head + "\xf2\x01\x01", nil},
		{"half of 32", head + "\xf3\x01\x01\x01", nil}, {"half of 64", head + "\xf4\x01\x01\x01\x01\x01\x01\x01", nil},
		{"an encoding that there is not", head + "\xf5\x01\xff", nil}, {"another", head + "\xfe\x01\xff", nil},
		{"one after a good entry", head + "\x07\x01\xf5\x01\xff", []string{"7"}},
	} {
		got, whole := walked("listpack", c.bytes)
		if whole || !slices.Equal(got, c.got) {
			t.Errorf("%s: %.40q %t", c.name, got, whole)
		}
		l := NewListpack([]byte(c.bytes))
		for range 3 {
			l.Next()
		}
		if !l.Bad || l.Ends() {
			t.Errorf("%s, one by one: bad %t", c.name, l.Bad)
		}
		if v := l.Next(); v != nil || !l.Bad {
			t.Errorf("%s: %q after the fault", c.name, v)
		}
	}
	words := NewListpack([]byte(listpack("\x81a")))
	if n := words.Number(); n != 0 || !words.Bad || words.Ends() {
		t.Errorf("a word is the number %d", n)
	}
	early := NewListpack([]byte(listpack("\x01", "\x02")))
	if early.Next(); early.Ends() {
		t.Error("it ends before its last entry")
	}
	empty := NewListpack([]byte(listpack()))
	if !empty.Ends() || empty.Next() != nil || empty.Ends() {
		t.Error("an empty one")
	}
	after := NewListpack([]byte(listpack() + "x"))
	if after.Ends() {
		t.Error("bytes after the end")
	}
}

// ziplist packs entries as they are written, each after the length of the one before it.
func ziplist(entries ...string) string {
	body, before := "", 0
	for _, e := range entries {
		if before < 254 {
			body += string([]byte{byte(before)})
		} else {
			body += string(binary.LittleEndian.AppendUint32([]byte{0xfe}, uint32(before)))
		}
		body += e
		before = len(e)
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(ziplistHead+len(body)+1))
	head = binary.LittleEndian.AppendUint32(head, 0)
	return string(binary.LittleEndian.AppendUint16(head, uint16(len(entries)))) + body + "\xff"
}

// TestEntriesOfZiplists: every encoding of an entry, at its borders, before an entry and after one.
func TestEntriesOfZiplists(t *testing.T) {
	for entry, want := range map[string]string{
		"\x00": "", "\x01a": "a", "\x3f" + strings.Repeat("y", 63): strings.Repeat("y", 63),
		"\x40\x40" + strings.Repeat("z", 64):               strings.Repeat("z", 64),
		"\x7f\xff" + strings.Repeat("z", 16383):            strings.Repeat("z", 16383),
		"\x80\x00\x00\x00\x02\xff\x00":                     "\xff\x00",
		"\x80\x00\x00\x01\x00" + string(make([]byte, 256)): string(make([]byte, 256)),
		"\xc0\xff\x7f": "32767", "\xc0\x00\x80": "-32768", "\xd0\xff\xff\xff\x7f": "2147483647",
		"\xd0\x00\x00\x00\x80": "-2147483648", "\xe0\xff\xff\xff\xff\xff\xff\xff\x7f": "9223372036854775807",
		"\xe0\x00\x00\x00\x00\x00\x00\x00\x80": "-9223372036854775808", "\xf0\xff\xff\x7f": "8388607",
		"\xf0\x00\x00\x80": "-8388608", "\xfe\x7f": "127", "\xfe\x80": "-128", "\xf1": "0", "\xfd": "12", "\xf7": "6",
	} {
		if got, whole := walked("ziplist", ziplist(entry, "\x01b", entry)); !whole ||
			!slices.Equal(got, []string{want, "b", want}) {
			t.Errorf("%.20q: %.60q %t", entry, got, whole)
		}
	}
	head := string(make([]byte, ziplistHead))
	for name, bytes := range map[string]string{"nothing": "", "a head alone": head, "half a head": head[:9],
		"no entry after a length": head + "\x00", "half a length before an entry": head + "\xfe\x01\x00\x00\x00",
		"no end": head + "\x00\xf1", "a text cut short": head + "\x00\x05abc\xff", "of 14 bits": head + "\x00\x41\x00ab",
		"half its head": head + "\x00\x41", "of 32 bits": head + "\x00\x80\xff\xff\xff\xffab",
		"half of it": head + "\x00\x80\x00\x00\x00", "half a number": head + "\x00\xc0\x01",
		"another": head + "\x00\xe0\x01\x01\x01\x01\x01\x01\x01", "no encoding": head + "\x00\xc1\x01\xff",
		"none either": head + "\x00\xff\x01\xff"} {
		if got, whole := walked("ziplist", bytes); whole {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestIntsets: numbers of each width, and what is no intset.
func TestIntsets(t *testing.T) {
	intset := func(width, n uint32, body string) string {
		head := binary.LittleEndian.AppendUint32(nil, width)
		return string(binary.LittleEndian.AppendUint32(head, n)) + body
	}
	for _, c := range []struct {
		bytes string
		want  []string
		whole bool
	}{
		{intset(2, 2, "\xff\xff\x07\x00"), []string{"-1", "7"}, true},
		{intset(4, 2, "\x00\x00\x00\x80\xff\xff\xff\x7f"), []string{"-2147483648", "2147483647"}, true},
		{intset(8, 1, "\x00\x00\x00\x00\x00\x00\x00\x80"), []string{"-9223372036854775808"}, true},
		{intset(2, 0, ""), nil, true},
		{intset(2, 2, "\x01\x00\x02"), []string{"1"}, false},
		{intset(0, 1, "\x01"), nil, false}, {intset(1, 1, "\x01"), nil, false}, {intset(3, 1, "\x01\x02\x03"), nil, false},
		{intset(math.MaxUint32, 1, "\x01"), nil, false}, {"\x02\x00\x00\x00", nil, false}, {"", nil, false},
	} {
		if got, whole := walked("intset", c.bytes); !slices.Equal(got, c.want) || whole != c.whole {
			t.Errorf("%q: %q %t", c.bytes, got, whole)
		}
	}
}

// TestZipmaps: fields and values, with space that is not used after a value, and what is no zipmap.
func TestZipmaps(t *testing.T) {
	big := strings.Repeat("v", 300)
	long := "\xfe\x2c\x01\x00\x00"
	for _, c := range []struct {
		bytes string
		want  []string
		whole bool
	}{
		{"\x00\xff", nil, true}, {"\x01\x01a\x02\x00bc\xff", []string{"a", "bc"}, true},
		{"\x01\x01a\x02\x03bc???\x01x\x00\x00\xff", []string{"a", "bc", "x", ""}, true},
		{"\x01" + long + big + long + "\x01" + big + "?\xff", []string{big, big}, true},
		{"\x01\x01a\x01\x00b", []string{"a", "b"}, false}, {"", nil, false}, {"\x00", nil, false},
		{"\x01\x02a", nil, false}, {"\x01\x01a\x01", []string{"a"}, false}, {"\x01\x01a\x01\x05b\xff", []string{"a"}, false},
		{"\x01\xfe\x01\x00\x00", nil, false}, {"\x01\xfe\xff\xff\xff\xffa\xff", nil, false},
	} {
		if got, whole := walked("zipmap", c.bytes); !slices.Equal(got, c.want) || whole != c.whole {
			t.Errorf("%.30q: %.60q %t", c.bytes, got, whole)
		}
	}
}

// TestHeads: what the head of a packed value says of it: its bytes, and its entries unless they must be counted.
func TestHeads(t *testing.T) {
	for _, c := range []struct {
		form, head string
		size, n    uint64
		counted    bool
	}{
		{"listpack", "\x10\x00\x00\x00\x05\x00", 16, 5, true}, {"listpackex", "\x10\x01\x00\x00\xfe\xff", 272, 65534, true},
		{"listpack", "\xff\xff\xff\xff\xff\xff", math.MaxUint32, Uncounted, false},
		{"ziplist", "\x0b\x00\x00\x00\x0a\x00\x00\x00\x02\x01", 11, 258, true},
		{"ziplist", "\x0b\x00\x00\x00\x0a\x00\x00\x00\xff\xff", 11, Uncounted, false},
		{"intset", "\x08\x00\x00\x00\x03\x00\x00\x00", 32, 3, true},
		{"intset", "\xff\xff\xff\xff\xff\xff\xff\xff", 8 + math.MaxUint32*math.MaxUint32, math.MaxUint32, true},
		{"zipmap", "\xfd", 0, 506, true}, {"zipmap", "\xfe", 0, 508, false},
	} {
		form := Packings[c.form]
		n, counted := form.N([]byte(c.head))
		if n != c.n || counted != c.counted || form.Head != len(c.head) || form.Head > MaxHead {
			t.Errorf("%s %q: %d %t", c.form, c.head, n, counted)
		}
		if form.Size != nil && form.Size([]byte(c.head)) != c.size {
			t.Errorf("%s %q: %d bytes", c.form, c.head, form.Size([]byte(c.head)))
		}
	}
}

// TestVisitsEnd: who has seen enough is given no more, and the value counts as whole.
func TestVisitsEnd(t *testing.T) {
	for form, bytes := range map[string]string{"listpack": listpack("\x01", "\x02", "\xf5"),
		"ziplist": ziplist("\xf2", "\xf3", "\xc1"), "intset": "\x02\x00\x00\x00\x09\x00\x00\x00\x01\x00\x02\x00\x03",
		"zipmap": "\x01\x011\x01\x002\x09"} {
		var got []string
		whole := Packings[form].Walk([]byte(bytes), func(e []byte) bool {
			got = append(got, string(e))
			return len(got) < 2
		})
		if !whole || !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("%s: %q %t", form, got, whole)
		}
	}
}

// TestPackedRoundTrip: what is packed is visited, whatever it is; and cut anywhere, or with a byte changed, it is no
// harm: no entry is outside of the bytes.
func TestPackedRoundTrip(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		var packed, zipped, want []string
		for range rapid.IntRange(0, 8).Draw(t, "entries") {
			if rapid.Bool().Draw(t, "number") {
				n := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-5000, 5000)).Draw(t, "n")
				packed = append(packed, string(binary.LittleEndian.AppendUint64([]byte{0xf4}, uint64(n))))
				zipped = append(zipped, string(binary.LittleEndian.AppendUint64([]byte{0xe0}, uint64(n))))
				want = append(want, strconv.FormatInt(n, 10))
				continue
			}
			text := string(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "text"))
			packed = append(packed, string(binary.LittleEndian.AppendUint32([]byte{0xf0}, uint32(len(text))))+text)
			zipped = append(zipped, string(binary.BigEndian.AppendUint32([]byte{0x80}, uint32(len(text))))+text)
			want = append(want, text)
		}
		for form, bytes := range map[string]string{"listpack": listpack(packed...), "ziplist": ziplist(zipped...)} {
			if got, whole := walked(form, bytes); !whole || !slices.Equal(got, want) {
				t.Fatalf("%s: %q %t, want %q", form, got, whole, want)
			}
			cut := rapid.IntRange(0, len(bytes)-1).Draw(t, "cut")
			if _, whole := walked(form, bytes[:cut]); whole {
				t.Fatalf("%s of %d bytes, cut to %d, is whole", form, len(bytes), cut)
			}
			changed := []byte(bytes)
			changed[cut] = rapid.Byte().Draw(t, "byte")
			walked(form, string(changed))
			l := NewListpack(changed)
			for i := 0; !l.Bad && i <= len(changed); i++ {
				l.Next()
			}
		}
	})
}

func ExampleWalkListpack() {
	WalkListpack([]byte("\x0c\x00\x00\x00\x02\x00\x82hi\x03\x07\x01\xff"), func(e []byte) bool {
		fmt.Printf("%s\n", e)
		return true
	})
	// Output:
	// hi
	// 7
}
