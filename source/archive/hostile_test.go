package archive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"runtime"
	"strings"
	"testing"

	"github.com/keywright/keywright/source/archive"
)

// forged returns a section with right checksums.
func forged(kind byte, body []byte) []byte {
	stored, _ := archive.Deflate.Pack(nil, body)
	if kind == 'F' {
		stored = body
	}
	head := []byte{kind, archive.Deflate.ID, 0, 0}
	if kind == 'F' {
		head[1] = archive.Plain.ID
	}
	head = binary.LittleEndian.AppendUint32(head, uint32(len(stored)))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(body)))
	table := crc32.MakeTable(crc32.Castagnoli)
	head = binary.LittleEndian.AppendUint32(head, crc32.Update(crc32.Update(0, table, head), table, stored))
	return append(head, stored...)
}

// forgedArchive returns one without blocks, with a header and an index of one's own.
func forgedArchive(header, index string) []byte {
	out := append([]byte(archive.Magic), forged('H', []byte(header))...)
	foot := make([]byte, 24)
	binary.LittleEndian.PutUint64(foot, uint64(len(out)))
	binary.LittleEndian.PutUint64(foot[8:], 1<<40) // blocks, as it says
	out = append(out, forged('I', []byte(index))...)
	sum := sha256.Sum256(out)
	return append(out, forged('F', append(foot, sum[:]...))...)
}

// Small values in a header or an index, of which 60 MiB fit into a file of 60 KiB, take
// no more memory than the section itself.
func TestSmallValuesAreBounded(t *testing.T) {
	many := func(value string) string {
		return strings.Repeat(value+",", 20<<20/(len(value)+1)) + value
	}
	header, index := `{"entries":[]}`, `{"entries":[{}]}`
	for name, file := range map[string][]byte{
		"entries": forgedArchive(`{"entries":[`+many(`""`)+`]}`, index),
		"shards":  forgedArchive(`{"shards":[`+many(`{}`)+`]}`, index),
		"index":   forgedArchive(header, `{"entries":[`+many(`{}`)+`]}`),
		"torn":    forgedArchive(header, `{"entries":[{}],"torn_keys":[`+many(`""`)+`]}`),
		"blocks":  forgedArchive(header, `{"entries":[{"blocks":[`+many(`{}`)+`]}]}`),
	} {
		for way, reading := range map[string]func() error{
			"open":   func() error { _, err := archive.Open(bytes.NewReader(file), int64(len(file))); return err },
			"verify": func() error { _, _, err := archive.Verify(bytes.NewReader(file)); return err },
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := reading()
			runtime.ReadMemStats(&after)
			if taken := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, archive.ErrTooLarge) || taken > 160<<20 {
				t.Errorf("%s, %s: %v, %d MiB", name, way, err, taken>>20)
			}
		}
	}
}
