package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, s Streams) int {
	a := newApp(args, s, Documents)
	err := a.run(ctx)
	return a.finish(ctx, err)
}

// run executes the command. What cannot happen is an error too, and so is a
// result that could not be written.
func (a *app) run(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &bug{r}
			if a.verbose {
				fmt.Fprintf(a.err, "%s\n", debug.Stack())
			}
		}
	}()
	root := a.root()
	root.SetArgs(a.args)
	err = root.ExecuteContext(ctx)
	if failed := a.out.Err(); failed != nil {
		return fmt.Errorf("the result cannot be written: %w", failed)
	}
	return err
}

// New returns the tree of commands, for documentation.
func New() *cobra.Command {
	root := newApp(nil, Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard,
		Getenv: func(string) string { return "" }}, Documents).root()
	root.InitDefaultCompletionCmd()
	return root
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "keywright",
		Short: "Schema as code for Redis and Valkey keyspaces",
		Long: `keywright checks that the keys on a Redis or Valkey server are what one YAML
file says they should be: their names, types, TTLs, sizes and values.

Begin with ` + "`keywright init`" + `, or look at it work with ` + "`keywright demo`" + `.`,
		Version:       version().Version,
		SilenceErrors: true, SilenceUsage: true,
		SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return a.unknownCommand(cmd, args[0])
		},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.environment(cmd) },
	}
	root.SetIn(a.In)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(a.flagError)
	root.SetHelpCommand(a.helpCommand())
	f := root.PersistentFlags()
	f.StringVarP(&a.file, "file", "f", "", "the declaration (default: keyspace.yaml here or in a folder above)")
	f.StringVar(&a.color, "color", "auto", "colour: auto, always or never")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "say nothing but results and errors")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "say which file and which server are used")
	choices(root, "color", "auto", "always", "never")
	root.AddCommand(a.initCommand(), a.lintCommand(), a.fmtCommand(), a.rulesCommand(), a.explainCommand(),
		a.matchCommand(), a.auditCommand(), a.mergeCommand(), a.topCommand(), a.inferCommand(), a.genCommand(),
		a.breakingCommand(), a.diffCommand(),
		a.doctorCommand(), a.aclCommand(), a.locksCommand(), a.queuesCommand(), a.rankingsCommand(), a.entitiesCommand(),
		a.sealCommand(), a.backupCommand(), a.archiveCommand(), a.restoreCommand(), a.verifyCommand(), a.copyCommand(),
		a.renameCommand(), a.lsCommand(), a.deleteCommand(), a.ttlCommand(), a.cleanCommand(), a.applyCommand(),
		a.migrateCommand(), a.demoCommand(), a.schemaCommand(), a.serveCommand(), a.janitorCommand(),
		a.statusCommand(), a.versionCommand())
	return root
}

// helpCommand returns cobra's, except that a topic there is not is an error.
func (a *app) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show the help of a command",
		RunE: func(c *cobra.Command, args []string) error {
			cmd, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return a.unknownCommand(cmp.Or(cmd, c.Root()), rest[0])
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}
