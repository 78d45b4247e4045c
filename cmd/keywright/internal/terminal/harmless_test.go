package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Whatever a table or a line quotes, it commands no terminal and no log of a CI
// system: names of keys are in the first column.
func TestAScreenCommandsNothing(t *testing.T) {
	hostile := []string{"::add-mask::x", "##[error]x", "##vso[a]b", "\x1b]0;t\x07", "\x1b[2J", "\u009b31m", "\u202ex",
		"a\rb"}
	for _, color := range []string{"always", "never"} {
		var out bytes.Buffer
		s := NewScreen(&out, func(string) string { return "" })
		s.SetColor(color, func(string) string { return "" })
		var rows [][]string
		for _, h := range hostile {
			rows = append(rows, []string{h, "1"})
			fmt.Fprintf(s, "%s\n", h)
			fmt.Fprint(s, h)
			fmt.Fprintln(s)
			fmt.Fprint(s, "a line ")
			fmt.Fprintln(s, h)
		}
		if err := Table(s, []Column{{Title: "key"}, {Title: "n", Right: true}}, rows); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(strings.ReplaceAll(out.String(), "\x1b[1m", ""), "\x1b[0m", "")
		for line := range strings.Lines(text) {
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.ContainsAny(line, "\x1b\u009b\u202e\r\a") ||
				strings.Contains(line, "##[") || strings.Contains(line, "##vso[") {
				t.Errorf("colour %s: %q", color, line)
			}
		}
		if color == "always" && !strings.Contains(out.String(), "\x1b[1m") {
			t.Error("no colour is left")
		}
	}
	var out bytes.Buffer
	raw := NewScreen(&out, func(string) string { return "" })
	if fmt.Fprint(raw.Raw(), "::error::\x1b"); out.String() != "::error::\x1b" {
		t.Errorf("%q", out.String())
	}
}
