package auth

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
)

// Token represents a user's secret, as a file of tokens has it: never the secret itself. A secret
// has 256 random bits, so that a plain digest of it is as good as a slow one.
type Token struct {
	User
	Digest [sha256.Size]byte
	Ends   time.Time // it is refused from then on; zero: it has no end
}

// Ended reports whether a token is good no longer.
func (t Token) Ended(now time.Time) bool { return !t.Ends.IsZero() && !now.Before(t.Ends) }

// Bounds of a file of tokens.
const (
	maxTokens    = 1000
	maxTokenFile = 1 << 20
)

// ReadTokens reads a file of tokens: in each line a name, a role, a digest, and the end of a token that has one. Lines
// that begin with # are comments.
func ReadTokens(r io.Reader) (out []Token, err error) {
	text, err := io.ReadAll(io.LimitReader(r, maxTokenFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxTokenFile {
		return nil, fmt.Errorf("it is too large: at most %d bytes are read", maxTokenFile)
	}
	in := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		t, err := readToken(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if out = append(out, t); len(out) > maxTokens {
			return nil, fmt.Errorf("more than %d tokens", maxTokens)
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("there is no token in it")
	}
	return out, nil
}

func readToken(line string) (t Token, err error) {
	words := strings.Fields(line)
	if len(words) != 3 && len(words) != 4 {
		return t, fmt.Errorf("it takes a name, a role, sha256:…, and until=… of a token with an end, but has %d words",
			len(words))
	}
	if len(words) == 4 {
		text, ok := strings.CutPrefix(words[3], untilWord)
		ends, err := time.Parse(time.RFC3339, text)
		if !ok || err != nil {
			return t, fmt.Errorf("the end of a token is as in %s2027-01-31T12:00:00Z", untilWord)
		}
		t.Ends = ends.UTC()
	}
	t.User = User{words[0], Role(words[1])}
	if t.Role != Viewer && t.Role != Operator {
		return t, fmt.Errorf("the role is viewer or operator")
	}
	digest, ok := strings.CutPrefix(words[2], "sha256:")
	raw, err := hex.DecodeString(digest)
	if !ok || err != nil || len(raw) != sha256.Size {
		return t, fmt.Errorf("the digest is sha256: and %d hexadecimal digits", 2*sha256.Size)
	}
	copy(t.Digest[:], raw)
	return t, nil
}

// untilWord begins the end of a token in its line.
const untilWord = "until="

// Line returns a token as a file has it.
func (t Token) Line() string {
	line := fmt.Sprintf("%s %s sha256:%x", t.Name, t.Role, t.Digest)
	if !t.Ends.IsZero() {
		line += " " + untilWord + t.Ends.UTC().Format(time.RFC3339)
	}
	return line
}

// Admit takes other tokens from now on. The sessions of those that are not among them end.
func (a *Authenticator) Admit(tokens []Token) { a.tokens.Store(&tokens) }

// knows reports whether a token is one of those that are good now.
func (a *Authenticator) knows(t Token) bool {
	return slices.Contains(*a.tokens.Load(), t) && !t.Ended(a.now())
}

// token returns the token with a secret, also one that has ended. All are compared, whichever it is.
func (a *Authenticator) token(secret string) (found Token, ok bool) {
	digest := sha256.Sum256([]byte(secret))
	for _, t := range *a.tokens.Load() {
		if subtle.ConstantTimeCompare(digest[:], t.Digest[:]) == 1 {
			found, ok = t, true
		}
	}
	return found, ok
}

// ended refuses a token that has ended.
func (t Token) ended() *reply.Failure {
	return reply.Fail(http.StatusUnauthorized, "token-ended", "this token has ended on "+t.Ends.UTC().Format(time.RFC3339),
		"ask for another: `keywright serve token "+t.Name+" --for 30d` makes one")
}

// secretOf returns the token of a request: a bearer's, or the password of basic authentication,
// which browsers ask for by themselves.
func secretOf(r *http.Request) string {
	if secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return strings.TrimSpace(secret)
	}
	_, secret, _ := r.BasicAuth()
	return secret
}
