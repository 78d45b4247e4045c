package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// dashDir is the folder of the dashboard: dist has the built files, which are embedded in a program, built-with names
// the npm packages that have code in them, and web has the sources and the versions of all packages.
const dashDir = "cmd/keywright/internal/serve/dash"

// dashboard describes the page that is embedded in a program.
type dashboard struct {
	files [][]byte
	parts []component // packages of others with code in the files
}

// readDashboard reads which files a tree embeds, and what is in them.
func readDashboard(tree string) (d dashboard, err error) {
	dir := filepath.Join(tree, filepath.FromSlash(dashDir))
	names, err := filepath.Glob(filepath.Join(dir, "dist", "assets", "*"))
	if err != nil {
		return d, err
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return d, err
		}
		d.files = append(d.files, data)
	}
	if len(d.files) == 0 {
		return d, fmt.Errorf("%s/dist/assets has no files: run make dashboard", dashDir)
	}
	d.parts, err = builtWith(dir)
	return d, err
}

// builtWith returns the packages that built-with names, with what the lock file says of them. Packages that only build
// or test have no code in the files, and so are not in it.
func builtWith(dir string) (parts []component, err error) {
	names, err := os.ReadFile(filepath.Join(dir, "built-with"))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "web", "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct{ Version, Integrity, License string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("%s/web/package-lock.json: %w", dashDir, err)
	}
	for folder := range strings.FieldsSeq(string(names)) {
		p := lock.Packages[folder]
		if p.Version == "" || p.Integrity == "" || p.License == "" {
			return nil, fmt.Errorf("%s/built-with has %s, of which package-lock.json does not say version, checksum and "+
				"licence: run make dashboard and commit what changes", dashDir, folder)
		}
		name := folder[strings.LastIndex(folder, "node_modules/")+len("node_modules/"):]
		url := "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version
		parts = append(parts, component{Type: "library", Ref: url, Name: name, Version: p.Version, URL: url,
			Properties: []property{{"npm:integrity", p.Integrity}}, Licenses: []licensedAs{licence(p.License)}})
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("%s/built-with names no package: run make dashboard", dashDir)
	}
	return parts, nil
}

// in tells whether a program has the files in it.
func (d dashboard) in(program []byte) bool {
	return !slices.ContainsFunc(d.files, func(data []byte) bool { return !bytes.Contains(program, data) })
}

// addDashboard adds the page to a bill, under the program that has it: by the bytes of the program.
func (r *release) addDashboard(out *bill, b built, libraries map[string]component) error {
	page, err := readDashboard(r.tree())
	if err != nil {
		return err
	}
	whole := component{Type: "application", Ref: "dashboard", Name: "keywright-dashboard", Version: "v" + r.version,
		Licenses: []licensedAs{licence("Apache-2.0")}}
	holders := 0
	for i, p := range b.programs {
		if !page.in(b.files[i].data) {
			continue
		}
		holders++
		at := slices.IndexFunc(out.Dependencies, func(d dependency) bool { return d.Ref == p.name })
		out.Dependencies[at].On = append(out.Dependencies[at].On, whole.Ref)
	}
	if holders == 0 {
		return fmt.Errorf("no program has the files of %s/dist in it: which page do they show?", dashDir)
	}
	refs := map[string]bool{}
	for _, part := range page.parts {
		libraries[part.Ref], refs[part.Ref] = part, true
	}
	out.Components = append(out.Components, whole)
	out.Dependencies = append(out.Dependencies, dependency{whole.Ref, slices.Sorted(maps.Keys(refs))})
	return nil
}
