package declare

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing/fstest"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/dumpfile"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/format"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
	"github.com/spf13/cobra"
)

// inferring holds the flags of infer.
type inferring struct {
	sources.Sourcing
	merge string
	to    string
	page  string
	files string

	output string
}

func InferCommand(a *cli.App) *cobra.Command {
	var o inferring
	c := &cobra.Command{
		Use:   "infer [snapshot file | - | URL]",
		Short: "Draft a declaration from the keys of a server or a snapshot",
		Long: `Draws a declaration from live keys: patterns with typed placeholders, types, TTLs
rounded to what a person would write, value shapes from a sample of values, and
guesses about locks, caches, counters, indexes, places, bitmaps and
HyperLogLogs, marked as such. Keys of well-known software go under foreign;
sessions that a library keeps for the application are drafted. It is a draft: it
says what is there, not what should be. Read it, then run lint and audit.

A draft loads, passes lint, and an audit of the same keys, and of the values that
were read, finds nothing but the keys that it does not declare: probable typos
(album, albun), keys that are nearly those of a family (dau:2026-13-45) and names
with nothing in common. They are listed at its end, and standard error says which
share of keys and bytes is drafted. The first lines say how many values were read.
A family of which at least 95 % of the keys have one type is drafted with it; a
guess counts the others by type, and an audit finds them. A family without such a
type is not drafted: its line at the end counts the keys of each.
A word that is a letter away from that of a family is a probable typo if it has
five keys at most, or a hundredth of the family's. With more keys it is drafted
with the guess that it may be a misspelling; what lint says of it is not silenced.
Counts are exact. More than 131,072 keys are read twice for that; what cannot be
read twice (standard input) has counts near the truth, and says "about".

With --from-doc the draft is of the keys that a Markdown page documents: tables,
lists, labels, redis-cli transcripts, sequence diagrams and programs in most ways
to write a placeholder, in English, German, Spanish, Japanese, Korean and
Chinese. What looks like a key and is not drafted (struck out, removed, proposed,
a glob, a host with a port) is listed with its line, and so are TTLs that
contradict each other. Read such a draft beside its page: of pages in shapes that
it has never read it misses keys and TTLs, and may make one up.

With --migration FOLDER the draft is a migration from its JSON files (.json, and
.jsonl or .ndjson of a document in each line): sources, parts, and of each place in
them the entry that it goes to, its key, type and TTL. Names of objects that are
data become placeholders. With --merge as well nothing is drafted but the moves to
the entries of that declaration whose words, types and placeholders fit; else the
entries are drafted, too. What is not moved is listed at its end. The same files
give the same draft. Read every move, then run keywright migrate plan.

Each entry has a confidence: high where words are names and placeholders are
identifiers by their form, medium where words became a placeholder, something is
guessed or there are few keys, low where a placeholder has one key. The draft says
it where it is not high; -o json reports it for each entry, with what was left out
and why.

With --merge the keys that a declaration does not declare are drafted, and added
to it; what is in it stays as it is, and a second merge adds nothing.

` + sources.SourceHelp + `

Exit codes: 0 drafted, 2 usage or a bad file, 3 the server cannot be reached, 4
the server refuses, 5 drafted, but not everything was seen, 130 interrupted.`,
		Example: `  keywright infer dump.rdb > keyspace.yaml
  keywright infer -u redis://localhost:6379 --snapshot
  keywright infer --from-doc wiki/redis-keys.md
  keywright infer dump.rdb --merge keyspace.yaml --to keyspace.yaml
  keywright infer --migration data --merge keyspace.yaml`,
		Args: sources.OneSource,
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = append(args, "")[0]
			if err := cmp.Or(refuseFile(a), cli.OneOf("output", o.output, "yaml", "json"), o.refuse()); err != nil {
				return err
			}
			read := draft
			if c.Flags().Changed("from-doc") {
				read = draftPage
			}
			if o.files != "" {
				read = draftMigration
			}
			text, err := read(c.Context(), a, &o)
			if text == nil {
				return err
			}
			return cmp.Or(deliver(a, &o, text), err)
		},
	}
	a.ServerFlags(c)
	o.Sourcing.Flags(c)
	c.Flags().StringVar(&o.merge, "merge", "", "a declaration: draft what it does not declare, and add it")
	c.Flags().StringVar(&o.page, "from-doc", "", "a Markdown page (or -) that documents keys, instead of a source")
	c.Flags().StringVar(&o.files, "migration", "",
		"a folder of JSON files that a migration is drafted from, instead of a source")
	c.Flags().StringVar(&o.to, "to", "", "write the result to this file instead of standard output")
	cli.Outputs(c, &o.output, "yaml", "json")
	return c
}

// refuseFile: a draft needs no declaration, and -f does not add to one.
func refuseFile(a *cli.App) error {
	if a.Given("file", "-f") {
		return cli.Usage("--merge FILE adds what a declaration lacks", "-f says nothing about a draft")
	}
	return nil
}

// refuse says before anything is read that the result could not be written.
func (o *inferring) refuse() error {
	if o.output == "json" && (o.merge != "" || o.to != "" || o.files != "") {
		return cli.Usage("leave one of them out", "-o json reports on a draft: it has no --merge, --to or --migration")
	}
	if o.to == "" {
		return nil
	}
	if _, err := os.Lstat(o.to); err == nil && o.to != o.merge {
		return &cli.Exit{Code: cli.ExitRefused, Message: o.to + " exists already and is left as it is",
			Hint: "name another file, or merge into it with --merge " + o.to}
	}
	if err := cli.Writable(o.to); err != nil {
		return cli.Unwritable("the draft", err)
	}
	return nil
}

// draft reads the keys and drafts. Without a text nothing could be read; with
// both a text and an error not everything was.
func draft(ctx context.Context, a *cli.App, o *inferring) ([]byte, error) {
	known, original, err := toMerge(a, o.merge)
	if err != nil {
		return nil, err
	}
	src, req, done, err := sources.OpenSource(a, &o.Sourcing)
	if err != nil {
		return nil, err
	}
	defer done()
	in, err := infer.New(infer.Options{Known: known})
	if err != nil {
		return nil, err
	}
	d, sum, err := in.Run(ctx, src, req)
	done()
	if sum.Endpoint == "" && err != nil || errors.Is(err, rdb.ErrNotRDB) {
		return nil, err
	}
	if o.output == "json" {
		report := a.JSON(reportOfDraft(d, sum, err == nil && len(sum.Incomplete) == 0))
		sayDrafted(a, d, sum, err, false)
		return nil, cmp.Or(o.ended(ctx, sum, err), report)
	}
	text := d.YAML()
	if known != nil {
		if text, err = merged(a, d, original, err); text == nil {
			return nil, err
		}
	}
	sayDrafted(a, d, sum, err, known != nil)
	if len(sum.Incomplete) > 0 && known == nil { // what is merged into goes on as it was
		text = append(
			[]byte("# INCOMPLETE: "+finding.Printable(sum.Incomplete.String())+
				"\n# Keys that were not seen are not in this draft.\n"), text...)
	}
	return text, o.ended(ctx, sum, err)
}

// ended returns why a draft is not of all keys, nil if it is.
func (o *inferring) ended(ctx context.Context, sum source.Summary, err error) error {
	switch {
	case ctx.Err() != nil:
		return &cli.Exit{Code: cli.ExitInterrupted, Message: "interrupted: the draft covers what was seen until then",
			Hint: ""}
	case err != nil:
		return err
	case len(sum.Incomplete) > 0:
		return cli.Partial(o.Again(sum.Incomplete), "not everything was seen: %s", sum.Incomplete)
	}
	return nil
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return terminal.Count(int64(n)) + " entries"
}

// mostLeft says how many lines about undeclared keys are said of a merge, whose
// result has no comment about them.
const mostLeft = 10

// sayDrafted says how much of the keyspace the draft covers, and what it does not.
func sayDrafted(a *cli.App, d *infer.Draft, sum source.Summary, err error, merged bool) {
	about, seen := "", ""
	if d.About {
		about = "about "
	}
	if err != nil || len(sum.Incomplete) > 0 {
		seen = " that could be seen,"
	}
	a.Say("drafted %s from %s%s of %s", entries(len(d.Entries)), terminal.Plural(d.All.Keys, "key"), seen,
		finding.Printable(sum.Server))
	var ours, foreign, left infer.Count
	var odd int64
	for _, e := range d.Entries {
		odd += e.Odd
		ours.Keys, ours.Bytes = ours.Keys+e.Keys, ours.Bytes+e.Bytes
	}
	for _, f := range d.Foreign {
		foreign.Keys, foreign.Bytes = foreign.Keys+f.Keys, foreign.Bytes+f.Bytes
	}
	for _, l := range d.Left {
		left.Keys, left.Bytes = left.Keys+l.Keys, left.Bytes+l.Bytes
	}
	for _, part := range []struct {
		what string
		infer.Count
	}{{"drafted", ours}, {"declared before", d.Known}, {"of other software", foreign}, {"not declared", left}} {
		if part.Keys > 0 {
			a.Say("  %-18s %s%s", part.what, about, share(part.Count, d.All))
		}
	}
	if odd > 0 {
		a.Say("  of what is drafted, %s%s of another type than the entry: a guess counts them", about, areKeys(odd))
	}
	for i, l := range d.Left {
		if !merged {
			break
		}
		if i == mostLeft {
			a.Say("  and %s that are not declared", terminal.Plural(int64(len(d.Left)-i), "more group"))
			break
		}
		a.Say("  not declared: %s", finding.Printable(l.String()))
	}
}

// areKeys returns a number of keys with its verb.
func areKeys(n int64) string {
	if n == 1 {
		return "1 key is"
	}
	return terminal.Count(n) + " keys are"
}

// share returns a part of all keys and bytes.
func share(part, all infer.Count) string {
	s := terminal.Plural(part.Keys, "key") + " (" + terminal.Percent(float64(part.Keys)/float64(all.Keys)) + ")"
	if all.Bytes > 0 {
		s += ", " + terminal.Bytes(part.Bytes) + " (" + terminal.Percent(float64(part.Bytes)/float64(all.Bytes)) + ")"
	}
	return s
}

// draftPage drafts the keys that a page documents.
func draftPage(_ context.Context, a *cli.App, o *inferring) ([]byte, error) {
	if o.Name != "" {
		return nil, cli.Usage("name one of them", "--from-doc and a source exclude each other")
	}
	known, original, err := toMerge(a, o.merge)
	if err != nil {
		return nil, err
	}
	page, err := readPage(a, o.page)
	if err != nil {
		return nil, err
	}
	d := infer.FromPage(page, infer.Options{Known: known})
	for i, p := range d.Passed {
		if i == mostLeft {
			a.Say("  and %s that were passed over", terminal.Plural(int64(len(d.Passed)-i), "more line"))
			break
		}
		a.Say("  passed over: %s", finding.Printable(p))
	}
	if len(d.Entries) == 0 && d.Known.Keys == 0 {
		return nil, cli.Usage("keys are found in tables, code blocks, lists and `inline code`", "%s documents no key",
			orStdin(o.page))
	}
	a.Say("drafted %s from %s", entries(len(d.Entries)), orStdin(o.page))
	switch {
	case o.output == "json":
		return nil, a.JSON(reportOfDraft(d, source.Summary{}, true))
	case known == nil:
		return d.YAML(), nil
	}
	return merged(a, d, original, nil)
}

func orStdin(path string) string {
	if path == dumpfile.Stdin {
		return "standard input"
	}
	return path
}

// maxPage bounds a page.
const maxPage = 4 << 20

func readPage(a *cli.App, path string) ([]byte, error) {
	in := a.In
	if path != dumpfile.Stdin {
		f, err := os.Open(path)
		if err != nil {
			return nil, cli.Usage("name a Markdown file", "the page cannot be read: %v", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxPage+1))
	if err != nil {
		return nil, cli.Usage("name a Markdown file", "the page cannot be read: %v", err)
	}
	if len(text) > maxPage {
		return nil, cli.Usage("split it", "%s is longer than %d bytes", orStdin(path), maxPage)
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, cli.Usage("save it as UTF-8", "%s is no text in UTF-8", orStdin(path))
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), nil
}

// toMerge loads the declaration that is added to.
func toMerge(a *cli.App, path string) (*keyspace.Keyspace, []byte, error) {
	if path == "" {
		return nil, nil, nil
	}
	inner := *a
	inner.File = path
	d, _, err := inner.LoadDeclaration()
	if err != nil {
		return nil, nil, err
	}
	text, err := cli.ReadText(path)
	return d.Keyspace, text, err
}

// merged adds the draft to a declaration, and makes sure that it can be loaded.
func merged(a *cli.App, d *infer.Draft, original []byte, seen error) ([]byte, error) {
	text, err := d.Merge(original)
	if err != nil {
		return nil, cli.Usage("", "the draft cannot be added: %v", err)
	}
	if canonical(original) {
		if formatted, err := format.Format(text); err == nil {
			text = formatted
		}
	}
	_, findings := load.File(fstest.MapFS{cli.DeclarationName: {Data: text}}, cli.DeclarationName)
	for _, f := range findings {
		if f.Code == "KW008" || f.Severity.String() != "error" { // imports are not there
			continue
		}
		if !importsAnything(original) {
			return nil, &cli.Bug{What: fmt.Sprintf("the merged declaration cannot be loaded: %v", finding.Finding(f))}
		}
	}
	return text, seen
}

// canonical: as keywright fmt would write it.
func canonical(text []byte) bool {
	formatted, err := format.Format(text)
	return err == nil && bytes.Equal(formatted, text)
}

func importsAnything(text []byte) bool { return strings.Contains("\n"+string(text), "\nimports:") }

// deliver writes the draft.
func deliver(a *cli.App, o *inferring, text []byte) error {
	if o.to == "" {
		return a.WriteFile(text)
	}
	if err := o.refuse(); err != nil { // made while the keys were read
		return err
	}
	if err := cli.ReplaceText(o.to, text); err != nil {
		return err
	}
	a.Say("wrote %s", o.to)
	return nil
}
