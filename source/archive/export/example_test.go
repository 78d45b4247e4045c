package export_test

import (
	"bytes"
	"context"
	"os"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/archive/export"
)

// An archive leaves as JSON Lines.
func Example() {
	var file bytes.Buffer
	w, err := archive.NewWriter(&file, archive.Meta{Entries: []string{"product"}}, archive.Deflate)
	if err != nil {
		panic(err)
	}
	err = w.Add(&archive.Record{Key: []byte("cache:product:42"), Kind: source.String, Form: archive.Dump, RDB: 10,
		Payload: []byte("\x00\x06kettle")})
	if err != nil {
		panic(err)
	}
	if _, err := w.Close(); err != nil {
		panic(err)
	}
	a, err := archive.Open(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		panic(err)
	}
	chain, err := archive.NewChain(a)
	if err != nil {
		panic(err)
	}
	if _, err := export.JSONLines(context.Background(), os.Stdout, chain, export.Options{}); err != nil {
		panic(err)
	}
	// Output: {"key":{"text":"cache:product:42"},"entry":"product","db":0,"type":"string","value":"kettle"}
}
