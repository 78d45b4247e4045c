package migrate_test

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
)

// A migration is planned: how many records of the files can be moved.
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
	state, err := m.Phase("scores")
	fmt.Println(state.Phase, err)
	_, bytes, err := m.Size(ctx, "scores")
	fmt.Println(bytes, err)
	// Output:
	// off <nil>
	// 20 <nil>
}
