package cli_test

import (
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
)

// TestNoCellIsAFormula: a name of a key that a spreadsheet would run is text to it.
func TestNoCellIsAFormula(t *testing.T) {
	var out strings.Builder
	if err := cli.WriteCSV(&out, [][]string{{"name", "pattern"}, {"a", "=1+1"}, {"@b", "-2, 3"}}); err != nil {
		t.Fatal(err)
	}
	if want := "name,pattern\na,'=1+1\n'@b,\"'-2, 3\"\n"; out.String() != want {
		t.Errorf("%s", out.String())
	}
}
