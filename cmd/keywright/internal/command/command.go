// Package command is the verbs of the keywright command line: one file per
// verb, each an options struct, its flags, and a function that prints to the
// streams it is given. Everything below Main is free of globals and of os.Exit.
//
// The verbs do little themselves: they load a declaration, call the library and
// choose a form of output.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The exit codes of every verb.
const (
	exitClean       = 0
	exitFindings    = 1
	exitUsage       = 2
	exitUnreachable = 3
	exitRefused     = 4
	exitPartial     = 5
	exitInterrupted = 130
)

// Streams is the world a command lives in.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
}

// exit is an error that carries an exit code; without a message it has been
// said already.
type exit struct {
	code    int
	message string
	hint    string
}

func (e *exit) Error() string { return e.message }

func usage(hint, format string, args ...any) error {
	return &exit{exitUsage, fmt.Sprintf(format, args...), hint}
}

// app is what the verbs share: the streams and the persistent flags.
type app struct {
	Streams
	file    string
	url     string
	color   string
	quiet   bool
	connect connect.Options
	now     func() time.Time
}

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, s Streams) int {
	a := &app{Streams: s, now: time.Now}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	return a.finish(ctx, err)
}

// New is the tree of commands, for documentation.
func New() *cobra.Command {
	return (&app{Streams: Streams{Getenv: func(string) string { return "" }}, now: time.Now}).root()
}

// finish says what went wrong, once, with a way out, and picks the exit code.
func (a *app) finish(ctx context.Context, err error) int {
	var e *exit
	var refused *connect.Error
	var config *connect.ConfigError
	say := func(message, hint string) {
		if message != "" {
			fmt.Fprintf(a.Err, "keywright: %s\n", finding.Printable(message))
		}
		if hint != "" {
			fmt.Fprintf(a.Err, "hint: %s\n", finding.Printable(hint))
		}
	}
	switch {
	case err == nil:
		return exitClean
	case errors.As(err, &e):
		say(e.message, e.hint)
		return e.code
	case ctx.Err() != nil:
		say("interrupted", "")
		return exitInterrupted
	case errors.Is(err, syscall.EPIPE):
		return exitClean // whoever reads has seen enough
	case errors.As(err, &refused):
		say("cannot use the server "+refused.Server+": "+refused.Err.Error(), refused.Hint)
		if refused.Kind == connect.Denied {
			return exitRefused
		}
		return exitUnreachable
	case errors.As(err, &config):
		say(config.What, config.Hint)
		return exitUsage
	}
	say(err.Error(), "")
	return exitUsage
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "keywright",
		Short: "Schema as code for Redis and Valkey keyspaces",
		Long: `keywright checks that the keys on a Redis or Valkey server are what one YAML
file says they should be: their names, types, TTLs, sizes and values.`,
		SilenceUsage: true, SilenceErrors: true,
		SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := "run `keywright help` for the list"
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "did you mean `keywright " + near[0] + "`?"
			}
			return usage(hint, "there is no command %q", args[0])
		},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.environment(cmd) },
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("run `"+cmd.CommandPath()+" --help` for its flags", "%v", err)
	})
	f := root.PersistentFlags()
	f.StringVarP(&a.file, "file", "f", "", "the declaration (default: keyspace.yaml here or in a folder above)")
	f.StringVar(&a.color, "color", "auto", "colour: auto, always or never")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "say nothing but results")
	root.AddCommand(a.initCommand(), a.lintCommand(), a.fmtCommand(), a.rulesCommand(), a.explainCommand(), a.matchCommand(), a.auditCommand(),
		a.doctorCommand(), a.aclCommand(), a.demoCommand(), a.schemaCommand(), a.versionCommand())
	return root
}

// environment fills flags that were not given from KEYWRIGHT_<FLAG>.
func (a *app) environment(cmd *cobra.Command) error {
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := "KEYWRIGHT_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value := a.Getenv(name)
		if f.Changed || value == "" || f.Name == "url" || failed != nil {
			return
		}
		if err := f.Value.Set(value); err != nil {
			failed = usage("", "%s: %v", name, err)
		}
	})
	if a.color != "auto" && a.color != "always" && a.color != "never" {
		return usage("write --color auto, always or never", "--color %q is nothing keywright knows", a.color)
	}
	return failed
}

// serverFlags are the flags of the verbs that need a server.
func (a *app) serverFlags(f *pflag.FlagSet) {
	f.StringVarP(&a.url, "url", "u", "", "the server (default: $KEYWRIGHT_URL, $REDIS_URL, "+connect.DefaultURL+"); a password belongs into the environment")
	f.StringVar(&a.connect.CAFile, "tls-ca", "", "PEM file with the CA of the server's certificate")
	f.StringVar(&a.connect.CertFile, "tls-cert", "", "PEM file with the client certificate")
	f.StringVar(&a.connect.KeyFile, "tls-key", "", "PEM file with the key of the client certificate")
	f.StringVar(&a.connect.ServerName, "tls-server-name", "", "the name in the server's certificate, if it is not the host's")
	f.BoolVar(&a.connect.Insecure, "tls-insecure", false, "do not verify the server's certificate")
	f.DurationVar(&a.connect.Timeout, "timeout", 5*time.Second, "how long to wait for the server, each time")
}

// server makes the Config from flags and environment.
func (a *app) server() (connect.Config, error) {
	o := a.connect
	o.URL, o.Getenv = a.url, a.Getenv
	if a.url != "" && connect.HasPassword(a.url) {
		fmt.Fprintln(a.Err, "warning: a password in the arguments is seen by everybody who can list processes; put the URL into KEYWRIGHT_URL, or the password into REDISCLI_AUTH")
	}
	if o.Timeout <= 0 {
		return connect.Config{}, usage("write --timeout 5s", "--timeout must be above zero")
	}
	return connect.New(o)
}

// declarationName is the file that is looked for.
const declarationName = "keyspace.yaml"

// find is the declaration to use: --file, else the nearest keyspace.yaml.
func (a *app) find() (string, error) {
	if a.file != "" {
		return a.file, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		path := filepath.Join(at, declarationName)
		if _, err := os.Stat(path); err == nil {
			if rel, err := filepath.Rel(dir, path); err == nil {
				return rel, nil
			}
			return path, nil
		}
		if at == filepath.Dir(at) {
			return "", usage("write one with `keywright init`, or name it with --file", "there is no %s here or in a folder above", declarationName)
		}
	}
}

// declaration is a loaded file with the findings of loading it. Positions in
// the model are relative to the folder of the first file; findings and sources
// have the names of files as the user would write them.
type declaration struct {
	*keyspace.Keyspace
	prefix   string // from here to that folder
	findings []finding.Finding
	sources  map[string][]byte
}

// load reads a declaration. Files are opened below the folder of the first one.
func load(path string) (*declaration, error) {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, usage("", "the folder of the declaration cannot be opened: %v", err)
	}
	defer root.Close()
	if info, err := root.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return nil, usage("write one with `keywright init`", "%s does not exist", path)
	} else if err == nil && info.IsDir() {
		return nil, usage("name the file in it", "%s is a folder", path)
	}
	ks, found := keyspace.Load(root.FS(), name)
	d := &declaration{Keyspace: ks, sources: map[string][]byte{}}
	if prefix := filepath.ToSlash(filepath.Clean(dir)); prefix != "." {
		d.prefix = prefix + "/"
	}
	for _, f := range ks.Files {
		d.sources[d.prefix+f.Name] = f.Text
	}
	d.findings = d.moved(found)
	return d, nil
}

// moved are findings with file names as seen from here.
func (d *declaration) moved(findings []finding.Finding) []finding.Finding {
	move := func(p *finding.Position) {
		if p.File != "" {
			p.File = d.prefix + p.File
		}
	}
	out := slices.Clone(findings)
	for i := range out {
		move(&out[i].Pos)
		out[i].Related = slices.Clone(out[i].Related)
		for j := range out[i].Related {
			move(&out[i].Related[j].Pos)
		}
	}
	return out
}

// usable refuses a declaration with errors: nothing may be concluded from it.
func (a *app) usable(path string) (*declaration, error) {
	d, err := load(path)
	if err != nil {
		return nil, err
	}
	if c := finding.Count(d.findings); c.Errors > 0 {
		_ = finding.Text(a.Err, d.findings, a.printing(d, a.Err))
		return nil, usage("mend them first; `keywright lint` shows them too", "%s has %s", path, finding.Summary(c))
	}
	return d, nil
}

// printing are the options of the printers of findings.
func (a *app) printing(d *declaration, w io.Writer) finding.Options {
	return finding.Options{
		Source: func(file string) []byte { return d.sources[file] },
		Rules:  AllRules(),
		Color:  terminal.Color(a.color, w, a.Getenv),
	}
}

// AllRules is every rule of the product, in the order of the codes.
func AllRules() []finding.Rule {
	all := append(append(append(append([]finding.Rule(nil), keyspace.Rules()...), finding.Rules()...), lint.Rules()...), audit.Rules()...)
	sortRules(all)
	return all
}
