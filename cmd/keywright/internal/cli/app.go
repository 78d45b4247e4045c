// Package cli is what all verbs of the command line share: the App with its streams and flags, exit codes and errors,
// forms of output, the declaration, the selection of keys, and the connection to a server. It knows no verb. The groups
// of verbs are packages beside it; package command puts them together.
package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/typo"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Streams represents the world a command lives in.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Environ  func() []string  // all variables, for names that nothing reads; nil: none is looked at
	Now      func() time.Time // nil: time.Now
}

// App describes what the verbs share: the streams and the persistent flags.
type App struct {
	Keyspace *keyspace.Keyspace // of withConstructs
	In       io.Reader
	Out, Err *terminal.Screen
	Getenv   func(string) string
	environ  func() []string
	Args     []string

	documents []Document // all forms of JSON that there are

	Variables [][2]string // that set flags of this run: names and values, which are never shown

	command  *cobra.Command // that runs
	Scope    Scope          // of works
	Declared string         // the declaration that was loaded; "": none

	File      string
	Namespace string // of namespaceFlag

	NamedBy        string // the flag that named it, where that is another one
	saidNamespaces bool   // of sayNamespaces
	URL            string
	Color          string
	Quiet          bool
	Verbose        bool
	Connect        connect.Options
	Now            func() time.Time
	Patience       time.Duration // how long the right to change keys is waited for

	Did string // what was changed, in short: said where the result cannot be written
}

func NewApp(args []string, s Streams, documents []Document) *App {
	if s.Now == nil {
		s.Now = time.Now
	}
	return &App{In: s.In, Out: terminal.NewScreen(s.Out, s.Getenv), Err: terminal.NewScreen(s.Err, s.Getenv),
		Getenv: s.Getenv, environ: s.Environ, Args: args, Now: s.Now, documents: documents}
}

// Environment fills flags that were not given from their variables, and checks the persistent ones.
func (a *App) Environment(cmd *cobra.Command) error {
	var failed error
	a.command = cmd
	a.misread("REDIS_URL", a.Getenv("REDIS_URL"))
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := Variable(f)
		value := a.Getenv(name)
		if f.Changed || name == "" || value == "" || failed != nil {
			return
		}
		if f.Name == "url" { // connect reads it, and it must not look like an argument
			f.Changed = true
			a.misread(name, value)
			return
		}
		if f.Name != "file" || !isThere(value) { // errors name the declaration that was read
			a.Variables = append(a.Variables, [2]string{name, value})
		}
		if err := cmd.Flags().Set(f.Name, value); err != nil { // err shows the value
			failed = Usage("correct or unset "+name, "the value of %s does not fit --%s, which takes %s", name, f.Name,
				kindOfFlag(f.Value.Type()))
		}
	})
	if failed != nil {
		return failed
	}
	if err := OneOf("color", a.Color, "auto", "always", "never"); err != nil {
		return err
	}
	a.Out.SetColor(a.Color, a.Getenv)
	a.Err.SetColor(a.Color, a.Getenv)
	a.unread(cmd.Root())
	return emptyList(cmd)
}

// emptyList refuses a list that is given and has an empty text or nothing in it: it comes
// from a variable of a shell that is not set, and --entry "" would mean all entries.
func emptyList(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if list, ok := f.Value.(pflag.SliceValue); ok && err == nil && f.Value.Type() != "intSlice" {
			if texts := list.GetSlice(); len(texts) == 0 || slices.Contains(texts, "") {
				err = Usage("write what is meant, or leave --"+f.Name+" out", "--%s takes no empty text", f.Name)
			}
		}
	})
	return err
}

// isThere reports whether a file is there.
func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// maxUnread bounds the variables that are named.
const maxUnread = 5

// unread warns of variables that begin with KEYWRIGHT_ and that no command reads: a misspelt one, or one that is
// named after a flag without a variable, would be a setting without effect. Their values are never shown.
func (a *App) unread(root *cobra.Command) {
	if a.environ == nil {
		return
	}
	names, flagOnly := []string{RingVariable}, map[string]string{}
	for _, flag := range flagsWithVariable {
		names = append(names, variableName(flag))
	}
	slices.Sort(names)
	eachFlag(root, func(f *pflag.Flag) { flagOnly[variableName(f.Name)] = f.Name })
	var unknown []string
	for _, e := range a.environ() {
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "KEYWRIGHT_") && !slices.Contains(names, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for i, name := range unknown {
		if i == maxUnread {
			a.Say("warning: and %d more variables that begin with KEYWRIGHT_", len(unknown)-i)
			return
		}
		meant := ""
		if flag := flagOnly[name]; flag != "" {
			meant = ": write " + Dashed(flag) + " on the command line"
		} else if near := typo.Nearest(name, names); near != "" {
			meant = ": did you mean " + near + "?"
		}
		a.Say("warning: no command reads the variable %s%s", finding.Printable(name), meant)
	}
}

// misread hides the value of a variable that should be the URL of a server and is
// none: it may be anything.
func (a *App) misread(name, value string) {
	if _, err := connect.Parse(value); err != nil && value != "" {
		a.Variables = append(a.Variables, [2]string{name, value})
	}
}

// eachFlag visits the flags of a command and of all below it.
func eachFlag(c *cobra.Command, visit func(*pflag.Flag)) {
	c.LocalFlags().VisitAll(visit)
	for _, s := range c.Commands() {
		eachFlag(s, visit)
	}
}

// flagsWithVariable lists the flags that a variable sets, too: what holds for all commands of a shell, a CI job or a
// container. Each has one meaning in all commands. What one run does is a flag only: it must be written each time.
var flagsWithVariable = []string{"color", "file", "identity", "keys-file", "listen", "namespace", "output", "progress",
	"quiet", "read-from", "store", "timeout", "tls-ca", "tls-cert", "tls-insecure", "tls-key", "tls-server-name", "tokens",
	"url", "verbose"}

// Variable returns the environment variable of a flag, "" if it has none. A flag whose value may be left out has none:
// --output of schema means a command.
func Variable(flag *pflag.Flag) string {
	optional := flag.NoOptDefVal != "" && flag.Value.Type() == "string"
	if optional || !slices.Contains(flagsWithVariable, flag.Name) {
		return ""
	}
	return variableName(flag.Name)
}

func variableName(flag string) string {
	return "KEYWRIGHT_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// kindsOfFlags say what flags take, in words.
var kindsOfFlags = map[string]string{
	"bool": "true or false", "int": "a whole number", "int64": "a whole number", "uint64": "a whole number from 0",
	"duration": "a duration like 5s", "float64": "a number", "stringSlice": "words with commas between them",
}

// kindOfFlag returns what a flag takes, in words.
func kindOfFlag(kind string) string { return cmp.Or(kindsOfFlags[kind], "a "+kind) }

// OneOf checks a flag that takes a word of a list.
func OneOf(flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	list := strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
	hint := "write " + list
	if near := typo.Nearest(value, words); near != "" {
		hint = fmt.Sprintf("did you mean --%s %s? It takes %s", flag, near, list)
	}
	return Usage(hint, "--%s %q is nothing this command knows", flag, value)
}

// Choices makes the shell complete the words of a flag.
func Choices(c *cobra.Command, flag string, words ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// Outputs defines --output of a command.
func Outputs(c *cobra.Command, to *string, forms ...string) {
	list := strings.Join(forms[:len(forms)-1], ", ") + " or " + forms[len(forms)-1]
	if slices.Contains(forms, "github") {
		list += "; github is the default in GitHub Actions"
	}
	c.Flags().StringVarP(to, "output", "o", forms[0], "form of the result: "+list)
	c.Annotations = map[string]string{"forms": strings.Join(forms, " ")}
	Choices(c, "output", forms...)
}

// ProgressFlag defines --progress of a command.
func ProgressFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "progress", "auto", "auto, plain (a line every 10 s) or none")
	Choices(c, "progress", progressModes...)
}

var progressModes = []string{"auto", "plain", "none"}

// CheckProgress checks --progress.
func CheckProgress(given string) error { return OneOf("progress", given, progressModes...) }

// Form checks the chosen output; the surroundings may choose where the user has
// not.
func (a *App) Form(c *cobra.Command, given string, known ...string) (string, error) {
	if !c.Flags().Changed("output") && a.Getenv("GITHUB_ACTIONS") == "true" && slices.Contains(known, "github") {
		return "github", nil
	}
	return given, OneOf("output", given, known...)
}

func NoArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case strings.Contains(args[0], "://") && cmd.Flags().Lookup("url") != nil:
		return Usage("write `"+cmd.CommandPath()+" -u "+ShellWord(args[0])+"`", "a server goes after -u")
	case cmd.Flags().Lookup("file") != nil && strings.HasSuffix(args[0], ".yaml"):
		return Usage("write `"+cmd.CommandPath()+" -f "+ShellWord(args[0])+"`", "a declaration goes after -f")
	}
	return Usage("run `"+cmd.CommandPath()+" --help`", "%s takes no argument, but got %q", cmd.CommandPath(), args[0])
}

// Say tells something that is no result, unless the user wants quiet.
func (a *App) Say(format string, args ...any) {
	if !a.Quiet {
		fmt.Fprintf(a.Err, "%s\n", a.HideSecrets(fmt.Sprintf(format, args...)))
	}
}

// Print writes one line of a result.
func (a *App) Print(format string, args ...any) { fmt.Fprintf(a.Out, format+"\n", args...) }

// Takes reports whether the command that runs has a flag.
func (a *App) Takes(flag string) bool {
	return a.command != nil && a.command.Flags().Lookup(flag) != nil
}

// detail tells what only --verbose wants to know.
func (a *App) detail(format string, args ...any) {
	if a.Verbose {
		a.Say(format, args...)
	}
}

// RingVariable holds the text of a ring.
const RingVariable = "KEYWRIGHT_KEY_RING"

// Given says whether a flag is in the arguments; one from the environment is
// meant for commands that it concerns.
func (a *App) Given(flags ...string) bool {
	return slices.ContainsFunc(a.Args, func(arg string) bool {
		return slices.ContainsFunc(flags, func(f string) bool {
			return arg == Dashed(f) || strings.HasPrefix(arg, Dashed(f)+"=") ||
				len(f) == 2 && f[0] == '-' && strings.HasPrefix(arg, f)
		})
	})
}

func Dashed(flag string) string {
	if strings.HasPrefix(flag, "-") {
		return flag
	}
	return "--" + flag
}

// ValueWords say what --values may be; the last two are what it was.
var ValueWords = []string{"none", "sample", "all", "true", "false"}
