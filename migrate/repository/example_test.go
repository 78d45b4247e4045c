package repository_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/record"
	"github.com/keywright/keywright/migrate/repository"
	"github.com/keywright/keywright/value"
)

// A record is read where the phase says: from the file, in the phase off.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	ks, _ := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(`keywright: 1
vars: {player: slug}
keys: {score: {key: "score:{player}", type: string, value: int, ttl: none}}
migrations:
  files:
    sources: {scores: {file: scores.json}}
    parts: {scores: {moves: [{from: "scores:/{player}", to: score, value: .}]}}
`)}}, "keyspace.yaml")
	declared, err := record.Compile(ks.Migration("files"))
	if err != nil {
		panic(err)
	}
	root, err := os.MkdirTemp("", "scores")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	if err := os.WriteFile(filepath.Join(root, "scores.json"), []byte(`{"ann": 7, "bob": 9}`), 0o600); err != nil {
		panic(err)
	}
	m, err := migrate.Open(ctx, migrate.Config{Root: root, Map: declared, Client: client})
	if err != nil {
		panic(err)
	}
	defer m.Close()
	codec := value.Int(0, 1000)
	ann := repository.NewValue(repository.At(m, "scores.score", "score:ann", nil), &codec)
	fmt.Println(ann.Read(ctx))
	fmt.Println(ann.Write(ctx, 8))
	fmt.Println(ann.Read(ctx))
	// Output:
	// 7 <nil>
	// <nil>
	// 8 <nil>
}
