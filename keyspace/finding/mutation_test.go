package finding

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// TestMutations: with a guard taken out, a test fails by what it asserts.
func TestMutations(t *testing.T) {
	const quoted = "TestNothingThatIsQuotedCommands"
	mutation.Run(t, []mutation.Row{
		{"a cell is a formula", "strings.ContainsRune(formulas, first)", `first == '='`, quoted},
		{"a line is a command", "append(first, lineCommand.ReplaceAll(text, []byte(`$1\\::`))...)",
			"append(first, text...)", quoted},
		{"a word is a command", "text = inlineCommand.ReplaceAll(text, []byte(`#\\#$1`))", "_ = inlineCommand",
			quoted},
		{"an escape reaches a terminal", "unicode.IsPrint(r) && (r", "(unicode.IsPrint(r) || r == 0x1b) && (r",
			quoted},
		{"findings have no end", "seen[k] <= shownPerCode", "seen[k] <= 2*shownPerCode", "TestFindingsAreFolded"},
		{"what is folded is not counted", "more[i].Count++", "more[i].Count = 1", "TestFindingsAreFolded"},
		{"what was not looked for is gone", "case looked(e):", "case true:",
			"TestBaselineOfWhatWasNotLookedFor"},
		{"a baseline loses what was not looked for", "if looked(e) {\n\t\t\tcontinue",
			"if true {\n\t\t\tcontinue", "TestBaselineOfWhatWasNotLookedFor"},
		{"a baseline loses the keys that were not looked for", "max(f.Keys, e.Keys)", "f.Keys",
			"TestBaselineOfWhatWasNotLookedFor"},
		{"growth is accepted", "case f.Count > keys[print]:", "case false:",
			"TestBaselineOfWhatWasNotLookedFor"},
		{"any group takes the place of another",
			"if need[i] = p.Count; byName[p.Name] != nil {\n\t\t\ttake(i, byName[p.Name])",
			"if need[i] = p.Count; len(groups) > 0 {\n\t\t\ttake(i, groups[0])", "TestBaselineOfGroups"},
		{"a group that grew is accepted", "n := min(need[i], g.rest)", "n := need[i]", "TestBaselineOfGroups"},
		{"a wider group takes any", "g.rest > 0 &&\n\t\t\t\t(widens(p.Name, g.Group) || widens(g.Group, p.Name))",
			"g.rest > 0 && len(p.Name) >= 0",
			"TestBaselineOfGroups"},
		{"an annotation hides that a run is not whole",
			"func GitHub(w io.Writer, findings []Finding, o Options) error {\n\tif o.Failed != \"\" {",
			"func GitHub(w io.Writer, findings []Finding, o Options) error {\n\tif false {",
			"TestGitHubSaysThatARunIsNotWhole"},
	})
}
