package grafana

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestLevels: the memory of the servers has a level for each percentage of a pressure rule, each once and in order; all
// above the first one are red.
func TestLevels(t *testing.T) {
	const entity = "keywright: 1\npackage: p\nkeys:\n  e: {key: \"e:{id}\", type: entity, ttl: 1h in 1m..1h, " +
		"fields: {p: int, at: unix_s}, index: {p+at: \"i:{p}\"}}\n"
	rule := func(at int, action string) string {
		return fmt.Sprintf("\n  - {at: %d%%, entry: e, where: {p: 1}, %s}", at, action)
	}
	for rules, want := range map[string]string{
		"":                                       "Of what a server may use. green",
		"pressure:" + rule(80, "shorten: to 5m"): "Of what a server may use. At 80 % pressure begins. green orange>0.8",
		"pressure:" + rule(90, "shorten: to 5m") + rule(80, "shorten: to 6m") + rule(90, "release: to 85%") +
			rule(95, "release: to 85%"): "Of what a server may use. At 80 % pressure begins. At 90 % pressure begins. " +
			"At 95 % pressure begins. green orange>0.8 red>0.9 red>0.95",
	} {
		var d dashboard
		if err := json.Unmarshal([]byte(generated(t, entity+rules)), &d); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range d.Panels {
			if p.Title != "Memory used" {
				continue
			}
			got = p.Description
			for _, s := range p.FieldConfig.Defaults.Thresholds.Steps {
				got += " " + s.Color
				if s.Value != nil {
					got += fmt.Sprintf(">%v", *s.Value)
				}
			}
		}
		if got != want {
			t.Errorf("%s: %s, not %s", rules, got, want)
		}
	}
}
