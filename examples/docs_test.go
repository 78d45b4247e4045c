package examples

import (
	"html"
	"os"
	"strings"
	"testing"

	"github.com/keywright/keywright/gen/markdown"
	"github.com/keywright/keywright/keyspace/load"
)

// TestDocumentsReplaceThePages: every pattern and every TTL that a team's page
// has is in the documents that are generated from its declaration.
func TestDocumentsReplaceThePages(t *testing.T) {
	for _, team := range teams {
		t.Run(team, func(t *testing.T) {
			p := loaded(t, team)
			own, _ := load.File(os.DirFS(team), "keyspace.yaml") // as keywright gen reads it, in the folder
			files, err := markdown.Generate(own)
			if err != nil {
				t.Fatal(err)
			}
			checked := 0
			for _, f := range files {
				have, err := os.ReadFile(team + "/docs/" + f.Name)
				if err != nil || string(have) != string(f.Text) {
					t.Errorf("%s/docs/%s is stale (%v): run keywright gen there", team, f.Name, err)
				}
				text := string(f.Text)
				if strings.HasSuffix(f.Name, ".html") {
					text = html.UnescapeString(text)
				} else {
					text = strings.ReplaceAll(text, `\`, "")
				}
				for _, fact := range readFacts(t, team) {
					k := p.find(fact.example)
					if k == nil || fact.kind == "cleanup" || fact.kind == "prefix" {
						continue
					}
					checked++
					if !strings.Contains(text, strings.ReplaceAll(k.Pattern.String(), `\`, "")) || k.Role == "" && fact.ttl != "" &&
						!strings.Contains(text, fact.ttl) {
						t.Errorf("%s lacks %s with the TTL %s, of %s/facts.tsv:%d", f.Name, k.Pattern, fact.ttl, team, fact.line)
					}
				}
			}
			if checked < 10 {
				t.Errorf("only %d facts", checked)
			}
		})
	}
}
