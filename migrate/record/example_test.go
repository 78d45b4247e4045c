package record_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/migrate/record"
)

const scores = `keywright: 1
vars: {player: slug}
keys:
  score: {key: "score:{player}", type: string, value: int, ttl: none}
  board: {key: board, type: zset, member: player, score: int, ttl: none}
migrations:
  files:
    sources: {scores: {file: scores.json}}
    parts:
      scores:
        moves:
          - {from: "scores:/{player}/score", to: score, value: .}
          - {from: "scores:/{player}/score", to: board, member: "{player}", score: .}
`

// The records of a document.
func ExampleSource_Read() {
	ks, _ := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(scores)}}, "keyspace.yaml")
	migration, err := record.Compile(ks.Migration("files"))
	if err != nil {
		fmt.Println(err)
		return
	}
	file := strings.NewReader(`{"ann": {"score": 7}, "bob": {"score": "8"}}`)
	stats, err := migration.Source("scores").Read(file, "scores.json", record.Options{}, func(m *record.Match) error {
		for _, move := range m.Moves {
			r, err := move.Record(m)
			if err != nil { // a *record.Reject: the others can be moved
				fmt.Println(err)
				continue
			}
			fmt.Println(r.Key, r.Sub, r.Score+string(r.Value))
		}
		return nil
	})
	fmt.Println(stats.Matches, err)
	// Output:
	// score:ann  7
	// board ann 7
	// scores.json:1:40: scores.score: value (.) is a text; text(…) reads the number that it spells
	// scores.json:1:40: scores.board: score (.) is a text; text(…) reads the number that it spells
	// 2 <nil>
}

// A record is written back, and every other byte is kept.
func ExampleSource_Rewrite() {
	ks, _ := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(scores)}}, "keyspace.yaml")
	migration, err := record.Compile(ks.Migration("files"))
	if err != nil {
		fmt.Println(err)
		return
	}
	file := strings.NewReader("{\n  \"ann\": { \"score\" : 7, \"since\": 2019 }\n}\n")
	var out bytes.Buffer
	//doc:begin rewrite
	score := migration.Move("scores.score")
	done, err := score.Source.Rewrite(&out, file, "scores.json", []record.Edit{
		{Record: &record.Record{Move: score, Key: "score:ann", Value: []byte("9")}},
		{Record: &record.Record{Move: score, Key: "score:bob", Value: []byte("1")}},
		{Record: &record.Record{Move: score, Key: "score:eve"}, Delete: true},
	}, nil, record.Options{})
	//doc:end
	fmt.Print(out.String())
	fmt.Println(done.Changed, done.Added, done.Deleted, err)
	// Output:
	// {
	//   "ann": { "score" : 9, "since": 2019 },
	//   "bob": {
	//     "score": 1
	//   }
	// }
	// 1 1 0 <nil>
}

// Two records that are spelled differently are equal.
func ExampleMove_Compare() {
	ks, _ := load.File(
		fstest.MapFS{"keyspace.yaml": {Data: []byte(strings.ReplaceAll(scores, "value: int", "value: json"))}},
		"keyspace.yaml")
	migration, _ := record.Compile(ks.Migration("files"))
	score := migration.Move("scores.score")
	of := func(value string) *record.Record {
		return &record.Record{Move: score, Key: "score:ann", Value: []byte(value)}
	}
	fmt.Println(score.Compare(of(`{"a": 1.0, "b": [1]}`), of(`{"b":[1],"a":1}`), today, 0))
	for _, d := range score.Compare(of(`{"a": 1, "b": [1]}`), of(`{"a": "1"}`), today, 0) {
		fmt.Println(d.Path, d.Kind)
	}
	// Output:
	// []
	// .a type
	// .b missing
}
