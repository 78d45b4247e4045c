package declare

import (
	"fmt"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/spf13/cobra"
)

func RulesCommand(a *cli.App) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "rules",
		Short: "List every rule with its code",
		Long: `Lists the rules of loading, linting and auditing. ` + "`keywright explain CODE`" + ` says
more about one.`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			form, err := a.Form(c, output, "table", "json")
			if err != nil {
				return err
			}
			return rules(a, form)
		},
	}
	cli.Outputs(c, &output, "table", "json")
	return c
}

func rules(a *cli.App, form string) error {
	if form == "json" {
		report := RulesReport{Rules: []ruleAnswer{}}
		for _, r := range cli.AllRules() {
			report.Rules = append(report.Rules, answerRule(r))
		}
		return a.JSON(report)
	}
	var rows [][]string
	for _, r := range cli.AllRules() {
		rows = append(rows, []string{r.Code, r.Severity.String(), r.Name, r.Summary})
	}
	return terminal.Table(a.Out, []terminal.Column{{Title: "code"}, {Title: "severity"}, {Title: "name"},
		{Title: "what it says", Least: 20, Wrap: true}}, rows)
}

// RulesReport represents every rule, in the order of the codes.
type RulesReport struct {
	Rules []ruleAnswer `json:"rules"`
}

// ruleAnswer represents a rule as JSON; its names are stable.
type ruleAnswer struct {
	Code     string `json:"code"` // never changes its meaning
	Name     string `json:"name"`
	Severity string `json:"severity" enum:"error,warning,note"`
	Summary  string `json:"summary"`
	Explain  string `json:"explain"`
	Fix      string `json:"fix"`
}

func answerRule(r finding.Rule) ruleAnswer {
	return ruleAnswer{r.Code, r.Name, r.Severity.String(), r.Summary, r.Explain, r.Fix}
}

// findRule finds a rule by its code or name.
func findRule(word string) (finding.Rule, bool) {
	for _, r := range cli.AllRules() {
		if strings.EqualFold(r.Code, word) || r.Name == word {
			return r, true
		}
	}
	return finding.Rule{}, false
}

func printRule(a *cli.App, r finding.Rule) error {
	_, err := fmt.Fprintf(a.Out, "%s\n%s.\n\n%s\n\nfix: %s\n",
		a.Out.Paint(terminal.Bold, fmt.Sprintf("%s %s (%s)", r.Code, r.Name, r.Severity)),
		r.Summary, strings.Join(terminal.Wrap(r.Explain, 80), "\n"), r.Fix)
	return err
}
