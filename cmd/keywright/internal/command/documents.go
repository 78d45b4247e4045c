package command

import (
	"embed"
	"reflect"
	"slices"
	"strings"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/internal/typo"
	"github.com/keywright/keywright/keyspace/schema"
	"github.com/spf13/cobra"
)

// Documents lists all of them. What is printed by app.json must be here.
var Documents = []Document{
	{"acl apply", 1, "Which ACL users would be changed, or were.", reflect.TypeFor[changeReport]()},
	{"acl diff", 1, "The users of every server, compared with the declaration.", reflect.TypeFor[aclDifference]()},
	{"acl print", 1, "The ACL users of the declaration.", reflect.TypeFor[aclUsers]()},
	{"apply", 1, "What was changed by a plan.", reflect.TypeFor[changeReport]()},
	{"archive diff", 1, "How two archives compare.", reflect.TypeFor[verifyReport]()},
	{"archive diff jsonl", 1, "One key in which two archives differ.", reflect.TypeFor[differingKey]()},
	{"archive info", 1, "Where an archive is from, and what is in it.", reflect.TypeFor[archiveReport]()},
	{"archive ls jsonl", 1, "One key of an archive.", reflect.TypeFor[archiveKey]()},
	{"archive verify", 1, "Whether an archive is whole.", reflect.TypeFor[archiveReport]()},
	{"audit", 1, "The report of an audit.", reflect.TypeFor[audit.Report]()},
	{"audit jsonl", 1, "One line of the report of an audit, or one key that --keys-of asks for.",
		reflect.TypeFor[audit.Line]()},
	{"backup", 1, "What was saved.", reflect.TypeFor[backupReport]()},
	{"breaking", 1, "What a change of the declaration breaks.", reflect.TypeFor[finding.Document]()},
	{"clean", 1, "What would be cleaned up, or was.", reflect.TypeFor[changeReport]()},
	{"copy", 1, "What was copied, or would be.", reflect.TypeFor[copyReport]()},
	{"delete", 1, "What would be deleted, or was.", reflect.TypeFor[changeReport]()},
	{"diff", 1, "What has changed between two declarations.", reflect.TypeFor[difference]()},
	{"doctor", 2, "What a server is, and what is dangerous about it.", reflect.TypeFor[diagnosis]()},
	{"entities", 1, "How many items the entities hold.", reflect.TypeFor[answer.Entities]()},
	{"entities check", 1, "What is wrong in the indexes of the entities.", reflect.TypeFor[checkReport]()},
	{"entities index", 1, "Which indexes would be built or removed, or were.", reflect.TypeFor[changeReport]()},
	{"entities indexes", 1, "Which indexes of the entities are complete.", reflect.TypeFor[indexesReport]()},
	{"entities repair", 1, "Which items would be put right, or were.", reflect.TypeFor[changeReport]()},
	{"explain", 1, "A rule, an entry or a key: one of the three.", reflect.TypeFor[explanation]()},
	{"gen", 1, "The files that are generated, and what was done to each.", reflect.TypeFor[generated]()},
	{"infer", 1, "What was drafted, how sure it is, and what was left out.", reflect.TypeFor[draftReport]()},
	{"janitor next", 1, "The jobs of the janitor, and when each is due.", reflect.TypeFor[dueJobs]()},
	{"lint", 1, "What is wrong in declarations.", reflect.TypeFor[finding.Document]()},
	{"locks", 1, "The locks that are held or waited for.", reflect.TypeFor[answer.Locks]()},
	{"locks break", 1, "Which locks would be broken, or were.", reflect.TypeFor[changeReport]()},
	{"ls jsonl", 1, "One key of a server or a snapshot.", reflect.TypeFor[listedKey]()},
	{"match jsonl", 1, "One key of the input, and its entry.", reflect.TypeFor[matched]()},
	{"merge", 1, "The report of an audit in parts.", reflect.TypeFor[audit.Report]()},
	{"merge jsonl", 1, "One line of the report of an audit in parts.", reflect.TypeFor[audit.Line]()},
	{"migrate advance", 1, "What a part lacks for its next phase, or the step that it took.",
		reflect.TypeFor[migrationStep]()},
	{"migrate diff", 1, "The classes of differences that reads have found.", reflect.TypeFor[migrationDifferences]()},
	{"migrate export", 1, "The files that were written as Redis has their records.", reflect.TypeFor[migrationExported]()},
	{"migrate import", 1, "What was imported, or would be.", reflect.TypeFor[importReport]()},
	{"migrate plan", 1, "What an import would do.", reflect.TypeFor[importReport]()},
	{"migrate repair", 1, "Which records were repaired, or would be.", reflect.TypeFor[migrationRepaired]()},
	{"migrate rollback", 1, "What is between a part and its phase before, or the step that it took.",
		reflect.TypeFor[migrationStep]()},
	{"migrate status", 1, "Where each part of a migration is.", reflect.TypeFor[migrationStatus]()},
	{"migrate verify", 1, "How files and Redis compare.", reflect.TypeFor[migrationVerified]()},
	{"queues", 1, "What the queues hold.", reflect.TypeFor[answer.Queues]()},
	{"queues cancel", 1, "Which waiting jobs would be cancelled, or were.", reflect.TypeFor[changeReport]()},
	{"queues discard", 1, "Which dead jobs would be discarded, or were.", reflect.TypeFor[changeReport]()},
	{"queues pause", 1, "Which queues would be paused, or were.", reflect.TypeFor[changeReport]()},
	{"queues repair", 1, "Which jobs in no place would be brought back, or were.", reflect.TypeFor[changeReport]()},
	{"queues resume", 1, "Which queues would be resumed, or were.", reflect.TypeFor[changeReport]()},
	{"queues retry", 1, "Which dead jobs would be brought back, or were.", reflect.TypeFor[changeReport]()},
	{"rankings", 1, "The keys of rankings, each with its first member.", reflect.TypeFor[answer.Rankings]()},
	{"rankings around", 1, "A member of a ranking, with those above and below it.", reflect.TypeFor[rowsReport]()},
	{"rankings top", 1, "The first members of a ranking.", reflect.TypeFor[rowsReport]()},
	{"rename", 1, "What would be renamed, or was.", reflect.TypeFor[changeReport]()},
	{"restore", 1, "What was restored, or would be.", reflect.TypeFor[restoreReport]()},
	{"rules", 1, "Every rule.", reflect.TypeFor[rulesReport]()},
	{"seal adopt", 1, "Which plain texts would be sealed, or were.", reflect.TypeFor[changeReport]()},
	{"seal rotate", 1, "Which texts would be sealed again, or were.", reflect.TypeFor[changeReport]()},
	{"seal status", 1, "What is sealed with which key.", reflect.TypeFor[sealReport]()},
	{"status", 1, "What is wrong on a server now, the worst first.", reflect.TypeFor[statusReport]()},
	{"top", 1, "The groups of keys and the keys that cost most.", reflect.TypeFor[topReport]()},
	{"ttl", 1, "Which keys would get a TTL, or did.", reflect.TypeFor[changeReport]()},
	{"verify", 1, "How two places compare.", reflect.TypeFor[verifyReport]()},
	{"verify jsonl", 1, "One key that differs.", reflect.TypeFor[differingKey]()},
	{"version", 1, "The version of the program.", reflect.TypeFor[build]()},
}

//go:embed schemas/*.schema.json
var schemas embed.FS

// published returns the schema of a document as it was generated.
func published(d Document) ([]byte, error) { return schemas.ReadFile("schemas/" + d.File()) }

// documentNamed finds the document of a command; the form may be left out where
// there is one.
func documentNamed(name string) (Document, bool) {
	for _, wanted := range []string{name, name + " jsonl"} {
		i := slices.IndexFunc(Documents, func(d Document) bool { return d.Name == wanted })
		if i >= 0 {
			return Documents[i], true
		}
	}
	return Document{}, false
}

// listed is the value of --output where it names no document.
const listed = " "

func (a *app) schemaCommand() *cobra.Command {
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
			return noArgs(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("output") {
				return a.outputSchema(strings.TrimSpace(strings.Join(append([]string{output}, args...), " ")))
			}
			_, err := a.out.Raw().Write(schema.JSON)
			return err
		},
	}
	c.Flags().StringVar(&output, "output", "", "a command: print the schema of its JSON; alone it lists them")
	f := c.Flags().Lookup("output")
	f.NoOptDefVal = listed
	f.Annotations = map[string][]string{noVariable: {"of schema means a command, not a form"}}
	choices(c, "output", documentNames()...)
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
func (a *app) outputSchema(name string) error {
	if name == "" {
		for _, d := range Documents {
			a.tell("%-16s %d  %s", d.Name, d.Version, d.What)
		}
		return nil
	}
	d, known := documentNamed(strings.TrimPrefix(name, "keywright "))
	if !known {
		hint := "`keywright schema --output` lists those that there are"
		if near := typo.Nearest(name, documentNames()); near != "" {
			hint = "did you mean `keywright schema --output " + near + "`?"
		}
		return usage(hint, "no command %q prints JSON", name)
	}
	text, err := published(d)
	if err != nil {
		return &bug{err}
	}
	_, err = a.out.Raw().Write(text)
	return err
}
