package finding

import (
	"encoding/xml"
	"fmt"
	"io"
)

// The parts of a JUnit report that CI systems read (GitLab, Jenkins, Azure Pipelines).
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		File    string       `xml:"file,attr,omitempty"`
		Line    int          `xml:"line,attr,omitempty"`
		Failure *junitReason `xml:"failure,omitempty"`
		Error   *junitReason `xml:"error,omitempty"`
		Out     string       `xml:"system-out,omitempty"`
	}
	junitReason struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit prints a JUnit report: a case per finding, failed for errors and warnings,
// passed for notes; one passed case where there is none, since CI systems take a
// report without cases for a run that did not happen. Why a run is not whole is an
// error of a case of its own.
func JUnit(w io.Writer, findings []Finding, o Options) error {
	suite := junitSuite{Name: "keywright"}
	if o.Failed != "" {
		why := harmless(o.Failed)
		suite.Cases = append(suite.Cases,
			junitCase{Class: "keywright", Name: "complete", Error: &junitReason{why, "incomplete", why}})
	}
	for _, f := range folded(o.masked(findings)) {
		suite.Cases = append(suite.Cases, junitOf(f, o))
	}
	if len(suite.Cases) == 0 {
		suite.Cases = []junitCase{{Class: "keywright", Name: "no findings"}}
	}
	for _, c := range suite.Cases {
		suite.Tests++
		if c.Failure != nil {
			suite.Failures++
		}
		if c.Error != nil {
			suite.Errors++
		}
	}
	all := junitSuites{Name: suite.Name, Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors,
		Suites: []junitSuite{suite}}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

func junitOf(f Finding, o Options) junitCase {
	at := f.Pos
	if at.File == "" {
		at.File = o.File
	}
	c := junitCase{Class: harmless(at.File), Name: harmless(f.Code + " " + clip(f.Message)), File: harmless(at.File),
		Line: at.Line}
	if c.Class == "" {
		c.Class = "keywright"
	}
	text := fullText(f, o.Rules)
	if at.File != "" {
		text = place(at) + "\n" + text
	}
	if f.Severity == Note {
		c.Out = harmless(text)
	} else {
		c.Failure = &junitReason{harmless(clip(sentence(f))), f.Severity.String(), harmless(text)}
	}
	return c
}

// harmless returns a text that commands no terminal and no log of a CI system.
func harmless(text string) string { return string(Harmless([]byte(text), false, true)) }
