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
		{"what was not looked for is gone", "baseline.go", "case looked(e):", "case true:",
			"TestBaselineOfWhatWasNotLookedFor"},
		{"a baseline loses what was not looked for", "baseline.go", "if looked(e) {\n\t\t\tcontinue",
			"if true {\n\t\t\tcontinue", "TestBaselineOfWhatWasNotLookedFor"},
		{"a baseline loses the keys that were not looked for", "baseline.go", "max(f.Keys, e.Keys)", "f.Keys",
			"TestBaselineOfWhatWasNotLookedFor"},
		{"growth is accepted", "baseline.go", "case f.Count > keys[print]:", "case false:",
			"TestBaselineOfWhatWasNotLookedFor"},
		{"any group takes the place of another", "part.go",
			"if need[i] = p.Count; byName[p.Name] != nil {\n\t\t\ttake(i, byName[p.Name])",
			"if need[i] = p.Count; len(groups) > 0 {\n\t\t\ttake(i, groups[0])", "TestBaselineOfGroups"},
		{"a group that grew is accepted", "part.go", "n := min(need[i], g.rest)", "n := need[i]", "TestBaselineOfGroups"},
		{"a wider group takes any", "part.go",
			"g.rest > 0 &&\n\t\t\t\t(widens(p.Name, g.Group) || widens(g.Group, p.Name))", "g.rest > 0",
			"TestBaselineOfGroups"},
		{"an annotation hides that a run is not whole", "machine.go", "if o.Failed != \"\" {", "if false {",
			"TestGitHubSaysThatARunIsNotWhole"},
	})
}
