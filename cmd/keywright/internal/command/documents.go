package command

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/shape"
	"github.com/keywright/keywright/finding"
)

// Document represents one form of JSON that a command prints. docs/json.md says what its
// version promises.
type Document struct {
	Name    string // the command, and jsonl for that form: "entities check", "audit jsonl"
	Version int    // grows when something goes or changes its meaning
	What    string
	of      reflect.Type
}

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
	{"queues run", 1, "Which jobs that wait for their time would run now, or do.", reflect.TypeFor[changeReport]()},
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

// module is the path that the packages of the outputs begin with.
const module = "github.com/keywright/keywright"

// schemaHome says where the published schemas are.
const schemaHome = "https://raw.githubusercontent.com/keywright/keywright/main/cmd/keywright/internal/command/schemas/"

// Schema returns the JSON Schema of a document, with the comments of the source in root.
func (d Document) Schema(root fs.FS) ([]byte, error) {
	s, err := shape.Of(d.of, shape.Source(root, module))
	if err != nil {
		return nil, err
	}
	properties := s["properties"].(shape.Schema)
	properties["version"] = shape.Schema{"const": d.Version, "description": "of this form; see docs/json.md"}
	s["required"] = append([]string{"version"}, required(s)...)
	s["$schema"], s["$id"] = "https://json-schema.org/draft/2020-12/schema", schemaHome+d.File()
	s["title"], s["description"] = "keywright "+d.Name, d.What
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(s)
	return text.Bytes(), err
}

func required(s shape.Schema) []string {
	list, _ := s["required"].([]string)
	return list
}

// File returns the name of the document's schema file.
func (d Document) File() string { return strings.ReplaceAll(d.Name, " ", "-") + ".schema.json" }

//go:embed schemas/*.schema.json
var schemas embed.FS

// published returns the schema of a document as it was generated.
func (d Document) published() ([]byte, error) { return schemas.ReadFile("schemas/" + d.File()) }

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

// json prints a document with its version.
func (a *app) json(v any) error { return a.printJSON(v, "  ") }

// jsonLine prints a document as a line.
func (a *app) jsonLine(v any) error { return a.printJSON(v, "") }

func (a *app) printJSON(v any, indent string) error {
	text, err := withVersion(v)
	if err != nil {
		return err
	}
	return finding.WriteJSON(a.out.Raw(), json.RawMessage(text), indent)
}

// withVersion returns a document as JSON; its version comes first.
func withVersion(v any) ([]byte, error) {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	i := slices.IndexFunc(Documents, func(d Document) bool { return d.of == t })
	if i < 0 {
		return nil, &bug{fmt.Sprintf("%s is printed and has no schema", t)}
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	rest := text.Bytes()[1:]
	begin := fmt.Sprintf(`{"version":%d,`, Documents[i].Version)
	if rest[0] == '}' {
		begin = strings.TrimSuffix(begin, ",")
	}
	return append([]byte(begin), rest...), nil
}
