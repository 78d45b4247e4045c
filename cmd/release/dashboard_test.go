package main

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestDashboard: of this tree, the packages that have code in the dashboard are those that it needs to run, with what
// the lock file says of them.
func TestDashboard(t *testing.T) {
	page, err := readDashboard("../..")
	must(t, err)
	var names []string
	for _, p := range page.parts {
		names = append(names, p.Name)
		if p.URL != "pkg:npm/"+p.Name+"@"+p.Version || p.Licenses[0].License == nil ||
			!strings.HasPrefix(p.Properties[0].Value, "sha512-") {
			t.Errorf("%+v", p)
		}
	}
	if want := []string{"d3-hierarchy", "preact", "uplot"}; !slices.Equal(names, want) {
		t.Errorf("%q, not %q", names, want)
	}
	if len(page.files) != 2 || page.in([]byte("a program")) || !page.in(slices.Concat(page.files...)) {
		t.Errorf("%d files, or they are seen where they are not", len(page.files))
	}
}

// TestBuiltWith: a package in a folder of another, one with a scope and one with two licences are listed; one that the
// lock file does not know is refused.
func TestBuiltWith(t *testing.T) {
	tree := t.TempDir()
	dir := filepath.Join(tree, filepath.FromSlash(dashDir))
	write(t, filepath.Join(dir, "dist", "assets", "a.js"), "1")
	write(t, filepath.Join(dir, "web", "package-lock.json"), `{"packages": {"": {"name": "x"},
		"node_modules/a": {"version": "1.0.0", "integrity": "sha512-a", "license": "MIT"},
		"node_modules/a/node_modules/@s/b": {"version": "2.0.0", "integrity": "sha512-b", "license": "(MIT OR ISC)"},
		"node_modules/c": {"version": "3.0.0"}}}`)
	for built, says := range map[string]string{
		"node_modules/a\nnode_modules/a/node_modules/@s/b\n": "",
		"node_modules/c\n": "built-with has node_modules/c, of which package-lock.json does not say",
		"node_modules/d\n": "built-with has node_modules/d, of which",
		"\n":               "names no package",
	} {
		write(t, filepath.Join(dir, "built-with"), built)
		page, err := readDashboard(tree)
		if says != "" {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%q: %v, not %q", built, err, says)
			}
			continue
		}
		must(t, err)
		if len(page.parts) != 2 || page.parts[1].Ref != "pkg:npm/%40s/b@2.0.0" || page.parts[1].Name != "@s/b" ||
			page.parts[1].Licenses[0].Expression != "(MIT OR ISC)" || page.parts[0].Licenses[0].License.ID != "MIT" {
			t.Errorf("%+v", page.parts)
		}
	}
}

// TestTheProgramWithTheDashboard: the page is listed under the program that has its files, and a release in which no
// program has them is refused.
func TestTheProgramWithTheDashboard(t *testing.T) {
	r := &release{version: "0.1.0", work: t.TempDir()}
	dir := filepath.Join(r.tree(), filepath.FromSlash(dashDir))
	write(t, filepath.Join(dir, "dist", "assets", "a.js"), "the page")
	write(t, filepath.Join(dir, "built-with"), "node_modules/a\n")
	write(t, filepath.Join(dir, "web", "package-lock.json"),
		`{"packages": {"node_modules/a": {"version": "1.0.0", "integrity": "sha512-a", "license": "MIT"}}}`)
	b := built{programs: []program{{name: "one"}, {name: "two"}},
		files: []file{{name: "one", data: []byte("nothing")}, {name: "two", data: []byte("a program with the page in it")}}}
	out := bill{Dependencies: []dependency{{Ref: "one"}, {Ref: "two"}}}
	must(t, r.addDashboard(&out, b, map[string]component{}))
	want := []dependency{{Ref: "one"}, {"two", []string{"dashboard"}}, {"dashboard", []string{"pkg:npm/a@1.0.0"}}}
	if !reflect.DeepEqual(out.Dependencies, want) {
		t.Errorf("%v, not %v", out.Dependencies, want)
	}
	b.files[1].data = b.files[0].data
	if err := r.addDashboard(&out, b, map[string]component{}); err == nil ||
		!strings.Contains(err.Error(), "no program has the files of") {
		t.Error(err)
	}
}
