package command

import (
	"embed"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/access"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/declare"
	"github.com/keywright/keywright/cmd/keywright/internal/inspect"
	"github.com/keywright/keywright/cmd/keywright/internal/live"
	"github.com/keywright/keywright/cmd/keywright/internal/migration"
	"github.com/keywright/keywright/cmd/keywright/internal/saving"
	"github.com/keywright/keywright/cmd/keywright/internal/serving"
	"github.com/keywright/keywright/cmd/keywright/internal/transfer"
	"github.com/keywright/keywright/internal/typo"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/schema"
	"github.com/spf13/cobra"
)

// Documents lists all of them. What is printed by App.JSON must be here.
var Documents = []cli.Document{
	{Name: "acl apply", Version: 1, What: "Which ACL users would be changed, or were.",
		Of: reflect.TypeFor[change.Report]()},
	{Name: "acl diff", Version: 1, What: "The users of every server, compared with the declaration.",
		Of: reflect.TypeFor[access.ACLDifference]()},
	{Name: "acl print", Version: 1, What: "The ACL users of the declaration.", Of: reflect.TypeFor[access.ACLUsers]()},
	{Name: "apply", Version: 1, What: "What was changed by a plan.", Of: reflect.TypeFor[change.Report]()},
	{Name: "archive diff", Version: 1, What: "How two archives compare.", Of: reflect.TypeFor[transfer.VerifyReport]()},
	{Name: "archive diff jsonl", Version: 1, What: "One key in which two archives differ.",
		Of: reflect.TypeFor[change.DifferingKey]()},
	{Name: "archive info", Version: 1, What: "Where an archive is from, and what is in it.",
		Of: reflect.TypeFor[saving.ArchiveReport]()},
	{Name: "archive ls jsonl", Version: 1, What: "One key of an archive.", Of: reflect.TypeFor[saving.ArchiveKey]()},
	{Name: "archive verify", Version: 1, What: "Whether an archive is whole.",
		Of: reflect.TypeFor[saving.ArchiveReport]()},
	{Name: "audit", Version: 1, What: "The report of an audit.", Of: reflect.TypeFor[audit.Report]()},
	{Name: "audit jsonl", Version: 1, What: "One line of the report of an audit, or one key that --keys-of asks for.",
		Of: reflect.TypeFor[audit.Line]()},
	{Name: "backup", Version: 1, What: "What was saved.", Of: reflect.TypeFor[saving.BackupReport]()},
	{Name: "breaking", Version: 1, What: "What a change of the declaration breaks.",
		Of: reflect.TypeFor[finding.Document]()},
	{Name: "clean", Version: 1, What: "What would be cleaned up, or was.", Of: reflect.TypeFor[change.Report]()},
	{Name: "copy", Version: 1, What: "What was copied, or would be.", Of: reflect.TypeFor[transfer.CopyReport]()},
	{Name: "delete", Version: 1, What: "What would be deleted, or was.", Of: reflect.TypeFor[change.Report]()},
	{Name: "diff", Version: 1, What: "What has changed between two declarations.",
		Of: reflect.TypeFor[declare.Difference]()},
	{Name: "doctor", Version: 2, What: "What a server is, and what is dangerous about it.",
		Of: reflect.TypeFor[inspect.Diagnosis]()},
	{Name: "entities", Version: 1, What: "How many items the entities hold.", Of: reflect.TypeFor[answer.Entities]()},
	{Name: "entities check", Version: 1, What: "What is wrong in the indexes of the entities.",
		Of: reflect.TypeFor[live.CheckReport]()},
	{Name: "entities index", Version: 1, What: "Which indexes would be built or removed, or were.",
		Of: reflect.TypeFor[change.Report]()},
	{Name: "entities indexes", Version: 1, What: "Which indexes of the entities are complete.",
		Of: reflect.TypeFor[live.IndexesReport]()},
	{Name: "entities repair", Version: 1, What: "Which items would be put right, or were.",
		Of: reflect.TypeFor[change.Report]()},
	{Name: "explain", Version: 1, What: "A rule, an entry or a key: one of the three.",
		Of: reflect.TypeFor[declare.Explanation]()},
	{Name: "gen", Version: 1, What: "The files that are generated, and what was done to each.",
		Of: reflect.TypeFor[declare.Generated]()},
	{Name: "infer", Version: 1, What: "What was drafted, how sure it is, and what was left out.",
		Of: reflect.TypeFor[declare.DraftReport]()},
	{Name: "janitor next", Version: 1, What: "The jobs of the janitor, and when each is due.",
		Of: reflect.TypeFor[serving.DueJobs]()},
	{Name: "lint", Version: 1, What: "What is wrong in declarations.", Of: reflect.TypeFor[finding.Document]()},
	{Name: "locks", Version: 1, What: "The locks that are held or waited for.", Of: reflect.TypeFor[answer.Locks]()},
	{Name: "locks break", Version: 1, What: "Which locks would be broken, or were.",
		Of: reflect.TypeFor[change.Report]()},
	{Name: "ls jsonl", Version: 1, What: "One key of a server or a snapshot.", Of: reflect.TypeFor[inspect.ListedKey]()},
	{Name: "match jsonl", Version: 1, What: "One key of the input, and its entry.",
		Of: reflect.TypeFor[declare.Matched]()},
	{Name: "merge", Version: 1, What: "The report of an audit in parts.", Of: reflect.TypeFor[audit.Report]()},
	{Name: "merge jsonl", Version: 1, What: "One line of the report of an audit in parts.",
		Of: reflect.TypeFor[audit.Line]()},
	{Name: "migrate advance", Version: 1, What: "What a part lacks for its next phase, or the step that it took.",
		Of: reflect.TypeFor[migration.Step]()},
	{Name: "migrate diff", Version: 1, What: "The classes of differences that reads have found.",
		Of: reflect.TypeFor[migration.Differences]()},
	{Name: "migrate export", Version: 1, What: "The files that were written as Redis has their records.",
		Of: reflect.TypeFor[migration.Exported]()},
	{Name: "migrate import", Version: 1, What: "What was imported, or would be.",
		Of: reflect.TypeFor[migration.ImportReport]()},
	{Name: "migrate plan", Version: 1, What: "What an import would do.", Of: reflect.TypeFor[migration.ImportReport]()},
	{Name: "migrate repair", Version: 1, What: "Which records were repaired, or would be.",
		Of: reflect.TypeFor[migration.Repaired]()},
	{Name: "migrate rollback", Version: 1, What: "What is between a part and its phase before, or the step that it took.",
		Of: reflect.TypeFor[migration.Step]()},
	{Name: "migrate status", Version: 1, What: "Where each part of a migration is.",
		Of: reflect.TypeFor[migration.Status]()},
	{Name: "migrate verify", Version: 1, What: "How files and Redis compare.",
		Of: reflect.TypeFor[migration.Verified]()},
	{Name: "queues", Version: 1, What: "What the queues hold.", Of: reflect.TypeFor[answer.Queues]()},
	{Name: "queues cancel", Version: 1, What: "Which waiting jobs would be cancelled, or were.",
		Of: reflect.TypeFor[change.Report]()},
	{Name: "queues discard", Version: 1, What: "Which dead jobs would be discarded, or were.",
		Of: reflect.TypeFor[change.Report]()},
	{Name: "queues pause", Version: 1, What: "Which queues would be paused, or were.",
		Of: reflect.TypeFor[change.Report]()},
	{Name: "queues repair", Version: 1, What: "Which jobs in no place would be brought back, or were.",
		Of: reflect.TypeFor[change.Report]()},
	{Name: "queues resume", Version: 1, What: "Which queues would be resumed, or were.",
		Of: reflect.TypeFor[change.Report]()},
	{Name: "queues retry", Version: 1, What: "Which dead jobs would be brought back, or were.",
		Of: reflect.TypeFor[change.Report]()},
	{Name: "queues run", Version: 1, What: "Which jobs that wait for their time would run now, or do.",
		Of: reflect.TypeFor[change.Report]()},
	{Name: "rankings", Version: 1, What: "The keys of rankings, each with its first member.",
		Of: reflect.TypeFor[answer.Rankings]()},
	{Name: "rankings around", Version: 1, What: "A member of a ranking, with those above and below it.",
		Of: reflect.TypeFor[live.RowsReport]()},
	{Name: "rankings top", Version: 1, What: "The first members of a ranking.", Of: reflect.TypeFor[live.RowsReport]()},
	{Name: "rename", Version: 1, What: "What would be renamed, or was.", Of: reflect.TypeFor[change.Report]()},
	{Name: "restore", Version: 1, What: "What was restored, or would be.", Of: reflect.TypeFor[transfer.RestoreReport]()},
	{Name: "rules", Version: 1, What: "Every rule.", Of: reflect.TypeFor[declare.RulesReport]()},
	{Name: "seal adopt", Version: 1, What: "Which plain texts would be sealed, or were.",
		Of: reflect.TypeFor[change.Report]()},
	{Name: "seal rotate", Version: 1, What: "Which texts would be sealed again, or were.",
		Of: reflect.TypeFor[change.Report]()},
	{Name: "seal status", Version: 1, What: "What is sealed with which key.", Of: reflect.TypeFor[access.SealReport]()},
	{Name: "status", Version: 1, What: "What is wrong on a server now, the worst first.",
		Of: reflect.TypeFor[serving.StatusReport]()},
	{Name: "top", Version: 1, What: "The groups of keys and the keys that cost most.",
		Of: reflect.TypeFor[inspect.TopReport]()},
	{Name: "ttl", Version: 1, What: "Which keys would get a TTL, or did.", Of: reflect.TypeFor[change.Report]()},
	{Name: "verify", Version: 1, What: "How two places compare.", Of: reflect.TypeFor[transfer.VerifyReport]()},
	{Name: "verify jsonl", Version: 1, What: "One key that differs.", Of: reflect.TypeFor[change.DifferingKey]()},
	{Name: "version", Version: 1, What: "The version of the program.", Of: reflect.TypeFor[cli.Build]()},
}

//go:embed schemas/*.schema.json
var schemas embed.FS

// published returns the schema of a document, with all that it refers to.
func published(d cli.Document) ([]byte, error) {
	files, err := fs.Sub(schemas, "schemas")
	if err != nil {
		return nil, err
	}
	return d.Schema(files)
}

// documentNamed finds the document of a command; the form may be left out where
// there is one.
func documentNamed(name string) (cli.Document, bool) {
	for _, wanted := range []string{name, name + " jsonl"} {
		i := slices.IndexFunc(Documents, func(d cli.Document) bool { return d.Name == wanted })
		if i >= 0 {
			return Documents[i], true
		}
	}
	return cli.Document{}, false
}

// listed is the value of --output where it names no document.
const listed = " "

func schemaCommand(a *cli.App) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the language, or of what a command prints",
		Long: `Prints the JSON Schema with which editors complete and check a declaration.
` + "`keywright init`" + ` writes it beside the file.

With --output COMMAND it prints the JSON Schema (draft 2020-12) of what that command
prints with -o json or -o jsonl; --output alone lists these documents and their
versions. What a version promises is in docs/json.md.`,
		Example: `  keywright schema > .keywright/keyspace.schema.json
  keywright schema --output
  keywright schema --output audit
  keywright schema --output entities check`,
		Args: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("output") {
				return nil
			}
			return cli.NoArgs(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("output") {
				return outputSchema(a, strings.TrimSpace(strings.Join(append([]string{output}, args...), " ")))
			}
			_, err := a.Out.Raw().Write(schema.JSON)
			return err
		},
	}
	c.Flags().StringVar(&output, "output", "", "a command: print the schema of its JSON; alone it lists them")
	f := c.Flags().Lookup("output")
	f.NoOptDefVal = listed
	cli.Choices(c, "output", documentNames()...)
	return c
}

func documentNames() []string {
	var out []string
	for _, d := range Documents {
		out = append(out, d.Name)
	}
	return out
}

// outputSchema prints the schema of one document, or lists them.
func outputSchema(a *cli.App, name string) error {
	if name == "" {
		for _, d := range Documents {
			a.Print("%-16s %d  %s", d.Name, d.Version, d.What)
		}
		return nil
	}
	d, known := documentNamed(strings.TrimPrefix(name, "keywright "))
	if !known {
		hint := "`keywright schema --output` lists those that there are"
		if near := typo.Nearest(name, documentNames()); near != "" {
			hint = "did you mean `keywright schema --output " + near + "`?"
		}
		return cli.Usage(hint, "no command %q prints JSON", name)
	}
	text, err := published(d)
	if err != nil {
		return &cli.Bug{What: err}
	}
	_, err = a.Out.Raw().Write(text)
	return err
}
