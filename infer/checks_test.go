package infer_test

import (
	"flag"
	"os"
	"testing"

	"github.com/keywright/keywright/internal/gate"
)

// TestMain lowers how many keyspaces a property is tried on, unless the command line
// says how many: each takes a draft, a lint and an audit. make soak has 3,000.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		checks := "8"
		if gate.All() {
			checks = "40"
		}
		_ = flag.Set("rapid.checks", checks)
	}
	os.Exit(m.Run())
}
