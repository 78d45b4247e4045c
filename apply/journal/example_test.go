package journal_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/keywright/keywright/apply/journal"
)

// A batch is in the journal before it is sent. A run that goes on after a kill knows what may have been done.
func Example() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "clean.plan.journal")
	const plan = "the digest of the plan"

	first, resumed, err := journal.Open(path, plan)
	if err != nil {
		panic(err)
	}
	fmt.Println(resumed)
	if err := first.Begin(nil, map[string]int64{"session": 100}); err != nil {
		panic(err)
	}
	_ = first.Close() // the run is killed here

	second, resumed, err := journal.Open(path, plan)
	if err != nil {
		panic(err)
	}
	defer second.Close()
	_, maybe := second.Changed()
	fmt.Println(resumed, maybe)
	// Output:
	// false
	// true map[session:100]
}
