//go:build unix

package command

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/auth"
	"github.com/keywright/keywright/cmd/keywright/internal/serving"
	"github.com/keywright/keywright/internal/expect"
)

// TestLooseTokens: a file of tokens that other users may write is refused, and no name of a user commands a terminal.
func TestLooseTokens(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens")
	expect.NoError(t, os.WriteFile(path, fmt.Appendf(nil, "alice viewer sha256:%x\n", sha256.Sum256([]byte("x"))), 0o600))
	for mode, good := range map[os.FileMode]bool{0o600: true, 0o644: true, 0o660: false, 0o666: false} {
		expect.NoError(t, os.Chmod(path, mode))
		tokens, err := (&serving.Serving{Tokens: path}).ReadTokens()
		if (err == nil) != good || good && len(tokens) != 1 {
			t.Errorf("%o: %v", mode, err)
		}
	}
	for _, name := range []string{"a\x1b[2J", "a b", "a#", ""} {
		var out, errs strings.Builder
		code := Main(t.Context(), []string{"serve", "token", name},
			cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
		if code != cli.ExitUsage || out.Len() > 0 {
			t.Errorf("%q: exit code %d, %s", name, code, out.String())
		}
	}
}

// TestTokensWithAnEnd: the line of a token has its end, which a file of tokens gives back; what is no time is refused.
func TestTokensWithAnEnd(t *testing.T) {
	t.Parallel()
	run := func(args ...string) (code int, out string) {
		var text, errs strings.Builder
		code = Main(t.Context(), append([]string{"serve", "token"}, args...),
			cli.Streams{In: strings.NewReader(""), Out: &text, Err: &errs, Getenv: func(string) string { return "" }})
		return code, text.String()
	}
	code, line := run("alice", "--for", "30d")
	tokens, err := auth.ReadTokens(strings.NewReader(line))
	if code != 0 || err != nil || len(tokens) != 1 || tokens[0].Line()+"\n" != line {
		t.Fatalf("exit code %d, %s: %+v, %v", code, line, tokens, err)
	}
	if ends := tokens[0].Ends; tokens[0].Ended(ends.Add(-time.Second)) || !tokens[0].Ended(ends) ||
		time.Until(ends) > 30*24*time.Hour {
		t.Errorf("it ends on %v", ends)
	}
	for _, bad := range []string{"x", "-1h", "0s", "1ms"} {
		if code, out := run("alice", "--for", bad); code != cli.ExitUsage || out != "" {
			t.Errorf("%s: exit code %d, %s", bad, code, out)
		}
	}
}
