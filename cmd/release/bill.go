package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
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
