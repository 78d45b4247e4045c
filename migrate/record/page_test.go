package record_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/migrate/record"
)

// page returns docs/migration.md, and its blocks of a language.
func page(t *testing.T, language string) (text string, blocks []string) {
	t.Helper()
	b, err := os.ReadFile("../../docs/migration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(b), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("no %s on the page", language)
	}
	return string(b), blocks
}

// TestPage: the declarations of the page load and have no finding that matters, and the
// first of them makes of the file what the page says.
func TestPage(t *testing.T) {
	t.Parallel()
	_, declarations := page(t, "yaml")
	for _, d := range declarations {
		ks, findings := load.File(fstest.MapFS{"k.yaml": {Data: []byte(d)}}, "k.yaml")
		for _, f := range append(findings, lint.Run(ks)...) {
			if f.Severity == finding.Error {
				t.Errorf("%s:%d: %s %s", f.Pos.File, f.Pos.Line, f.Code, f.Message)
			}
		}
	}
	_, files := page(t, "json")
	_, want := page(t, "text")
	m := declared.Map(t, declarations[0])
	var got []string
	_, err := m.Sources[0].Read(strings.NewReader(files[0]), "story_history.json", record.Options{},
		func(match *record.Match) error {
			for _, mv := range match.Moves {
				r, err := mv.Record(match)
				var reject *record.Reject
				switch {
				case errors.As(err, &reject):
					got = append(got, reject.Error())
				case r.Sub != "":
					got = append(got, fmt.Sprintf("%-31s %s   %s", r.Key, r.Sub, r.Score))
				default:
					got = append(got, fmt.Sprintf("%-31s %s", r.Key, r.Value),
						"    until "+r.Ends.UTC().Format("2006-01-02T15:04:05Z"))
				}
			}
			return nil
		})
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(want[0]), "\n"), got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestPageListsConversions: the table of the page is the table of conversions.
func TestPageListsConversions(t *testing.T) {
	t.Parallel()
	text, _ := page(t, "yaml")
	for _, c := range route.Conversions() {
		back := "no"
		if c.Back {
			back = "yes"
		}
		if row := fmt.Sprintf("| `%s` | %s | %s | %s |", c.Form(), c.Takes, c.Gives, back); !strings.Contains(text, row) {
			t.Errorf("no row %s", row)
		}
	}
}
