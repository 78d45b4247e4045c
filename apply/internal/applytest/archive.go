package applytest

import (
	"bytes"
	"io"
	"iter"
	"testing"

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
