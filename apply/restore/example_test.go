package restore_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/server"
)

// Values that were read are written back. What is there already is left as it is.
func ExampleRestore() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	set := func(key, value string) {
		if err := client.Raw().Do(ctx, client.Raw().B().Set().Key(key).Value(value).Build()).Error(); err != nil {
			panic(err)
		}
	}
	set("page:1", "x")
	set("page:2", "y")
	saved := values(ctx, url)
	if _, err := restore.Unlink(ctx, client, []string{"page:1"}); err != nil {
		panic(err)
	}

	report, err := restore.Restore(ctx, func(int) (*keywright.Client, error) { return client, nil }, saved,
		restore.Options{Existing: restore.Skip})
	fmt.Println(report.Keys, report.Restored, err)
	// Output:
	// 2 1 <nil>
}

// values reads the values of a server as records.
func values(ctx context.Context, url string) iter.Seq2[*archive.Record, error] {
	config, err := connect.Parse(url)
	if err != nil {
		panic(err)
	}
	reader, err := server.NewReader(ctx, config, server.Options{OnlyDB: -1}, server.ContentsRequest{})
	if err != nil {
		panic(err)
	}
	defer reader.Close()
	var all []*archive.Record
	_, err = reader.All(ctx, func(batch []source.Content) error {
		for i := range batch {
			r := archive.Of(&batch[i], archive.Undeclared)
			r.Key, r.Payload = append([]byte(nil), r.Key...), append([]byte(nil), r.Payload...)
			all = append(all, &r)
		}
		return nil
	})
	return func(yield func(*archive.Record, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}
