package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

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
