package change

import (
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/spf13/cobra"
)

// byRule makes a command that changes what a rule selects. check checks its own flags.
func (o *Changing) byRule(a *cli.App, c *cobra.Command, check func() error) {
	o.ruleFlags(a, c)
	c.Args = cli.NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := check(); err != nil {
			return err
		}
		return Change(c.Context(), a, KeyVerbs()[c.Name()], o.Asked(c.Name()), o)
	}
}

func DeleteCommand(a *cli.App) *cobra.Command {
	var o Changing
	c := &cobra.Command{
		Use:   "delete",
		Short: "Delete the keys of entries, of an owner, of a glob or of a value, or what is not declared",
		Long: `Deletes keys: those of entries with their derived keys, of owners, of globs, those
whose placeholder has a value, or those that nothing declares.

` + changingHelp + `

` + keepHelp + `

A queue goes as a whole, and only while no worker and no job is at work. Other
software's keys (foreign) and keys with an old name (was) stay.

--undeclared is bounded, for what nothing declares may be of another program or
environment on the same server: by the namespace that is declared, else by --match,
else by the globs of owns. Without any of them it is refused; --not-shared says that
there is no other program.

` + cli.SelectionHelp + `

` + ExitCodesOfChanges,
		Example: `  keywright delete --entry session
  keywright delete --where issue=123 --apply
  keywright delete --undeclared --plan stray.plan
  keywright apply stray.plan`,
	}
	o.byRule(a, c, func() error { return cli.SomeKeys("delete", &o.Selecting) })
	o.KeepFlag(c)
	c.Flags().BoolVar(&o.alone, "not-shared", false, "no other program uses the server: --undeclared takes any key")
	return c
}

func TTLCommand(a *cli.App) *cobra.Command {
	var o Changing
	c := &cobra.Command{
		Use:   "ttl",
		Short: "Give keys that lost their TTL the declared one",
		Long: `Gives keys that never expire, and should, the TTL that their entry declares. Keys
that have a TTL keep it. The ends are spread over the last part of the TTL, so that
the keys do not all end in one moment: with --spread 50 and a TTL of an hour they end
between 30 minutes and an hour from now. The keys of a queue end together.

Items of entities are left alone: keywright entities repair gives them their
TTL, and keeps their indexes in step.

` + changingHelp + `

` + cli.SelectionHelp + `

` + ExitCodesOfChanges,
		Example: `  keywright ttl
  keywright ttl --entry session --apply
  keywright ttl --spread 90 --plan ttl.plan`,
	}
	o.byRule(a, c, func() error {
		if o.spread < 0 || o.spread > 100 {
			return cli.Usage("write --spread 50", "--spread is a percentage from 0 to 100")
		}
		return nil
	})
	c.Flags().IntVar(&o.spread, "spread", 50, "over which part of the TTL the ends are spread, in percent")
	return c
}

func CleanCommand(a *cli.App) *cobra.Command {
	var o Changing
	c := &cobra.Command{
		Use:   "clean",
		Short: "Delete what the clean-up of the declaration may take",
		Long: `Executes the cleanup rules of the declaration: keys that were not used for so long
(idle), that are older by the date in their names (older), or all but the newest
(keep). What a rule matches and does not take yet is listed as left alone.

` + changingHelp + `

` + keepHelp + `

` + cli.SelectionHelp + `

` + ExitCodesOfChanges,
		Example: `  keywright clean
  keywright clean --entry log --apply
  keywright clean --plan clean.plan`,
	}
	o.byRule(a, c, func() error { return nil })
	o.KeepFlag(c)
	return c
}
