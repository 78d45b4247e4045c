// Package harnesstest runs benchmark programs in their tests, small. It measures nothing.
package harnesstest

import (
	"maps"
	"strings"
	"testing"

	"github.com/keywright/keywright/bench/harness"
)

// Shows runs a program, which must not fail, and finds texts in what it prints.
func Shows(t *testing.T, p *harness.Program, args string, texts ...string) string {
	t.Helper()
	var out strings.Builder
	if err := p.Run(t.Context(), strings.Fields(args), &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range texts {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q:\n%s", want, out.String())
		}
	}
	return out.String()
}

// Refuses runs a program with wrong arguments, besides an unknown flag and an unknown server; each error has the text
// that the arguments are listed under.
func Refuses(t *testing.T, program func() *harness.Program, args map[string]string) {
	t.Helper()
	all := map[string]string{"-no-such": "-no-such", "no-such-server": "-server no-such-server"}
	if program().Servers != "" {
		all["no-such-server"] = "-servers no-such-server"
	}
	maps.Copy(all, args)
	for want, wrong := range all {
		err := program().Run(t.Context(), strings.Fields(wrong), &strings.Builder{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
