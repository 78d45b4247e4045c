//go:build linux && !race

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
)

// section returns a section of an archive with right checksums.
func section(kind byte, body string) []byte {
	stored, codec := []byte(body), archive.Plain.ID
	if kind != 'F' {
		stored, _ = archive.Deflate.Pack(nil, stored) // into memory
		codec = archive.Deflate.ID
	}
	head := []byte{kind, codec, 0, 0}
	head = binary.LittleEndian.AppendUint32(head, uint32(len(stored)))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(body)))
	table := crc32.MakeTable(crc32.Castagnoli)
	head = binary.LittleEndian.AppendUint32(head, crc32.Update(crc32.Update(0, table, head), table, stored))
	return append(head, stored...)
}

// forged returns an archive with a header, so many times a block, and an index of one's own.
func forged(header, block string, blocks int, index string) func(io.Writer) error {
	return func(w io.Writer) error {
		out := append([]byte(archive.Magic), section('H', header)...)
		if blocks > 0 {
			out = append(out, bytes.Repeat(section('B', block), blocks)...)
		}
		foot := make([]byte, 24)
		binary.LittleEndian.PutUint64(foot, uint64(len(out)))
		binary.LittleEndian.PutUint64(foot[8:], uint64(max(blocks, 1<<40)))
		out = append(out, section('I', index)...)
		sum := sha256.Sum256(out)
		_, err := w.Write(append(out, section('F', string(append(foot, sum[:]...)))...))
		return err
	}
}

// archived returns a whole archive of so many strings, each with a payload.
func archived(n int, payload string) func(io.Writer) error {
	return func(w io.Writer) error {
		a, err := archive.NewWriter(w, archive.Meta{ID: strings.Repeat("0", 32), Taken: time.Now(),
			Consistency: archive.OneMoment,
			Entries:     []string{"a"}, Shards: []source.Shard{{Brand: "redis", Version: "7.0.15"}}}, archive.Deflate)
		for i := 0; i < n && err == nil; i++ {
			err = a.Add(&archive.Record{Key: fmt.Append(nil, "a:", i), Kind: source.String, Form: archive.Dump, RDB: 10,
				Payload: []byte(payload)})
		}
		if err == nil {
			_, err = a.Close()
		}
		return err
	}
}

// journalled returns a plan of a restore, and a journal of it that goes on with a text.
func journalled(more func(io.Writer) error) func(dir string) error {
	return func(dir string) error {
		p := plan.Plan{Format: plan.Format, Verb: "restore", Made: time.Now(), Entries: []plan.Part{},
			Request: plan.Request{Options: map[string]string{"files": "a"}}}
		if err := p.Seal(); err != nil {
			return err
		}
		var text bytes.Buffer
		err := errors.Join(p.Write(&text), os.WriteFile(filepath.Join(dir, "p"), text.Bytes(), 0o600))
		if err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(dir, "p.journal"), os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(f, `{"format":1,"plan":%q}`+"\n", p.ID)
		return errors.Join(err, more(f), f.Close())
	}
}

// keptBombs returns files that the program writes, or may be given as if it had: archives and
// journals.
func keptBombs() map[string]bomb {
	type files = map[string]func(io.Writer) error
	ok := text(small, "", 0, "")
	many := func(value string) string { return strings.Repeat(value+",", 20<<20/(len(value)+1)) + value }
	const header, index = `{"entries":["a"],"shards":[{"brand":"redis","version":"7.0.15"}]}`, `{"entries":[{}]}`
	wide := forged(`{"entries":[`+many(`""`)+`]}`, "", 0, index)
	deep := forged(header, "", 0, `{"entries":[`+strings.Repeat("[", 20<<20))
	listed := forged(header, "", 0, `{"entries":[{"blocks":[`+many(`{}`)+`]}]}`)
	torn := forged(header, "", 0, `{"entries":[{}],"torn_keys":[`+many(`""`)+`]}`)
	blocks := forged(header, strings.Repeat("\x00", 60<<20), 40, index)
	lying := forged(header, "\x00\x00D\x00\x0b\x00\x00\xff\xff\xff\xff\x7f", 1, index)
	values, few := archived(60, "\x00"+zeros(16<<20)), archived(2, "\x00"+zeros(16<<20))
	names := archived(300_000, "\x00\x01v")
	journal := func(head, piece string, n int, tail string) func(string) error {
		return journalled(text(head, piece, n, tail))
	}
	apply := []string{"apply", "p", "-u", "redis://127.0.0.1:1"}
	all := map[string]bomb{
		"archive, entries, restored": {args: []string{"restore", "a", "-f", "k", "-u", "redis://127.0.0.1:1"},
			files: files{"k": ok, "a": wide}},
		"archive, torn keys": {args: []string{"archive", "info", "a"}, files: files{"a": torn}},
		"archive, compared": {args: []string{"archive", "diff", "a", "b"}, files: files{"a": listed,
			"b": wide}},
		"archive, blown values, exported": {args: []string{"archive", "export", "a", "--as", "jsonl", "--to", "out"},
			files: files{"a": few}, says: "2 keys"},
		"archive, blown values, older form": {args: []string{"archive", "export", "a", "--as", "rdb", "--for",
			"redis-6.2", "--to", "out"}, files: files{"a": values}},
		"archive, blown values, commands": {args: []string{"archive", "export", "a", "--as", "commands", "--to", "out"},
			files: files{"a": few}},
		"archive, blown values, compared": {args: []string{"archive", "diff", "a", "b", "--values"},
			files: files{"a": values, "b": names}},
		"archive, many keys, compared": {args: []string{"archive", "diff", "a", "b"}, files: files{"a": names,
			"b": names}},
		"archive, many keys": {args: []string{"archive", "ls", "a"}, files: files{"a": names}},
		"archive, many keys, verified": {args: []string{"archive", "verify", "a"}, files: files{"a": names},
			says: "300,000"},
		"archive, a draft of it": {args: []string{"infer", "a"}, files: files{"a": values}},
		"journal, large": {args: apply,
			setUp: journalled(func(w io.Writer) error { return w.(*os.File).Truncate(3 << 30) }), says: "no journal"},
		"journal, a line": {args: apply, setUp: journal(`{"done":{`, `"e#":{},`, 1_000_000,
			`"e":{}}}`+"\n"), says: "it is damaged"},
		"journal, counts": {args: apply, setUp: journal(`{"open":{`, `"e#":1,`, 99_000, `"e":1}}`+"\n")},
		"journal, lines":  {args: apply, setUp: journal("", `{"open":{"e#":1}}`+"\n", 700_000, "")},
		"journal, nesting": {args: apply, setUp: journal(`{"done":`, "[", 15<<20, "\n"),
			says: "it is damaged"},
	}
	for name, file := range map[string]func(io.Writer) error{
		"entries": wide, "an index of levels": deep, "blocks": listed, "blocks that expand": blocks,
		"a record that lies": lying, "values that expand": values,
	} {
		for _, verb := range []string{"info", "ls", "verify"} {
			all["archive, "+name+", "+verb] = bomb{args: []string{"archive", verb, "a"}, files: files{"a": file}}
		}
		all["archive, "+name+", audited"] = bomb{args: []string{"audit", "-f", "k", "--values", "a"},
			files: files{"k": ok, "a": file}}
	}
	return all
}
