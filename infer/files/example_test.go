package files_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing/fstest"

	"github.com/keywright/keywright/infer/files"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
)

// A migration is drafted from JSON files.
func Example() {
	scores := files.File{Name: "scores.json", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(`{"480032": 9, "771200": 7, "771201": 12}`)), nil
	}}
	draft, err := files.Build(context.Background(), []files.File{scores}, files.Options{
		File: "keyspace.yaml",
		Load: func(text []byte) (*keyspace.Keyspace, []finding.Finding) {
			return load.File(fstest.MapFS{"keyspace.yaml": {Data: text}}, "keyspace.yaml")
		},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(draft.Files, len(draft.Moves), len(draft.Left))
	// Output: 1 1 0
}
