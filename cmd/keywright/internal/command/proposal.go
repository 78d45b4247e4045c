package command

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// unknownCommand proposes the command that was meant.
func (a *app) unknownCommand(cmd *cobra.Command, word string) error {
	near := cmd.SuggestionsFor(word)
	if len(near) == 0 {
		return usage("run `"+cmd.CommandPath()+" --help` for the list", "there is no command %q", word)
	}
	return usage("did you mean `"+a.corrected(word, near[0])+"`?", "there is no command %q", word)
}

// flagError proposes the flag that was meant.
func (a *app) flagError(cmd *cobra.Command, err error) error {
	hint := "run `" + cmd.CommandPath() + " --help` for its flags"
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usage(hint, "%v", err)
	}
	given, word := "--"+unknown.GetSpecifiedName(), unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		given, word = "-"+letters, letters
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := nearest(word, names); near != "" {
		hint = "did you mean `" + a.corrected(given, "--"+near) + "`?"
	}
	return usage(hint, "%s has no flag %s", cmd.CommandPath(), given)
}

// corrected is the command line with one word replaced, to be copied.
func (a *app) corrected(wrong, right string) string {
	words := []string{"keywright"}
	for _, arg := range a.args {
		if rest, ok := strings.CutPrefix(arg, wrong); ok && (rest == "" || rest[0] == '=') {
			arg, wrong = right+rest, "\x00"
		}
		words = append(words, shellWord(arg))
	}
	return strings.Join(words, " ")
}

// shellWord quotes what a shell would take apart.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r > 127 || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-+=:,./@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// nearest is the candidate that is least mistyped, "" if none comes near.
func nearest(word string, candidates []string) string {
	best, least := "", 1+max(1, len(word)/3)
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance is how many bytes must be changed, added, removed or swapped with
// their neighbour (Damerau's distance, of adjacent swaps).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
