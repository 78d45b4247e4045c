package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// root is the path of the module that all others require.
const root = "github.com/keywright/keywright"

// module represents a module that users install.
type module struct {
	dir      string // "." for the root
	path     string
	requires []string // which of the others
	sum      string   // of its files, once they are final
	modSum   string   // of its go.mod
}

// tag returns the name under which the go command finds a version of the module.
func (m module) tag(version string) string {
	if m.dir == "." {
		return "v" + version
	}
	return m.dir + "/v" + version
}

// ours tells whether a module is of this repository.
func ours(path string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// published returns the modules of go.work, each after those that it requires. What is outside of the workspace (bench,
// examples, this program) is not released.
func published(dir string) ([]module, error) {
	text, err := os.ReadFile(filepath.Join(dir, "go.work"))
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		return nil, err
	}
	var all []module
	for _, use := range work.Use {
		m, err := readModule(dir, filepath.ToSlash(filepath.Clean(use.Path)))
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return sorted(all)
}

func readModule(dir, folder string) (module, error) {
	text, err := os.ReadFile(filepath.Join(dir, folder, "go.mod"))
	if err != nil {
		return module{}, err
	}
	f, err := modfile.Parse(folder+"/go.mod", text, nil)
	if err != nil {
		return module{}, err
	}
	m := module{dir: folder, path: f.Module.Mod.Path}
	if want := strings.TrimSuffix(root+"/"+folder, "/."); m.path != want {
		return module{}, fmt.Errorf("%s/go.mod: the module is %s; in this folder it must be %s", folder, m.path, want)
	}
	if len(f.Replace) > 0 {
		return module{}, fmt.Errorf("%s/go.mod: go install refuses a module with a replace: move it to go.work", folder)
	}
	for _, r := range f.Require {
		if ours(r.Mod.Path) {
			m.requires = append(m.requires, r.Mod.Path)
		}
	}
	return m, nil
}

// sorted puts each module after those that it requires, otherwise as they are.
func sorted(all []module) ([]module, error) {
	var out []module
	done := func(path string) bool {
		return slices.ContainsFunc(out, func(m module) bool { return m.path == path })
	}
	for len(out) < len(all) {
		before := len(out)
		for _, m := range all {
			ready := !slices.ContainsFunc(m.requires, func(path string) bool { return !done(path) })
			if !done(m.path) && ready {
				out = append(out, m)
			}
		}
		if len(out) == before {
			return nil, fmt.Errorf(
				"of the %d modules of go.work only %d can be released: the others require each other, or one that "+
					"is not in go.work", len(all), before)
		}
	}
	return out, nil
}
