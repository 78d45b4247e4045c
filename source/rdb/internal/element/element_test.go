package element

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/source/rdb/fault"
	"github.com/keywright/keywright/source/rdb/internal/layout"
	"github.com/keywright/keywright/source/rdb/internal/packed"
	"github.com/keywright/keywright/source/rdb/internal/window"
	"pgregory.net/rapid"
)

// given is what a value gave: its elements, how many there were in each part, and what stopped it.
type given struct {
	elements []string
	parts    []int
	more     []bool
	fault    string // of the snapshot
	why      string // the value cannot be given
	left     int    // bytes that were not read
}

// read reads one value of a layout.
func read(l *layout.Layout, bytes string, templates map[uint64][]string, run func(*Parting)) (g given) {
	w := window.New([]byte(bytes))
	p := &Parting{Window: w, Layout: l, Taken: 1000, Templates: templates}
	p.Each = func(elements [][]byte, more bool) error {
		for _, e := range elements {
			g.elements = append(g.elements, string(e))
		}
		g.parts, g.more = append(g.parts, len(elements)), append(g.more, more)
		return nil
	}
	run(p)
	p.Finish()
	if w.Err != nil {
		g.fault = w.Err.Error()
	}
	if p.Why != nil {
		g.why = p.Why.Error()
	}
	g.left = w.End - w.Pos
	return g
}

func redis(code byte) *layout.Layout { return &layout.Of(false)[code] }

// count is a length, str a string, list several strings after their number.
func count(n uint64) string { return string(window.AppendLength(nil, n)) }
func str(s string) string   { return count(uint64(len(s))) + s }
func list(n uint64, all ...string) string {
	out := count(n)
	for _, s := range all {
		out += str(s)
	}
	return out
}

// pack packs texts and numbers: a listpack.
func pack(entries ...any) string {
	body := ""
	for _, e := range entries {
		var one string
		switch e := e.(type) {
		case int:
			one = string(binary.LittleEndian.AppendUint64([]byte{0xf4}, uint64(e)))
		case string:
			one = string(binary.LittleEndian.AppendUint32([]byte{0xf0}, uint32(len(e)))) + e
		}
		body += one
		size := packed.BackSize(len(one))
		for i := range size {
			b := byte(len(one)>>(7*(size-1-i))) & 127
			if i > 0 {
				b |= 128
			}
			body += string([]byte{b})
		}
	}
	return "\x00\x00\x00\x00\x00\x00" + body + "\xff"
}

// zip packs texts of less than 64 bytes: a ziplist.
func zip(entries ...string) string {
	body, before := "", byte(0)
	for _, e := range entries {
		body += string([]byte{before, byte(len(e))}) + e
		before = byte(len(e) + 1)
	}
	return string(make([]byte, 10)) + body + "\xff"
}

func float(f float64) string {
	return string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)))
}

// TestValues: the elements of a value of each form.
func TestValues(t *testing.T) {
	names := map[uint64][]string{3: {"name", "age"}}
	for _, c := range []struct {
		name  string
		code  byte
		bytes string
		want  []string
	}{
		{"a string", 0, str("abc"), []string{"abc"}}, {"an empty one", 0, str(""), []string{""}},
		{"a number", 0, "\xc0\xf9", []string{"-7"}}, {"a compressed one", 0, "\xc3\x04\x04\x00a\x20\x00", []string{"aaaa"}},
		{"a list of old", 1, list(2, "a", ""), []string{"a", ""}}, {"an empty list", 1, list(0), nil},
		{"a set", 2, list(2, "a", "b"), []string{"a", "b"}}, {"a hash", 4, list(1, "f", "v"), []string{"f", "v"}},
		{"a sorted set of old", 3, count(3) + str("a") + "\x031.5" + str("b") + "\xfe" + str("c") + "\xff",
			[]string{"a", "1.5", "b", "inf", "c", "-inf"}},
		{"a sorted set", 5, count(2) + str("a") + float(-0.1) + str("b") + float(math.Inf(1)),
			[]string{"a", "-0.1", "b", "inf"}},
		{"a zipmap", 9, str("\x01\x01f\x01\x00v\xff"), []string{"f", "v"}},
		{"a list in a ziplist", 10, str(zip("a", "b", "c")), []string{"a", "b", "c"}},
		{"an intset", 11, str("\x02\x00\x00\x00\x02\x00\x00\x00\xff\xff\x05\x00"), []string{"-1", "5"}},
		{"a sorted set in a ziplist", 12, str(zip("a", "1.50", "b", "1e3")), []string{"a", "1.5", "b", "1000"}},
		{"a hash in a ziplist", 13, str(zip("f", "1.50")), []string{"f", "1.50"}},
		{"a list of ziplists", 14, list(2, zip("a", "b"), zip("c")), []string{"a", "b", "c"}},
		{"a hash in a listpack", 16, str(pack("f", 7)), []string{"f", "7"}},
		{"a sorted set in a listpack", 17, str(pack("a", 7, "b", "-inf", "c", "x")),
			[]string{"a", "7", "b", "-inf", "c", "x"}},
		{"a list of listpacks and a long one", 18, count(3) + "\x02" + str(pack("a", 1)) + "\x01" + str("plain") + "\x02" +
			str(pack("z")), []string{"a", "1", "plain", "z"}},
		{"a set in a listpack", 20, str(pack("a", -1)), []string{"a", "-1"}},
		{"an empty listpack", 20, str(pack()), nil},
		{"a hash of a template", 32, "\x03" + str("ann") + str("7"), []string{"name", "ann", "age", "7"}},
		{"a packed hash of a template", 30, str(pack(3, "ann", 7)), []string{"name", "ann", "age", "7"}},
	} {
		g := read(redis(c.code), c.bytes+"rest", names, (*Parting).Run)
		if !slices.Equal(g.elements, c.want) || g.fault+g.why != "" || g.left != 4 || !slices.Equal(g.more, []bool{false}) {
			t.Errorf("%s: %+v", c.name, g)
		}
		p := &Parting{Layout: redis(c.code), Templates: names}
		if !p.Knows() {
			t.Errorf("%s is not known", c.name)
		}
		for cut := range len(c.bytes) { // no cut value is whole
			if g := read(redis(c.code), c.bytes[:cut], names, (*Parting).Run); g.fault == "" {
				t.Errorf("%s, cut to %d bytes of %d: %+v", c.name, cut, len(c.bytes), g)
			}
		}
	}
}

// TestWhatIsKnown: which forms are given in parts.
func TestWhatIsKnown(t *testing.T) {
	known := map[byte]bool{}
	for code := range byte(40) {
		if (&Parting{Layout: redis(code)}).Knows() {
			known[code] = true
		}
	}
	for _, code := range []byte{0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21} {
		if !known[code] {
			t.Errorf("%d is not known", code)
		}
		delete(known, code)
	}
	if len(known) > 0 {
		t.Errorf("%v are known, too", known)
	}
}

// TestDamagedValues: packed values that make no sense, pairs that lack one, nodes and templates that there are not.
func TestDamagedValues(t *testing.T) {
	const damaged = "a packed value whose entries make no sense"
	names := map[uint64][]string{3: {"name", "age"}}
	for _, c := range []struct {
		name  string
		code  byte
		bytes string
		fault string
	}{
		{"a hash of one text", 16, str(pack("f")), damaged}, {"of three", 13, str(zip("f", "v", "g")), damaged},
		{"a score that lacks", 17, str(pack("a", 1, "b")), damaged}, {"no listpack", 20, str("abc"), damaged},
		{"an entry of no kind", 20, str("\x00\x00\x00\x00\x00\x00\xf5\x01\xff"), damaged},
		{"a damaged node of a list", 14, list(1, zip("a")[:12]), damaged},
		{"a node of a kind that there is not", 18, count(1) + "\x03" + str("x"),
			"a list's node of kind 3, which is " + fault.ErrUnknown.Error()},
		{"a template that there is not", 32, "\x04" + str("ann"), "a hash of template 4, which the snapshot does not have"},
		{"a packed one", 30, str(pack(4, "ann")), damaged}, {"one that lacks a value", 30, str(pack(3, "ann")), damaged},
		{"one with a value too many", 30, str(pack(3, "ann", 7, 8)), damaged},
		{"one without anything", 30, str(pack()), damaged},
		{"a template that is a word", 30, str(pack("x", "ann", 7)), damaged},
		{"a stream under a short name", 15, count(1) + str("short") + str(pack()),
			"a stream's node under a name of 5 bytes: it should be an id of 16"},
	} {
		g := read(redis(c.code), c.bytes, names, (*Parting).Run)
		if !strings.HasSuffix(g.fault, ": "+c.fault) || g.why != "" || slices.Contains(g.more, false) {
			t.Errorf("%s: %+v", c.name, g)
		}
	}
}

// TestParts: a part ends after so many elements or bytes, never between a field and its value, and the last one says
// that none follows.
func TestParts(t *testing.T) {
	var fields, thousand []string
	for i := range 1250 {
		fields = append(fields, fmt.Sprint("f", i), "v")
		thousand = append(thousand, fmt.Sprint(i))
	}
	big := strings.Repeat("x", 100<<10)
	for _, c := range []struct {
		name  string
		code  byte
		bytes string
		parts []int
	}{
		{"elements", 2, list(1250, thousand...), []int{1000, 250}},
		{"just as many as a part has", 2, list(1000, thousand[:1000]...), []int{1000}},
		{"one more", 2, list(1001, thousand[:1001]...), []int{1000, 1}},
		{"pairs", 4, list(1250, fields...), []int{1000, 1000, 500}},
		{"bytes", 2, list(7, big, big, big, big, big, big, big), []int{3, 3, 1}},
		{"pairs of bytes", 4, list(3, big, big, big, big, big, big), []int{4, 2}},
		{"a string", 0, str(strings.Repeat("y", 600<<10)), []int{1, 1, 1}},
		{"a string of just two parts", 0, str(strings.Repeat("y", 512<<10)), []int{1, 1}},
		{"one byte more", 0, str(strings.Repeat("y", 512<<10+1)), []int{1, 1, 1}},
	} {
		g := read(redis(c.code), c.bytes, nil, (*Parting).Run)
		more := slices.Repeat([]bool{true}, len(c.parts))
		more[len(more)-1] = false
		if !slices.Equal(g.parts, c.parts) || !slices.Equal(g.more, more) || g.fault+g.why != "" {
			t.Errorf("%s: parts of %d, more %t, %s%s", c.name, g.parts, g.more, g.fault, g.why)
		}
		if whole := strings.Join(g.elements, ""); c.code == 0 && whole != strings.Repeat("y", len(whole)) ||
			len(whole) < len(c.bytes)*9/10-len(g.elements)*2 {
			t.Errorf("%s: %d bytes were given of %d", c.name, len(whole), len(c.bytes))
		}
	}
	if g := read(redis(2), list(1250, thousand...), nil, (*Parting).Run); !slices.Equal(g.elements, thousand) {
		t.Errorf("the elements of two parts: %q", g.elements)
	}
}

// TestWhoTakesPartsEndsReading: an error of who is given the parts is the error, and nothing is given after it.
func TestWhoTakesPartsEndsReading(t *testing.T) {
	var members []string
	for i := range 3000 {
		members = append(members, fmt.Sprint(i))
	}
	full := errors.New("the disk is full")
	w := window.New([]byte(list(3000, members...)))
	calls := 0
	p := &Parting{Window: w, Layout: redis(2), Each: func([][]byte, bool) error { calls++; return full }}
	p.Run()
	p.Finish()
	if calls != 1 || w.Err != full {
		t.Errorf("%d calls, %v", calls, w.Err)
	}
}

// TestTooLarge: a value with an element or a packed value that is too large is passed whole, and the reason is said;
// what comes after it can be read.
func TestTooLarge(t *testing.T) {
	large := strings.Repeat("x", MaxElement+1)
	const element = "an element of it has more than 31 MiB, which is more than an archive takes"
	const blob = "it has a packed value of 16777217 bytes, more than the 16777216 that are unpacked"
	for _, c := range []struct {
		name  string
		code  byte
		bytes string
		why   string
	}{
		{"a member", 2, list(2, large, "a"), element},
		{"a packed value", 20, str(large[:maxBlob+1]), blob}, {"a node of a list", 14, list(2, large[:maxBlob+1], "?"), blob},
	} {
		g := read(redis(c.code), c.bytes+"rest", nil, (*Parting).Run)
		if g.why != c.why || g.fault != "" || g.left != 4 || len(g.parts) > 0 {
			t.Errorf("%s: %s%s, %d left, parts %d", c.name, g.why, g.fault, g.left, g.parts)
		}
	}
}

// TestExpiringFields: a hash some of whose fields expire, as each version writes it: the time is an element after the
// value, and 0 says that it stays.
func TestExpiringFields(t *testing.T) {
	valkey := &layout.Of(true)[22]
	at := func(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }
	for _, c := range []struct {
		name   string
		layout *layout.Layout
		bytes  string
		want   []string
	}{
		{"before the field", redis(22), count(2) + count(0) + str("a") + str("1") + count(5000) + str("b") + str("2"),
			[]string{"a", "1", "0", "b", "2", "5000"}},
		{"after the first", redis(24), at(5000) + count(3) + count(0) + str("a") + str("1") + count(1) + str("b") + str("2") +
			count(101) + str("c") + str("3"), []string{"a", "1", "0", "b", "2", "5000", "c", "3", "5100"}},
		{"after the value", valkey, count(2) + str("a") + str("1") + at(math.MaxUint64) + str("b") + str("2") + at(5000),
			[]string{"a", "1", "0", "b", "2", "5000"}},
		{"none", valkey, count(0), nil},
	} {
		g := read(c.layout, c.bytes+"rest", nil, (*Parting).ExpiringTable)
		if !slices.Equal(g.elements, c.want) || g.fault+g.why != "" || g.left != 4 {
			t.Errorf("%s: %+v", c.name, g)
		}
	}
	if g := read(valkey, count(2)+str("a")+str("1")+"\x00", nil, (*Parting).ExpiringTable); g.fault == "" {
		t.Errorf("cut: %+v", g)
	}
}

// rawID is an id of a stream as it is in a snapshot.
func rawID(ms, seq uint64) string {
	return string(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, ms), seq))
}

// node packs a node of a stream: its name, and entries below the master's fields.
func node(ms, seq uint64, fields []any, entries ...any) string {
	master := append([]any{1, 0, len(fields)}, fields...)
	return str(rawID(ms, seq)) + str(pack(append(append(master, 0), entries...)...))
}

// end is what a stream of version 1 has after its nodes, without groups.
const end = "\x02\x05\x01\x00"

// TestEntriesOfStreams: entries with the fields of the master and with their own, deleted ones, and what makes no
// sense.
func TestEntriesOfStreams(t *testing.T) {
	const damaged = "a packed value whose entries make no sense"
	fields := []any{"f", "g"}
	state := `{"last_id":"5-1","added":2}`
	for _, c := range []struct {
		name  string
		nodes []string
		want  []string // nil: damaged
	}{
		{"no entry", nil, []string{state}},
		{"the master's fields", []string{node(5, 0, fields, 2, 0, 0, "a", 7, 4, 2, 1, 1, "b", "c", 4)},
			[]string{"5-0", "4", "f", "a", "g", "7", "6-1", "4", "f", "b", "g", "c", state}},
		{"fields of its own", []string{node(5, 0, fields, 0, 0, 1, 1, "x", "y", 6)}, []string{"5-1", "2", "x", "y", state}},
		{"a number for a field", []string{node(5, 0, nil, 0, 0, 1, 1, 300, 400, 6)},
			[]string{"5-1", "2", "300", "400", state}},
		{"no field", []string{node(5, 0, nil, 0, 0, 1, 0, 4)}, []string{"5-1", "0", state}},
		{"a deleted one between",
			[]string{node(5, 0, fields, 2, 0, 0, "a", "b", 5, 3, 1, 0, "c", "d", 5, 2, 2, 0, "e", "f", 5)},
			[]string{"5-0", "4", "f", "a", "g", "b", "7-0", "4", "f", "e", "g", "f", state}},
		{"two nodes", []string{node(5, 0, []any{"f"}, 2, 0, 0, "a", 4), node(9, 9, []any{"g"}, 2, 0, 0, "b", 4)},
			[]string{"5-0", "2", "f", "a", "9-9", "2", "g", "b", state}},
		{"an entry cut short", []string{node(5, 0, fields, 2, 0, 0, "a")}, nil},
		{"a word for its flags", []string{node(5, 0, fields, "x", 0, 0, "a", "b", 4)}, nil},
		{"fewer fields than it says", []string{node(5, 0, nil, 0, 0, 1, 2, "x", "y", 6)}, nil},
		{"less than no field", []string{node(5, 0, nil, 0, 0, 1, -1, 6)}, nil},
		{"very many fields", []string{node(5, 0, nil, 0, 0, 1, math.MaxInt64, 6)}, nil},
		{"a master with very many", []string{str(rawID(5, 0)) + str(pack(1, 0, maxNamed+1, "f", 0))}, nil},
		{"a master with less than none", []string{str(rawID(5, 0)) + str(pack(1, 0, -1, 0))}, nil},
		{"a master cut short", []string{str(rawID(5, 0)) + str(pack(1, 0, 2, "f"))}, nil},
		{"no listpack", []string{str(rawID(5, 0)) + str("x")}, nil},
	} {
		bytes := count(uint64(len(c.nodes))) + strings.Join(c.nodes, "")
		g := read(redis(15), bytes+end+"rest", nil, (*Parting).Run)
		if c.want == nil {
			if !strings.HasSuffix(g.fault, damaged) {
				t.Errorf("%s: %+v", c.name, g)
			}
			continue
		}
		if !slices.Equal(g.elements, c.want) || g.fault+g.why != "" || g.left != 4 {
			t.Errorf("%s: %+v", c.name, g)
		}
		if n := len(g.parts); n != min(2, len(c.nodes)+1) || g.parts[n-1] != 1 {
			t.Errorf("%s: what is beside the entries is no part of its own: %d", c.name, g.parts)
		}
	}
}

// TestGroupsOfStreams: what a stream has beside its entries, by version: groups, their consumers, what is pending.
func TestGroupsOfStreams(t *testing.T) {
	at := func(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }
	pending := func(id string, when, deliveries uint64) string { return id + at(when) + count(deliveries) }
	group := func(version int, name string, last, readCount, all, consumers string) string {
		if version < 2 {
			readCount = ""
		}
		return str(name) + last + readCount + all + consumers
	}
	consumer := func(version int, name, own string) string {
		if version >= 3 {
			return str(name) + at(1) + at(2) + own
		}
		return str(name) + at(1) + own
	}
	for _, c := range []struct {
		version byte
		code    byte
		head    string
		want    string
	}{
		{1, 15, "\x00" + "\x05\x01", `{"last_id":"5-1","groups":[{"name":"Zw==","last_id":"5-1","read":0,` +
			`"consumers":["YQ==","Yg=="],"pending":[{"id":"4-0","consumer":"Yg==","idle":100,"deliveries":3},` +
			`{"id":"5-1","consumer":"YQ==","idle":0,"deliveries":1}]},{"name":"","last_id":"0-0","read":0}]}`},
		{2, 19, "\x02" + "\x05\x01" + "\x04\x00" + "\x03\x07" + "\x09",
			`{"last_id":"5-1","max_deleted":"3-7","added":9,"groups":[{"name":"Zw==","last_id":"5-1","read":8,` +
				`"consumers":["YQ==","Yg=="],"pending":[{"id":"4-0","consumer":"Yg==","idle":100,"deliveries":3},` +
				`{"id":"5-1","consumer":"YQ==","idle":0,"deliveries":1}]},{"name":"","last_id":"0-0","read":-1}]}`},
		{3, 21, "\x02" + "\x05\x01" + "\x04\x00" + "\x00\x00" + "\x09",
			`{"last_id":"5-1","max_deleted":"0-0","added":9,"groups":[{"name":"Zw==","last_id":"5-1","read":8,` +
				`"consumers":["YQ==","Yg=="],"pending":[{"id":"4-0","consumer":"Yg==","idle":100,"deliveries":3},` +
				`{"id":"5-1","consumer":"YQ==","idle":0,"deliveries":1}]},{"name":"","last_id":"0-0","read":-1}]}`},
	} {
		v := int(c.version)
		all := count(2) + pending(rawID(4, 0), 900, 3) + pending(rawID(5, 1), 2000, 1)
		consumers := count(2) + consumer(v, "a", count(2)+rawID(5, 1)+rawID(7, 7)) + consumer(v, "b", count(1)+rawID(4, 0))
		groups := count(2) + group(v, "g", "\x05\x01", "\x08", all, consumers) +
			group(v, "", "\x00\x00", "\x81\xff\xff\xff\xff\xff\xff\xff\xff", count(0), count(0))
		bytes := count(0) + c.head + groups
		g := read(redis(c.code), bytes+"rest", nil, (*Parting).Run)
		if !slices.Equal(g.elements, []string{c.want}) || g.fault+g.why != "" || g.left != 4 {
			t.Errorf("version %d: %+v\nwant %s", c.version, g, c.want)
		}
		for cut := range len(bytes) {
			if g := read(redis(c.code), bytes[:cut], nil, (*Parting).Run); g.fault == "" {
				t.Errorf("version %d, cut to %d: %+v", c.version, cut, g)
			}
		}
	}
	long := strings.Repeat("n", 1<<20+1)
	g := read(redis(15), count(0)+"\x00\x00\x00"+count(1)+str(long)+"\x00\x00\x00\x00rest", nil, (*Parting).Run)
	if g.why != "a name in it has 1048577 bytes" || g.left != 4 || g.fault != "" {
		t.Errorf("a long name: %s%s, %d left", g.why, g.fault, g.left)
	}
}

// TestHostileValues: of bytes that are no value nothing is given that is not there, and reading ends.
func TestHostileValues(t *testing.T) {
	codes := []byte{0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 30, 32}
	valid := []string{list(2, "a", "b"), str(pack("a", 1, "b", 2)), str(zip("a", "b")),
		node(5, 0, []any{"f"}, 2, 0, 0, "a", 4), count(1) + "\x02" + str(pack("a"))}
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		bytes := []byte(rapid.SampledFrom(valid).Draw(t, "value") + rapid.SampledFrom(valid).Draw(t, "rest"))
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			bytes[rapid.IntRange(0, len(bytes)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		for _, code := range codes {
			g := read(redis(code), string(bytes), map[uint64][]string{1: {"n"}}, (*Parting).Run)
			size := 0
			for _, e := range g.elements {
				size += len(e)
			}
			if size > 264*len(bytes)+1000 {
				t.Fatalf("%d bytes of %d: %+v", size, len(bytes), g)
			}
		}
	})
}
