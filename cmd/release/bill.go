package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// bill lists what an archive is made of, in the form CycloneDX 1.6 (an SBOM). It is read from the programs themselves:
// what the linker has put in, and no more. Of the dashboard, which is embedded in a program, it has the npm packages
// with code in the built files.
type bill struct {
	Form         string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string       `json:"type"`
	Ref        string       `json:"bom-ref"`
	Name       string       `json:"name"`
	Version    string       `json:"version"`
	URL        string       `json:"purl,omitempty"`
	Hashes     []hash       `json:"hashes,omitempty"`
	Properties []property   `json:"properties,omitempty"`
	Licenses   []licensedAs `json:"licenses,omitempty"`
}

type licensedAs struct {
	License    *licenceID `json:"license,omitempty"`
	Expression string     `json:"expression,omitempty"`
}

type licenceID struct {
	ID string `json:"id"`
}

// licence returns a licence of SPDX, or several with AND and OR between them.
func licence(name string) licensedAs {
	if strings.ContainsAny(name, " (") {
		return licensedAs{Expression: name}
	}
	return licensedAs{License: &licenceID{name}}
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn,omitempty"`
}

// writeBill writes the bill of an archive.
func (r *release) writeBill(w io.Writer, b built) error {
	whole := component{Type: "application", Ref: "archive", Name: "keywright", Version: r.version,
		Licenses:   []licensedAs{licence("Apache-2.0")},
		Properties: []property{{"keywright:platform", b.os + "/" + b.arch}, {"keywright:commit", r.commit}}}
	out := bill{Form: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{r.when.Format(time.RFC3339), whole}}
	parts := dependency{Ref: whole.Ref}
	libraries := map[string]component{}
	for i, p := range b.programs {
		one := component{Type: "application", Ref: p.name, Name: p.name, Version: p.info.Main.Version,
			URL:    purl(p.info.Main.Path, p.info.Main.Version),
			Hashes: []hash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(b.files[i].data))}}}
		parts.On = append(parts.On, one.Ref)
		out.Components = append(out.Components, one)
		out.Dependencies = append(out.Dependencies, dependency{one.Ref, linked(p.info, libraries)})
	}
	if err := r.addDashboard(&out, b, libraries); err != nil {
		return err
	}
	byRef := func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) }
	out.Components = append(out.Components, slices.SortedFunc(maps.Values(libraries), byRef)...)
	out.Dependencies = append([]dependency{parts}, out.Dependencies...)
	out.Serial = serial(out)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

// linked adds the modules of a program, and Go's own library, and names them.
func linked(info *debug.BuildInfo, modules map[string]component) (refs []string) {
	add := func(path, version, sum string) {
		c := component{Type: "library", Ref: purl(path, version), Name: path, Version: version, URL: purl(path, version)}
		if sum != "" {
			c.Properties = []property{{"go:sum", sum}}
		}
		modules[c.Ref] = c
		refs = append(refs, c.Ref)
	}
	add("std", strings.TrimPrefix(info.GoVersion, "go"), "")
	for _, m := range info.Deps {
		add(m.Path, m.Version, m.Sum)
	}
	return refs
}

// purl returns the package URL of a Go module.
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// serial returns a UUID that is made of the content, since the same content must give the same bytes.
func serial(b bill) string {
	text, _ := json.Marshal(b) // strings and numbers: it cannot fail
	sum := sha256.Sum256(text)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

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
