// Package command is the keywright command line: the root with all verbs, the verb that executes any plan, and the
// list of
// the documents that verbs print. The verbs are in packages by what they do; all share package cli.
package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/access"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/declare"
	"github.com/keywright/keywright/cmd/keywright/internal/inspect"
	"github.com/keywright/keywright/cmd/keywright/internal/live"
	"github.com/keywright/keywright/cmd/keywright/internal/migration"
	"github.com/keywright/keywright/cmd/keywright/internal/saving"
	"github.com/keywright/keywright/cmd/keywright/internal/serving"
	"github.com/keywright/keywright/cmd/keywright/internal/transfer"
	"github.com/spf13/cobra"
)

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, s cli.Streams) int {
	a := cli.NewApp(args, s, Documents)
	err := run(ctx, a)
	return a.Finish(ctx, err)
}

// run executes the command. What cannot happen is an error too, and so is a
// result that could not be written.
func run(ctx context.Context, a *cli.App) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &cli.Bug{What: r}
			if a.Verbose {
				fmt.Fprintf(a.Err, "%s\n", debug.Stack())
			}
		}
	}()
	root := root(a)
	root.SetArgs(a.Args)
	err = root.ExecuteContext(ctx)
	if failed := a.Out.Err(); failed != nil {
		if a.Did != "" {
			return fmt.Errorf("the result cannot be written: %w; what was done: %s", failed, a.Did)
		}
		return fmt.Errorf("the result cannot be written: %w", failed)
	}
	return err
}

// New returns the tree of commands, for documentation.
func New() *cobra.Command {
	root := root(cli.NewApp(nil, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard,
		Getenv: func(string) string { return "" }}, Documents))
	root.InitDefaultCompletionCmd()
	return root
}

func root(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "keywright",
		Short: "Schema as code for Redis and Valkey keyspaces",
		Long: `keywright checks that the keys on a Redis or Valkey server are what one YAML
file says they should be: their names, types, TTLs, sizes and values.

Begin with ` + "`keywright init`" + `, or look at it work with ` + "`keywright demo`" + `.`,
		Version:       cli.Version().Version,
		SilenceErrors: true, SilenceUsage: true,
		SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return a.UnknownCommand(cmd, args[0])
		},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.Environment(cmd) },
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(a.FlagError)
	root.SetHelpCommand(helpCommand(a))
	f := root.PersistentFlags()
	f.StringVarP(&a.File, "file", "f", "", "the declaration (default: keyspace.yaml here or in a folder above)")
	f.StringVar(&a.Color, "color", "auto", "colour: auto, always or never")
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "say nothing but results and errors")
	f.BoolVarP(&a.Verbose, "verbose", "v", false, "say which file and which server are used")
	cli.Choices(root, "color", "auto", "always", "never")
	root.AddCommand(declare.InitCommand(a), declare.LintCommand(a), declare.FmtCommand(a), declare.RulesCommand(a),
		declare.ExplainCommand(a), declare.MatchCommand(a), declare.InferCommand(a), declare.GenCommand(a),
		declare.BreakingCommand(a), declare.DiffCommand(a), schemaCommand(a))
	root.AddCommand(inspect.AuditCommand(a), inspect.MergeCommand(a), inspect.TopCommand(a), inspect.LsCommand(a),
		inspect.DoctorCommand(a), inspect.DemoCommand(a))
	root.AddCommand(live.LocksCommand(a), live.QueuesCommand(a), live.RankingsCommand(a), live.EntitiesCommand(a),
		access.ACLCommand(a), access.SealCommand(a))
	root.AddCommand(saving.BackupCommand(a), saving.ArchiveCommand(a, transfer.ArchiveDiffCommand(a)),
		transfer.RestoreCommand(a), transfer.VerifyCommand(a), transfer.CopyCommand(a))
	root.AddCommand(change.RenameCommand(a), change.DeleteCommand(a), change.TTLCommand(a), change.CleanCommand(a),
		applyCommand(a), migration.MigrateCommand(a))
	root.AddCommand(serving.ServeCommand(a), serving.JanitorCommand(a), serving.StatusCommand(a), versionCommand(a))
	return root
}

// verbs returns all verbs that go through a plan.
func verbs() map[string]*change.Verb {
	all := change.KeyVerbs()
	maps.Copy(all, live.Verbs())
	maps.Copy(all, access.Verbs())
	return all
}

// helpCommand returns cobra's, except that a topic there is not is an error.
func helpCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show the help of a command",
		RunE: func(c *cobra.Command, args []string) error {
			cmd, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return a.UnknownCommand(cmp.Or(cmd, c.Root()), rest[0])
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}
