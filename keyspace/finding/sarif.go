package finding

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// The parts of SARIF 2.1.0 that findings need
// (https://docs.oasis-open.org/sarif/sarif/v2.1.0/).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Calls      []sarifCall   `json:"invocations,omitempty"`
		Results    []sarifResult `json:"results"`
	}
	sarifCall struct {
		Successful    bool          `json:"executionSuccessful"`
		Notifications []sarifNotice `json:"toolExecutionNotifications"`
	}
	sarifNotice struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID        string      `json:"id"`
		Name      string      `json:"name"`
		Short     sarifText   `json:"shortDescription"`
		Full      sarifText   `json:"fullDescription"`
		Help      sarifText   `json:"help"`
		Configure sarifConfig `json:"defaultConfiguration"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    *int              `json:"ruleIndex,omitempty"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations,omitempty"`
		Related      []sarifLocation   `json:"relatedLocations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		ID       *int           `json:"id,omitempty"`
		Message  *sarifText     `json:"message,omitempty"`
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
	sarifLogical struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
	}
)

// SARIF prints one SARIF 2.1.0 log with the rules that the findings refer to.
func SARIF(w io.Writer, findings []Finding, o Options) error {
	findings = folded(o.masked(findings))
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{},
		Tool: sarifTool{sarifDriver{Name: "keywright", InformationURI: "https://github.com/keywright/keywright",
			Rules: []sarifRule{}}}}
	if o.Failed != "" {
		run.Calls = []sarifCall{{false, []sarifNotice{{"error", sarifText{o.Failed}}}}}
	}
	index := map[string]int{}
	for _, r := range o.Rules {
		if !slices.ContainsFunc(findings, func(f Finding) bool { return f.Code == r.Code }) {
			continue
		}
		index[r.Code] = len(run.Tool.Driver.Rules)
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules,
			sarifRule{r.Code, r.Name, sarifText{r.Summary}, sarifText{r.Explain}, sarifText{r.Fix},
				sarifConfig{r.Severity.String()}})
	}
	for _, f := range findings {
		res := sarifResult{RuleID: f.Code, Level: f.Severity.String(), Message: sarifText{fullText(f, o.Rules)},
			Fingerprints: map[string]string{"keywright/v1": Fingerprint(f)}}
		if i, known := index[f.Code]; known {
			res.RuleIndex = &i
		}
		at := f.Pos
		if at.File == "" {
			at = Position{File: o.File, Line: 1, Column: 1}
		}
		loc := sarifLocation{Physical: o.physical(at)}
		if f.Entry != "" {
			loc.Logical = []sarifLogical{{f.Entry, "member"}}
		}
		if loc.Physical != nil || loc.Logical != nil {
			res.Locations = []sarifLocation{loc}
		}
		for i, r := range f.Related {
			res.Related = append(res.Related, sarifLocation{ID: &i, Message: &sarifText{r.Message}, Physical: o.physical(r.Pos)})
		}
		run.Results = append(run.Results, res)
	}
	return encode(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// fullText returns everything that a finding says, in one text.
func fullText(f Finding, rules []Rule) string {
	text := clip(sentence(f))
	if len(f.Examples) > 0 {
		text += "\nkeys: " + exampleList(f)
	}
	if fix := fixOf(f, rules); fix != "" {
		text += "\nfix: " + fix
	}
	if f.Order != "" {
		text += "\norder of deployment: " + f.Order
	}
	return text
}

func (o *Options) physical(p Position) *sarifPhysical {
	if p.File == "" {
		return nil
	}
	out := &sarifPhysical{Artifact: sarifArtifact{reference(strings.TrimPrefix(p.File, o.Root))}}
	if p.Line > 0 {
		out.Region = &sarifRegion{StartLine: p.Line, StartColumn: max(1, p.Column), EndColumn: p.EndColumn}
	}
	return out
}

// reference returns a path as a URI reference (RFC 3986). It is written here because
// package net/url is not for the domain.
func reference(path string) string {
	var b strings.Builder
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ":") {
		b.WriteString("./") // else it would be a scheme
	}
	for i := range len(path) {
		c := path[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			strings.IndexByte("-._~/:@!$&'()*+,;=", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
