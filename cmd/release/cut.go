package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	mod "golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// cutPath is the file by which a program of a release knows its commit.
const cutPath = "internal/built/cut.go"

const cutText = `package built

// cutFrom is the commit that a release was cut from. Only ` + "`make release`" + ` writes this file.
const cutFrom = %q
`

// cut makes the release commit in a clone: the changelog has the section of the version, each go.mod requires the
// version of the others, go.sum has their sums, and programs know the commit. All tags are of this one commit: the
// files of a module in a folder do not belong to the module above it, so the sum of the root is known before a go.sum
// that names it is written.
func (r *release) cut(ctx context.Context) error {
	head, err := r.find(ctx)
	if err != nil {
		return err
	}
	if r.modules, err = published(r.tree()); err != nil {
		return err
	}
	for _, write := range []func(context.Context) error{r.writeChangelog, r.writeCut, r.writeWork, r.writeRequirements,
		r.writeSums} {
		if err := write(ctx); err != nil {
			return err
		}
	}
	if err := r.record(ctx); err != nil {
		return err
	}
	return r.agree(ctx, head)
}

// edit changes a file of the clone.
func (r *release) edit(name string, change func(text string) (string, error)) error {
	path := filepath.Join(r.tree(), name)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed, err := change(string(text))
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(changed), 0o644)
}

func (r *release) writeChangelog(context.Context) error {
	return r.edit("CHANGELOG.md", func(text string) (string, error) {
		text, err := cutChangelog(text, r.version, r.when)
		if err != nil {
			return "", err
		}
		r.notes, err = section(text, r.version)
		return text, err
	})
}

func (r *release) writeCut(context.Context) error {
	return r.edit(cutPath, func(string) (string, error) { return fmt.Sprintf(cutText, r.base), nil })
}

// writeWork lets the workspace take the version from the folder, as it did the one before.
func (r *release) writeWork(context.Context) error {
	return r.edit("go.work", func(text string) (string, error) {
		work, err := modfile.ParseWork("go.work", []byte(text), nil)
		if err != nil {
			return "", err
		}
		for _, replace := range slices.Clone(work.Replace) {
			path, version, folder := replace.Old.Path, replace.Old.Version, replace.New.Path // before they are dropped
			if !ours(path) || version == "" {
				continue
			}
			if err := work.DropReplace(path, version); err != nil {
				return "", err
			}
			if err := work.AddReplace(path, "v"+r.version, folder, ""); err != nil {
				return "", err
			}
		}
		work.Cleanup()
		return string(modfile.Format(work.Syntax)), nil
	})
}

// writeRequirements lets every go.mod of the repository require the version, also those that are not released: they
// would otherwise require less than the modules that they import.
func (r *release) writeRequirements(ctx context.Context) error {
	files, err := git(ctx, r.tree(), "ls-files", "go.mod", "*/go.mod")
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(files) {
		if strings.Contains(name, "testdata/") {
			continue
		}
		err := r.edit(name, func(text string) (string, error) {
			f, err := modfile.Parse(name, []byte(text), nil)
			if err != nil {
				return "", err
			}
			for _, req := range f.Require {
				if ours(req.Mod.Path) {
					if err := f.AddRequire(req.Mod.Path, "v"+r.version); err != nil {
						return "", err
					}
				}
			}
			return string(modfile.Format(f.Syntax)), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writeSums writes the go.sum of each module, and then knows the sum of the module itself.
func (r *release) writeSums(context.Context) error {
	for i := range r.modules {
		m := &r.modules[i]
		if len(m.requires) > 0 {
			err := r.edit(filepath.Join(m.dir, "go.sum"), func(text string) (string, error) { return r.goSum(text, *m), nil })
			if err != nil {
				return err
			}
		}
		if err := r.sumOf(m); err != nil {
			return err
		}
	}
	return nil
}

// goSum puts the lines of our modules into a go.sum, where they belong by the order of paths.
func (r *release) goSum(text string, m module) string {
	var lines, own []string
	for line := range strings.Lines(text) {
		if path, _, _ := strings.Cut(line, " "); !ours(path) {
			lines = append(lines, line)
		}
	}
	for _, other := range r.modules {
		if slices.Contains(m.requires, other.path) {
			own = append(own, fmt.Sprintf("%s v%s %s\n", other.path, r.version, other.sum),
				fmt.Sprintf("%s v%s/go.mod %s\n", other.path, r.version, other.modSum))
		}
	}
	at := slices.IndexFunc(lines, func(line string) bool { return line > root })
	if at < 0 {
		at = len(lines)
	}
	return strings.Join(slices.Insert(lines, at, own...), "")
}

// sumOf computes the sums of a module as the go command does of what it downloads; serve compares them.
func (r *release) sumOf(m *module) error {
	dir := filepath.Join(r.tree(), m.dir)
	file, err := os.Create(filepath.Join(r.work, "module.zip"))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := zip.CreateFromDir(file, mod.Version{Path: m.path, Version: "v" + r.version}, dir); err != nil {
		return err
	}
	if m.sum, err = dirhash.HashZip(file.Name(), dirhash.Hash1); err != nil {
		return err
	}
	m.modSum, err = dirhash.Hash1([]string{"go.mod"},
		func(string) (io.ReadCloser, error) { return os.Open(filepath.Join(dir, "go.mod")) })
	return err
}

// kinds lists the headings that a section may have, each once.
var kinds = []string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}

const unreleased = "## [Unreleased]\n"

// cutChangelog gives what was under Unreleased a heading of its own: the version and the date.
func cutChangelog(text, version string, when time.Time) (string, error) {
	before, rest, found := strings.Cut(text, "\n"+unreleased)
	if !found {
		return "", fmt.Errorf("CHANGELOG.md has no line %q", strings.TrimSpace(unreleased))
	}
	if _, err := section(text, version); err == nil {
		return "", fmt.Errorf("CHANGELOG.md has a section of %s already: choose the next version", version)
	}
	news, _, _ := strings.Cut(rest, "\n## [")
	if err := checkSection(news); err != nil {
		return "", fmt.Errorf("CHANGELOG.md, under Unreleased: %w", err)
	}
	return fmt.Sprintf("%s\n%s\n## [%s] - %s\n%s", before, unreleased, version, when.Format(time.DateOnly), rest), nil
}

var heading = regexp.MustCompile(`(?m)^### (.*)$`)

// checkSection refuses a section that says nothing, and headings that readers and programs do not expect.
func checkSection(text string) error {
	var seen []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		switch {
		case !slices.Contains(kinds, m[1]):
			return fmt.Errorf("the heading %q is not one of %s", m[1], strings.Join(kinds, ", "))
		case slices.Contains(seen, m[1]):
			return fmt.Errorf("there are two headings %q: make them one", m[1])
		}
		seen = append(seen, m[1])
	}
	first, _, _ := strings.Cut(text, "### ")
	if len(seen) == 0 || strings.TrimSpace(first) != "" {
		return fmt.Errorf("it must begin with one of the headings %s", strings.Join(kinds, ", "))
	}
	for i, part := range heading.Split(text, -1)[1:] {
		if strings.TrimSpace(part) == "" {
			return fmt.Errorf("nothing is said under %q", seen[i])
		}
	}
	return nil
}

// section returns what the changelog says about a version, without its heading.
func section(text, version string) (string, error) {
	_, rest, found := strings.Cut(text, "\n## ["+version+"] - ")
	if !found {
		return "", fmt.Errorf("CHANGELOG.md has no section of %s", version)
	}
	_, rest, _ = strings.Cut(rest, "\n")
	rest, _, _ = strings.Cut(rest, "\n## [")
	return strings.TrimSpace(rest) + "\n", nil
}
