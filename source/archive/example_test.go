package archive_test

import (
	"bytes"
	"fmt"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
)

// An archive is written, and verified to its last byte.
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
	_, index, err := archive.Verify(bytes.NewReader(file.Bytes()))
	keys, _ := index.Totals()
	fmt.Println(keys, err)
	_, _, err = archive.Verify(bytes.NewReader(file.Bytes()[:file.Len()-1]))
	fmt.Println(err != nil)
	// Output:
	// 1 <nil>
	// true
}
