package documents_test

import (
	"fmt"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/documents"
	"github.com/keywright/keywright/migrate/record"
)

// A move of strings, as Documents of a program's own describe it.
func Example() {
	move := documents.MoveOf{Name: "user", Kind: keyspace.StringRecord, Match: "user:*",
		Of: func(key, sub string) (record.ID, bool) { return record.ID{Move: "user", Key: key}, true }}
	part := documents.PartOf{Name: "users", Moves: []documents.MoveOf{move}}
	id, ok := part.Moves[0].Of("user:7", "")
	fmt.Println(id.Key, ok)
	// Output: user:7 true
}
