package declare

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
	"testing/fstest"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/infer/files"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/migrate/record"
)

// draftMigration drafts a migration from a folder of JSON files.
func draftMigration(ctx context.Context, a *cli.App, o *inferring) ([]byte, error) {
	if o.Name != "" || o.page != "" {
		return nil, cli.Usage("name one of them", "--migration, --from-doc and a source exclude each other")
	}
	known, original, err := toMerge(a, o.merge)
	if err != nil {
		return nil, err
	}
	if known != nil && len(known.Migrations) > 0 {
		return nil, &cli.Exit{Code: cli.ExitRefused, Message: o.merge + " declares a migration already",
			Hint: "take it out, or write the new moves by hand"}
	}
	root, err := os.OpenRoot(o.files)
	if err != nil {
		return nil, cli.Usage("name a folder of JSON files", "the files cannot be read: %v", err)
	}
	defer root.Close()
	found, err := jsonFiles(ctx, root)
	if err != nil {
		return nil, err
	}
	d, err := files.Build(ctx, found, files.Options{Known: known, Original: original, Load: loader(o.merge),
		File: nameLoaded(o.merge)})
	var bad *record.Error
	switch {
	case errors.As(err, &bad):
		return nil, &cli.Exit{Code: cli.ExitUsage, Message: bad.Error(),
			Hint: "mend the file, or draft from a folder without it"}
	case err != nil:
		return nil, err
	}
	a.Say("drafted %s from %s of %s", terminal.Plural(int64(len(d.Moves)), "move"),
		terminal.Plural(int64(d.Files), "file"),
		finding.Printable(o.files))
	for i, l := range d.Left {
		if i == mostLeft {
			a.Say("  and %s that are not moved", terminal.Plural(int64(len(d.Left)-i), "more place"))
			break
		}
		a.Say("  not moved: %s", finding.Printable(l))
	}
	return d.YAML(), nil
}

// loader loads a text in the place of a declaration, with the files that it imports.
func loader(path string) func([]byte) (*keyspace.Keyspace, []finding.Finding) {
	return func(text []byte) (*keyspace.Keyspace, []finding.Finding) {
		if path == "" {
			return load.File(fstest.MapFS{cli.DeclarationName: {Data: text}}, cli.DeclarationName)
		}
		return load.File(cli.WithInput{FS: os.DirFS(filepath.Dir(path)), Text: text}, cli.StandardName)
	}
}

// nameLoaded returns what loader calls the text.
func nameLoaded(path string) string {
	if path == "" {
		return cli.DeclarationName
	}
	return cli.StandardName
}

// openRegular opens a file of a folder, which may have become something else meanwhile.
func openRegular(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would keep it waiting
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is no regular file", name), err, f.Close())
	}
	return f, nil
}

// jsonFiles returns the JSON files below a folder, but for those of the engine.
func jsonFiles(ctx context.Context, root *os.Root) (out []files.File, err error) {
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != "." && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case !e.Type().IsRegular() || !slices.Contains([]string{".json", ".jsonl", ".ndjson"}, filepath.Ext(name)):
			return ctx.Err() // links may lead out of the folder, and a pipe has no end
		case len(out) == files.MaxFiles:
			return cli.Usage("draft from a part of them", "%s has more than %d JSON files", root.Name(), files.MaxFiles)
		}
		out = append(out, files.File{Name: name, Open: func() (io.ReadCloser, error) {
			return openRegular(root, name)
		}})
		return nil
	})
	if err == nil && len(out) == 0 {
		err = cli.Usage("name a folder of JSON files", "%s has no JSON file", root.Name())
	}
	return out, err
}
