// Package command is the verbs of the keywright command line: one file per
// verb, each an options struct, its flags, and a function that prints to the
// streams it is given. Everything below Main is free of globals and of os.Exit.
//
// The verbs do little themselves: they load a declaration, call the library and
// choose a form of output.
package command

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/internal/typo"
	"github.com/keywright/keywright/keyspace"
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

// app describes what the verbs share: the streams and the persistent flags.
type app struct {
	keyspace *keyspace.Keyspace // of withConstructs
	In       io.Reader
	out, err *terminal.Screen
	Getenv   func(string) string
	environ  func() []string
	args     []string

	documents []Document // all forms of JSON that there are

	variables [][2]string // that set flags of this run: names and values, which are never shown

	command  *cobra.Command // that runs
	scope    Scope          // of works
	declared string         // the declaration that was loaded; "": none

	file      string
	namespace string // of namespaceFlag

	namedBy        string // the flag that named it, where that is another one
	saidNamespaces bool   // of sayNamespaces
	url            string
	color          string
	quiet          bool
	verbose        bool
	connect        connect.Options
	now            func() time.Time
	patience       time.Duration // how long the right to change keys is waited for
}

func newApp(args []string, s Streams, documents []Document) *app {
	if s.Now == nil {
		s.Now = time.Now
	}
	return &app{In: s.In, out: terminal.NewScreen(s.Out, s.Getenv), err: terminal.NewScreen(s.Err, s.Getenv),
		Getenv: s.Getenv, environ: s.Environ, args: args, now: s.Now, documents: documents}
}

// environment fills flags that were not given from KEYWRIGHT_<FLAG>, and checks
// the persistent ones.
func (a *app) environment(cmd *cobra.Command) error {
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
			a.variables = append(a.variables, [2]string{name, value})
		}
		if err := cmd.Flags().Set(f.Name, value); err != nil { // err shows the value
			failed = usage("correct or unset "+name, "the value of %s does not fit --%s, which takes %s", name, f.Name,
				kindOfFlag(f.Value.Type()))
		}
	})
	if failed != nil {
		return failed
	}
	if err := oneOf("color", a.color, "auto", "always", "never"); err != nil {
		return err
	}
	a.out.SetColor(a.color, a.Getenv)
	a.err.SetColor(a.color, a.Getenv)
	a.unread(cmd.Root())
	return emptyList(cmd)
}

// emptyList refuses a list that is given and has an empty text or nothing in it: it comes
// from a variable of a shell that is not set, and --entry "" would mean all entries.
func emptyList(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if list, ok := f.Value.(pflag.SliceValue); ok && err == nil && f.Value.Type() != "intSlice" {
			if texts := list.GetSlice(); len(texts) == 0 || slices.Contains(texts, "") {
				err = usage("write what is meant, or leave --"+f.Name+" out", "--%s takes no empty text", f.Name)
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

// unread tells the variables that look like ours and that no command reads: a typo
// there is a setting that silently does not hold. Their values are never shown.
func (a *app) unread(root *cobra.Command) {
	if a.environ == nil {
		return
	}
	known := map[string]bool{ringVariable: true}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { known[Variable(f)] = true })
		for _, s := range c.Commands() {
			walk(s)
		}
	}
	walk(root)
	names := slices.Sorted(maps.Keys(known))
	var unknown []string
	for _, e := range a.environ() {
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "KEYWRIGHT_") && !known[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for i, name := range unknown {
		if i == maxUnread {
			a.say("warning: and %d more variables that begin with KEYWRIGHT_", len(unknown)-i)
			return
		}
		meant := ""
		if near := typo.Nearest(name, names); near != "" {
			meant = ": did you mean " + near + "?"
		}
		a.say("warning: no command reads the variable %s%s", finding.Printable(name), meant)
	}
}

// misread hides the value of a variable that should be the URL of a server and is
// none: it may be anything.
func (a *app) misread(name, value string) {
	if _, err := connect.Parse(value); err != nil && value != "" {
		a.variables = append(a.variables, [2]string{name, value})
	}
}

// withoutVariable are flags that no variable sets: those that change something,
// which must be said each time, and those that mean different things to different
// commands.
var withoutVariable = []string{"help", "version", "activate", "apply", "break", "check", "discard", "pause", "remove",
	"repair", "resume", "retry", "save"}

// noVariable marks a flag that no variable sets although others of its name have one.
const noVariable = "keywright_no_variable"

// Variable returns the environment variable of a flag, "" if it has none.
func Variable(flag *pflag.Flag) string {
	if slices.Contains(withoutVariable, flag.Name) || flag.Annotations[noVariable] != nil {
		return ""
	}
	return "KEYWRIGHT_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
}

// kindsOfFlags say what flags take, in words.
var kindsOfFlags = map[string]string{
	"bool": "true or false", "int": "a whole number", "int64": "a whole number", "uint64": "a whole number from 0",
	"duration": "a duration like 5s", "float64": "a number", "stringSlice": "words with commas between them",
}

// kindOfFlag returns what a flag takes, in words.
func kindOfFlag(kind string) string { return cmp.Or(kindsOfFlags[kind], "a "+kind) }

// oneOf checks a flag that takes a word of a list.
func oneOf(flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	list := strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
	hint := "write " + list
	if near := typo.Nearest(value, words); near != "" {
		hint = fmt.Sprintf("did you mean --%s %s? It takes %s", flag, near, list)
	}
	return usage(hint, "--%s %q is nothing this command knows", flag, value)
}

// choices makes the shell complete the words of a flag.
func choices(c *cobra.Command, flag string, words ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// outputs defines --output of a command.
func outputs(c *cobra.Command, to *string, forms ...string) {
	list := strings.Join(forms[:len(forms)-1], ", ") + " or " + forms[len(forms)-1]
	if slices.Contains(forms, "github") {
		list += "; github is the default in GitHub Actions"
	}
	c.Flags().StringVarP(to, "output", "o", forms[0], "form of the result: "+list)
	c.Annotations = map[string]string{"forms": strings.Join(forms, " ")}
	choices(c, "output", forms...)
}

// form checks the chosen output; the surroundings may choose where the user has
// not.
func (a *app) form(c *cobra.Command, given string, known ...string) (string, error) {
	if !c.Flags().Changed("output") && a.Getenv("GITHUB_ACTIONS") == "true" && slices.Contains(known, "github") {
		return "github", nil
	}
	return given, oneOf("output", given, known...)
}

func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case strings.Contains(args[0], "://") && cmd.Flags().Lookup("url") != nil:
		return usage("write `"+cmd.CommandPath()+" -u "+shellWord(args[0])+"`", "a server goes after -u")
	case cmd.Flags().Lookup("file") != nil && strings.HasSuffix(args[0], ".yaml"):
		return usage("write `"+cmd.CommandPath()+" -f "+shellWord(args[0])+"`", "a declaration goes after -f")
	}
	return usage("run `"+cmd.CommandPath()+" --help`", "%s takes no argument, but got %q", cmd.CommandPath(), args[0])
}

// say tells something that is no result, unless the user wants quiet.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.err, "%s\n", a.discreet(fmt.Sprintf(format, args...)))
	}
}

// tell writes one line of a result.
func (a *app) tell(format string, args ...any) { fmt.Fprintf(a.out, format+"\n", args...) }

// detail tells what only --verbose wants to know.
func (a *app) detail(format string, args ...any) {
	if a.verbose {
		a.say(format, args...)
	}
}

// ringVariable holds the text of a ring.
const ringVariable = "KEYWRIGHT_KEY_RING"

// given says whether a flag is in the arguments; one from the environment is
// meant for commands that it concerns.
func (a *app) given(flags ...string) bool {
	return slices.ContainsFunc(a.args, func(arg string) bool {
		return slices.ContainsFunc(flags, func(f string) bool {
			return arg == dashed(f) || strings.HasPrefix(arg, dashed(f)+"=") ||
				len(f) == 2 && f[0] == '-' && strings.HasPrefix(arg, f)
		})
	})
}

func dashed(flag string) string {
	if strings.HasPrefix(flag, "-") {
		return flag
	}
	return "--" + flag
}
