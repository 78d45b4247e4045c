package finding_test

import (
	"os"

	"github.com/keywright/keywright/keyspace/finding"
)

// Text prints findings for people; there are printers for JSON, SARIF, JUnit and GitHub, too.
func ExampleText() {
	err := finding.Text(os.Stdout, []finding.Finding{{Code: "KW204", Severity: finding.Warning, Entry: "product",
		Pos: finding.Position{File: "keyspace.yaml", Line: 6, Column: 3}, Message: "no doc"}}, finding.Options{})
	if err != nil {
		panic(err)
	}
	// Output: keyspace.yaml:6:3: warning KW204: no doc
}
