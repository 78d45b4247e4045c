package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/internal/pages"
)

// families lists the headings, by the first digit of a code.
var families = map[byte]string{
	'0': "KW0xx: the file", '1': "KW1xx: patterns", '2': "KW2xx: TTLs and policies", '3': "KW3xx: structure",
	'4': "KW4xx: ownership", '5': "KW5xx: live keys", '6': "KW6xx: changes that break",
	'7': "KW7xx: servers",
}

func rulePage() string {
	var b strings.Builder
	b.WriteString(`# Rules

<!-- Written by go generate from the tables of rules. Do not edit. -->

Every finding has a code that never changes its meaning. ` + "`keywright explain KW204`" +
		` prints what is written here;
` + "`keywright rules`" + ` lists all. An error or warning fails a run (` + "`--fail-on`" +
		`), a note never does. A finding is
silenced by a comment on the line above what it points to, or above the name of an entry for all of it:

` + "```yaml\n# keywright:ignore KW216 until 2027-03-01 trimmed by the consumer\n```" + `

The reason is mandatory, the date is not. KW0xx to KW4xx are found by ` + "`lint`" + `, KW5xx by ` + "`audit`" + `,
KW6xx by ` + "`breaking`" + `, KW7xx by ` + "`doctor`" + `.
`)
	family := byte(0)
	for _, r := range cli.AllRules() {
		if r.Code[2] != family {
			family = r.Code[2]
			fmt.Fprintf(&b, "\n## %s\n", families[family])
		}
		severity := strings.ToUpper(r.Severity.String()[:1]) + r.Severity.String()[1:]
		fmt.Fprintf(&b, "\n### %s %s\n\n%s\n\n%s\n\n%s\n", r.Code, r.Name,
			wrap("*"+severity+".* "+escape(r.Summary)+"."), wrap(escape(r.Explain)), wrap("Fix: "+escape(r.Fix)+"."))
	}
	return b.String()
}

// wrap keeps the lines of a text, and breaks those that are too long.
func wrap(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		if utf8.RuneCountInString(lines[i]) > pages.Width {
			lines[i] = pages.Wrap(lines[i], "")
		}
	}
	return strings.Join(lines, "\n")
}

// escape keeps Markdown from reading placeholders and globs as markup; what
// is between backquotes is left alone.
func escape(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;").Replace(parts[i])
	}
	return strings.Join(parts, "`")
}
