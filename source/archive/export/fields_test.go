package export_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/archive/export"
)

// packed returns a listpack of short texts.
func packed(texts ...string) string {
	out := make([]byte, 6)
	for _, text := range texts {
		out = append(append(out, 0x80|byte(len(text))), text...)
		out = append(out, byte(len(text)+1))
	}
	out = append(out, 0xff)
	binary.LittleEndian.PutUint32(out, uint32(len(out)))
	binary.LittleEndian.PutUint16(out[4:], uint16(len(texts)))
	return string(append([]byte{byte(len(out))}, out...))
}

// Hashes whose fields expire by themselves are exported with their fields and with when each expires, in every layout.
func TestFieldsThatExpire(t *testing.T) {
	t.Parallel()
	const at = 1_700_000_000_005
	u64 := func(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }
	long := "\x81" + string(binary.BigEndian.AppendUint64(nil, at))
	for name, value := range map[string]struct {
		payload string
		rdb     int
	}{
		"22, release candidate": {"\x16\x02\x00\x01f\x01v" + long + "\x01g\x01w", 12},
		"23, release candidate": {"\x17" + packed("f", "v", "0", "g", "w", "1700000000005"), 12},
		"24":                    {"\x18" + u64(at-5) + "\x02\x00\x01f\x01v\x06\x01g\x01w", 12},
		"25":                    {"\x19" + u64(at) + packed("f", "v", "0", "g", "w", "1700000000005"), 12},
		"22 of Valkey":          {"\x16\x02\x01f\x01v" + u64(1<<64-1) + "\x01g\x01w" + u64(at), 80},
	} {
		var file bytes.Buffer
		w, err := archive.NewWriter(&file, archive.Meta{ID: "x"}, archive.Plain)
		must(t, err)
		must(t, w.Add(&archive.Record{Entry: archive.Undeclared, Key: []byte("hash"), Kind: source.Hash, Form: archive.Dump,
			RDB: value.rdb, Payload: []byte(value.payload), Expires: 4102444800000}))
		_, err = w.Close()
		must(t, err)
		a, err := archive.Open(bytes.NewReader(file.Bytes()), int64(file.Len()))
		must(t, err)
		chain, err := archive.NewChain(a)
		must(t, err)
		var out bytes.Buffer
		r, err := export.JSONLines(t.Context(), &out, chain, export.Options{})
		must(t, err)
		if want := `"value":[["f","v"],["g","w",1700000000005]]}`; !strings.Contains(out.String(), want) || r.Refused > 0 {
			t.Errorf("%s: %s %+v", name, &out, r)
		}
		out.Reset()
		r, err = export.Commands(t.Context(), &out, chain, export.Options{})
		must(t, err)
		words := strings.Join(strings.FieldsFunc(out.String(), func(c rune) bool { return c == '\r' || c == '\n' }), " ")
		for _, want := range []string{"$4 HSET $4 hash $1 f $1 v", "$10 HPEXPIREAT $4 hash $13 1700000000005 $6 FIELDS $1 1 $1 g",
			"$9 PEXPIREAT $4 hash"} {
			if !strings.Contains(words, want) || r.Refused > 0 || strings.Count(words, "HPEXPIREAT") != 1 {
				t.Errorf("%s: no %q in %s %+v", name, want, words, r)
			}
		}
	}
}
