// Package aof reads the manifest of an append-only folder (Redis 7 and Valkey), which names its files, and counts the
// commands that its increments hold.
//
// It runs no command and reads no snapshot: package rdb does that. It opens no file; a caller hands it readers. It
// keeps one command's name, whatever the size of a file.
//
// The form is described by the servers' own loader (src/aof.c).
//
// API: may change until 1.0.
package aof

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// Folder represents the files of an append-only folder, as its manifest names them.
type Folder struct {
	Base       string   // the snapshot or the commands that it begins with; "": none
	Increments []string // files of commands, in the order in which they were written
	History    []string // files that are not needed any more
}

// maxManifest bounds a manifest, in bytes; one has a line for each file.
const maxManifest = 1 << 20

// Parse reads a manifest. A name with a folder in it is an error: all files stand beside the manifest.
func Parse(manifest io.Reader) (f Folder, err error) {
	text, err := io.ReadAll(io.LimitReader(manifest, maxManifest+1))
	if err != nil {
		return f, err
	}
	if len(text) > maxManifest {
		return f, fmt.Errorf("the manifest has more than %d bytes", maxManifest)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := f.line(line); err != nil {
			return f, fmt.Errorf("line %d of the manifest: %w", n, err)
		}
	}
	return f, nil
}

// line reads `file NAME seq NUMBER type b`, and other pairs of words that newer servers may write.
func (f *Folder) line(line string) error {
	pairs := map[string]string{}
	for rest := line; rest != ""; {
		word, after, _ := strings.Cut(rest, " ")
		value := ""
		if after = strings.TrimLeft(after, " "); strings.HasPrefix(after, `"`) {
			quoted, err := strconv.QuotedPrefix(after)
			if err != nil {
				return fmt.Errorf("%q has no end", after)
			}
			value, _ = strconv.Unquote(quoted)
			rest = strings.TrimLeft(after[len(quoted):], " ")
		} else {
			value, rest, _ = strings.Cut(after, " ")
		}
		pairs[word] = value
	}
	name := pairs["file"]
	if name == "" || path.Base(name) != name || strings.ContainsAny(name, `\`+"\x00") {
		return fmt.Errorf("%q is no name of a file beside it", name)
	}
	switch pairs["type"] {
	case "b":
		if f.Base != "" {
			return fmt.Errorf("a second base, %s beside %s", name, f.Base)
		}
		f.Base = name
	case "i":
		f.Increments = append(f.Increments, name)
	case "h":
		f.History = append(f.History, name)
	default:
		return fmt.Errorf("a file of type %q, which is unknown to this version of keywright", pairs["type"])
	}
	return nil
}

// still lists the commands of an increment that change no key.
var still = map[string]bool{"SELECT": true, "MULTI": true, "EXEC": true}

// Bounds of one command, as servers have them.
const (
	maxWords = 1 << 20
	maxWord  = 512 << 20
)

// ErrCut reports a file that ends in the middle of a command: servers cut that off when they load it.
var ErrCut = errors.New("the file ends in the middle of a command")

// Commands counts the commands of an increment that may change keys. ErrCut comes with the number of whole ones.
func Commands(increment io.Reader) (n int64, err error) {
	in := bufio.NewReaderSize(increment, 64<<10)
	for {
		first, err := in.ReadByte()
		switch {
		case err == io.EOF:
			return n, nil
		case err != nil:
			return n, err
		case first == '#': // a note of the server, such as a time
			if _, err := in.ReadSlice('\n'); err != nil {
				return n, cutEnd(err)
			}
			continue
		case first != '*':
			return n, fmt.Errorf("a command that begins with the byte %q", first)
		}
		name, err := command(in)
		if err != nil {
			return n, cutEnd(err)
		}
		if !still[strings.ToUpper(name)] {
			n++
		}
	}
}

// cutEnd returns ErrCut for an end that comes too early.
func cutEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrCut
	}
	return err
}

// command passes one command after its star, and returns its name, or the beginning of that.
func command(in *bufio.Reader) (name string, err error) {
	words, err := length(in, maxWords)
	for i := int64(0); i < words && err == nil; i++ {
		var mark byte
		if mark, err = in.ReadByte(); err == nil && mark != '$' {
			return "", fmt.Errorf("a word that begins with the byte %q", mark)
		}
		if err != nil {
			return "", err
		}
		var size int64
		if size, err = length(in, maxWord); err != nil {
			return "", err
		}
		if i == 0 {
			word := make([]byte, min(size, 16))
			if _, err = io.ReadFull(in, word); err != nil {
				return "", err
			}
			name, size = string(word), size-int64(len(word))
		}
		_, err = in.Discard(int(size) + len("\r\n"))
	}
	return name, err
}

// length reads a number up to the end of its line.
func length(in *bufio.Reader, most int64) (int64, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(bytes.TrimRight(line, "\r\n")), 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%.40q is no length", line)
	}
	return n, nil
}
