package finding

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// TestMutations: with a guard taken out, a test fails by what it asserts.
func TestMutations(t *testing.T) {
	const quoted = "TestNothingThatIsQuotedCommands"
	mutation.Run(t, []mutation.Row{
		{"a cell is a formula", "machine.go", "strings.ContainsRune(formulas, first)", `first == '='`, quoted},
		{"a line is a command", "harmless.go", "append(first, lineCommand.ReplaceAll(text, []byte(`$1\\::`))...)", "append(first, text...)", quoted},
		{"a word is a command", "harmless.go", "text = inlineCommand.ReplaceAll(text, []byte(`#\\#$1`))", "_ = inlineCommand", quoted},
		{"an escape reaches a terminal", "harmless.go", "unicode.IsPrint(r) && (r", "(unicode.IsPrint(r) || r == 0x1b) && (r", quoted},
		{"findings have no end", "fold.go", "seen[k] <= shownPerCode", "seen[k] <= 2*shownPerCode", "TestFindingsAreFolded"},
		{"what is folded is not counted", "fold.go", "more[i].Count++", "more[i].Count = 1", "TestFindingsAreFolded"},
	})
}
