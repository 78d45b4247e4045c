package applytest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"os"
	"testing"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/server"
)

// Backup makes an archive of a server.
func Backup(t testing.TB, url string, largest int64) []byte {
	t.Helper()
	config, err := connect.New(connect.Options{URL: url})
	expect.NoError(t, err)
	var out bytes.Buffer
	w, err := archive.NewWriter(&out, archive.Meta{ID: "00"}, archive.Deflate)
	expect.NoError(t, err)
	_, err = server.New(config, server.Options{OnlyDB: -1}).Contents(t.Context(), server.ContentsRequest{Largest: largest},
		func(batch []source.Content) error {
			for i := range batch {
				r := archive.Of(&batch[i], archive.Undeclared)
				if err := w.Add(&r); err != nil {
					return err
				}
			}
			return nil
		})
	expect.NoError(t, err)
	_, err = w.Close()
	expect.NoError(t, err)
	return out.Bytes()
}

// Records reads an archive.
func Records(file []byte) iter.Seq2[*archive.Record, error] {
	return func(yield func(*archive.Record, error) bool) {
		r, err := archive.NewReader(bytes.NewReader(file))
		for err == nil {
			var rec *archive.Record
			if rec, err = r.Next(); err == nil && !yield(rec, nil) {
				return
			}
		}
		if err != io.EOF {
			yield(nil, err)
		}
	}
}

// Payload returns the value of what DUMP gave, and its version of RDB.
func Payload(dump string) (payload []byte, version int) {
	end := len(dump) - 10
	return []byte(dump[:end]), int(binary.LittleEndian.Uint16([]byte(dump[end:])))
}

// Adds holds that the figures of a report add up.
func Adds(t testing.TB, r restore.Report) {
	t.Helper()
	var sum journal.Counts
	for _, c := range r.Entries {
		sum.Keys, sum.Restored, sum.Existing = sum.Keys+c.Keys, sum.Restored+c.Restored, sum.Existing+c.Existing
	}
	if sum.Keys != r.Keys || sum.Restored != r.Restored || sum.Existing != r.Existing {
		t.Errorf("the entries do not add up: %+v", r)
	}
	if r.Keys != r.Restored+r.Same+r.Existing+r.Expired+r.Left+r.Refused+r.Unknown {
		t.Errorf("the report does not add up: %+v", r)
	}
}

// MustRead returns what is in a file.
func MustRead(t testing.TB, file string) []byte {
	text, err := os.ReadFile(file)
	expect.NoError(t, err)
	return text
}

// Parts returns the records of a list in parts. between is called before each but the first.
func Parts(key string, count int, between func(part int)) iter.Seq2[*archive.Record, error] {
	return func(yield func(*archive.Record, error) bool) {
		for i := range count {
			if i > 0 && between != nil {
				between(i)
			}
			element := append([]byte(fmt.Sprintf("%d ", i)), bytes.Repeat([]byte("x"), 2<<20)...) // a job of its own
			r := &archive.Record{Entry: archive.Undeclared, Key: []byte(key), Kind: source.List, Form: archive.Elements, Part: i,
				More: i < count-1, Payload: archive.AppendText(nil, element)}
			if !yield(r, nil) {
				return
			}
		}
	}
}
