package match_test

import (
	"fmt"

	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/pattern"
)

// A matcher finds the pattern of a key, among any number of patterns, in one pass.
func Example() {
	m, conflicts, err := match.Compile([]match.Item{
		{Pattern: pattern.MustParse("user:{id}", nil)},
		{Pattern: pattern.MustParse("user:{id}:posts", nil)},
	})
	if err != nil {
		panic(err)
	}
	var c match.Captures
	key := []byte("user:ann:posts")
	fmt.Println(m.Match(key, &c), string(c.Of(key, 0)), len(conflicts))
	fmt.Println(m.Match([]byte("order:1"), nil) == match.None)
	// Output:
	// 1 ann 0
	// true
}
