//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
)

// TestServeReadsTokensAgain: a user that is taken out of the file of tokens is refused without a
// restart, one that is put in is not, and a file that cannot be read leaves things as they are.
func TestServeReadsTokensAgain(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	dir := t.TempDir()
	declaration, tokens := filepath.Join(dir, "keyspace.yaml"), filepath.Join(dir, "tokens")
	line := func(name string) string {
		return fmt.Sprintf("%s viewer sha256:%x\n", name, sha256.Sum256([]byte("of "+name)))
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(declaration, "keywright: 1\nkeys:\n  user: {key: \"user:{id}\", type: string, ttl: 1h}\n")
	write(tokens, line("alice"))
	var said bytes.Buffer
	cmd := keywrightWith(t, &said, "serve", "--listen", "127.0.0.1:0", "-f", declaration, "-u", s.URL(), "--store", "none",
		"--tokens", tokens)
	url := urlOf(t, cmd, &said)
	status := func(name string) int {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"api/v1/me", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer of "+name)
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	is := func(alice, bob int) func() bool {
		return func() bool { return status("alice") == alice && status("bob") == bob }
	}
	expect.Eventually(t, "alice is known", is(200, 401))
	write(tokens, line("alice")+line("bob"))
	expect.Eventually(t, "bob is known", is(200, 200))
	write(tokens, line("bob"))
	expect.Eventually(t, "alice is forgotten", is(401, 200))
	write(tokens, strings.Repeat("x", 100)+"\n")
	write(declaration, "") // which is not read again
	if got := status("bob"); got != 200 {
		t.Errorf("a file that cannot be read: %d", got)
	}
	write(tokens, line("alice"))
	expect.Eventually(t, "alice is known again", is(200, 401))
}
