package cli

import (
	"errors"
	"strconv"
	"strings"

	"github.com/keywright/keywright/internal/typo"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Group makes a command only hold others: without one it prints its help.
func (a *App) Group(c *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return a.UnknownCommand(cmd, args[0])
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	c.AddCommand(commands...)
	return c
}

// DidYouMean returns the hint for a word that is not one of a list: the one that was meant, else all of them after an
// opening.
func DidYouMean(word string, list []string, opening string) string {
	if near := typo.Nearest(word, list); near != "" {
		return "did you mean " + near + "?"
	}
	return opening + " " + strings.Join(list, ", ")
}

// UnknownCommand proposes the command that was meant.
func (a *App) UnknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	near := cmd.SuggestionsFor(word)
	if best := typo.Nearest(word, names); best != "" {
		near = []string{best}
	}
	if len(near) == 0 {
		return Usage("run `"+cmd.CommandPath()+" --help` for the list", "there is no command %q", word)
	}
	return Usage("did you mean `"+a.Corrected(word, near[0])+"`?", "there is no command %q", word)
}

// FlagError proposes the flag that was meant.
func (a *App) FlagError(cmd *cobra.Command, err error) error {
	hint := "run `" + cmd.CommandPath() + " --help` for its flags"
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		f := wrong.GetFlag()
		what := kindOfFlag(f.Value.Type())
		if errors.Is(err, strconv.ErrRange) {
			what += ", and no larger one than a computer counts to"
		}
		return Usage(hint, "--%s takes %s, but got %q", f.Name, what, wrong.GetValue())
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return Usage(hint, "%v", err)
	}
	if words := cmd.Flags().Args(); len(words) > 0 && !cmd.HasParent() { // the flag is one of the command that was meant
		return a.UnknownCommand(cmd, words[0])
	}
	given, word := "--"+unknown.GetSpecifiedName(), unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		given, word = "-"+letters, letters
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := typo.Nearest(word, names); near != "" {
		hint = "did you mean `" + a.Corrected(given, "--"+near) + "`?"
	}
	return Usage(hint, "%s has no flag %s", cmd.CommandPath(), given)
}

// Corrected returns the command line with one word replaced, to be copied.
func (a *App) Corrected(wrong, right string) string {
	words := []string{"keywright"}
	for _, arg := range a.Args {
		if rest, ok := strings.CutPrefix(arg, wrong); ok && (rest == "" || rest[0] == '=') {
			arg, wrong = right+rest, "\x00"
		}
		words = append(words, ShellWord(arg))
	}
	return strings.Join(words, " ")
}

// ShellWord quotes what a shell would take apart.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r > 127 || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_-+=:,./@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
