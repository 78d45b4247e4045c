//go:build linux && !race

package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"

	"github.com/keywright/keywright/source/archive"
	"github.com/klauspost/compress/zstd"
)

// packer makes a compressed text.
type packer func(io.Writer) (io.WriteCloser, error)

func gzipped(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }

func zstandard(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }

// expanding returns a file that begins with a text, and expands to so many times 32 MiB of
// another one: they are packed once.
func expanding(pack packer, head, more string, times int) func(io.Writer) error {
	packed := func(text string) ([]byte, error) {
		var out bytes.Buffer
		z, err := pack(&out)
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(z, text); err != nil {
			return nil, err
		}
		err = z.Close()
		return out.Bytes(), err
	}
	return func(w io.Writer) error {
		first, err := packed(head)
		if err != nil {
			return err
		}
		rest, err := packed(strings.Repeat(more, (32<<20)/len(more)))
		if err != nil {
			return err
		}
		_, err = w.Write(append(first, bytes.Repeat(rest, times)...))
		return err
	}
}

// aliases is YAML of n levels, each of which names the one before ten times.
func aliases(n int) string {
	var b strings.Builder
	b.WriteString("keywright: 1\nkeys:\n  a0: &a0 {key: \"a:{x}\", type: string, ttl: 1h}\n")
	for i := 1; i < n; i++ {
		b.WriteString(strings.ReplaceAll("  aN: &aN {fields: {", "N", string(rune('0'+i))))
		for j := range 10 {
			b.WriteString(string(rune('a'+j)) + ": *a" + string(rune('0'+i-1)) + ", ")
		}
		b.WriteString("}}\n")
	}
	return b.String()
}

// packedBombs returns small files of which a reader could make much.
func packedBombs() map[string]bomb {
	type files = map[string]func(io.Writer) error
	ok := text(small, "", 0, "")
	const unendingValue = "REDIS0011\x00\x01k\x80\x7f\xff\xff\xff" // a string of 2 GB
	many := func(head, tail string) func(io.Writer) error { return text(head, "{},", 16<<20/3, "{}"+tail) }
	// a frame of zstd with a window of 2 TB
	window := text("\x28\xb5\x2f\xfd\x00\xf8"+strings.Repeat("\x00", 100), "", 0, "")
	return map[string]bomb{
		"gzip": {args: []string{"audit", "-f", "k", "s"},
			files: files{"k": ok, "s": expanding(gzipped, unendingValue, "\x00", 32)}},
		"gzip, names": {args: []string{"top", "s"},
			files: files{"s": expanding(gzipped, "REDIS0011\xfe\x00", "\x00\x01a\x01v", 2)}},
		"zstd": {args: []string{"audit", "-f", "k", "--values", "s"},
			files: files{"k": ok, "s": expanding(zstandard, unendingValue, "\x00", 32)}},
		"zstd, window": {args: []string{"audit", "-f", "k", "s"}, files: files{"k": ok, "s": window}},
		"AOF, a list of a false length": {
			args:  []string{"audit", "-f", "k", "s"},
			files: files{"k": ok, "s": text("*1000000000\r\n", "$1\r\na\r\n", 1<<20, "")},
		},
		"AOF, after a snapshot": {
			args: []string{"audit", "-f", "k", "s"},
			files: files{"k": ok,
				"s": text("REDIS0011\xfa\x08aof-base\xc0\x01\xff\x00\x00\x00\x00\x00\x00\x00\x00*3\r\n$2147483647\r\n", "xxxxxxxx",
					1<<20, "")},
		},
		"archive":         {args: []string{"archive", "verify", "a"}, files: files{"a": sparse(archive.Magic, 3<<30)}},
		"archive, listed": {args: []string{"archive", "ls", "a"}, files: files{"a": sparse(archive.Magic, 3<<30)}},
		"archive, a section": {args: []string{"archive", "info", "a"},
			files: files{"a": sparse(archive.Magic+"H\x00\x00\x00\xff\xff\xff\x7f\xff\xff\xff\x7f", 3<<30)}},
		"plan, changes": {args: []string{"apply", "p"}, files: files{"p": many(`{"format":1,"changes":[`, `]}`)}},
		"plan, texts": {args: []string{"apply", "p"},
			files: files{"p": text(`{"format":1,"request":{"match":[`, `"",`, 5<<20, `""]}}`)}},
		"plan, large": {args: []string{"apply", "p"}, files: files{"p": sparse(`{"format":1,"verb":"`, 3<<30)}},
		"undo, head": {args: []string{"apply", "p"},
			files: files{"p": many(`{"undo":1,"plan":{"format":1,"changes":[`, "]}}\n")}},
		"undo, a large line": {args: []string{"apply", "p"},
			files: files{"p": sparse(`{"undo":1,"plan":{"format":1,"verb":"`, 3<<30)}},
		"baseline, findings": {args: []string{"audit", "-f", "k", "--baseline", "b", "s"},
			files: files{"k": ok, "s": manyKeys(10), "b": many(`{"findings":[`, `]}`)}},
		"checkpoint, large": {args: []string{"audit", "-f", "k", "--checkpoint", "c", "-u", "redis://127.0.0.1:1"},
			files: files{"k": ok, "c": sparse("{", 3<<30)}},
		"checkpoint, objects": {args: []string{"audit", "-f", "k", "--checkpoint", "c", "-u", "redis://127.0.0.1:1"},
			files: files{"k": ok, "c": many(`{"keywright_checkpoint":1,"judgement":[`, `]}`)}},
		"declaration, aliases": {
			args:  []string{"lint", "-f", "k"},
			files: files{"k": text(aliases(9), "", 0, "")},
		},
		"key ring, keys": {
			args: []string{"seal", "status", "-f", "k", "--keys-file", "r", "-u", "redis://127.0.0.1:1"},
			files: files{
				"k": text("keywright: 1\npackage: p\nkeys:\n  a: {key: \"a:{x}\", type: string, value: text encrypted, ttl: 1h}\n", "", 0, ""),
				"r": text(`{"ring":1,"active":"1","keys":{`, `"#":"a",`, 90_000, `"x":"a"}}`),
			},
		},
	}
}
