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
		{"a line is a command", "harmless.go", "append(first, lineCommand.ReplaceAll(text, []byte(`$1\\::`))...)",
			"append(first, text...)", quoted},
		{"a word is a command", "harmless.go", "text = inlineCommand.ReplaceAll(text, []byte(`#\\#$1`))", "_ = inlineCommand",
			quoted},
		{"an escape reaches a terminal", "harmless.go", "unicode.IsPrint(r) && (r", "(unicode.IsPrint(r) || r == 0x1b) && (r",
			quoted},
		{"findings have no end", "fold.go", "seen[k] <= shownPerCode", "seen[k] <= 2*shownPerCode", "TestFindingsAreFolded"},
		{"what is folded is not counted", "fold.go", "more[i].Count++", "more[i].Count = 1", "TestFindingsAreFolded"},
		{"what was not looked for is gone", "silence.go", "case looked(e):", "case true:",
			"TestBaselineOfWhatWasNotLookedFor"},
		{"a baseline loses what was not looked for", "silence.go", "if looked(e) {\n\t\t\tcontinue",
			"if true {\n\t\t\tcontinue", "TestBaselineOfWhatWasNotLookedFor"},
		{"a baseline loses the keys that were not looked for", "silence.go", "max(f.Keys, e.Keys)", "f.Keys",
			"TestBaselineOfWhatWasNotLookedFor"},
		{"growth is accepted", "silence.go", "case f.Count > keys[print]:", "case false:",
			"TestBaselineOfWhatWasNotLookedFor"},
		{"an annotation hides that a run is not whole", "machine.go", "if o.Failed != \"\" {", "if false {",
			"TestGitHubSaysThatARunIsNotWhole"},
	})
}
