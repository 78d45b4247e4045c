package serve

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
)

// Token represents a user's secret, as a file of tokens has it: never the secret itself. A secret
// has 256 random bits, so that a plain digest of it is as good as a slow one.
type Token struct {
	User
	Digest [sha256.Size]byte
}

// Bounds of a file of tokens.
const (
	maxTokens    = 1000
	maxTokenFile = 1 << 20
)

// ReadTokens reads a file of tokens: in each line a name, a role and a digest. Lines that
// begin with # are comments.
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
	if len(words) != 3 {
		return t, fmt.Errorf("it takes a name, a role and sha256:…, but has %d words", len(words))
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

// Line returns a token as a file has it.
func (t Token) Line() string {
	return fmt.Sprintf("%s %s sha256:%x", t.Name, t.Role, t.Digest)
}

// Admit takes other tokens from now on. The sessions of those that are not among them end.
func (s *Server) Admit(tokens []Token) { s.tokens.Store(&tokens) }

// knows reports whether a token is one of those that are good now.
func (s *Server) knows(t Token) bool { return slices.Contains(*s.tokens.Load(), t) }

// who returns the user with a secret. All tokens are compared, whichever it is.
func (s *Server) who(secret string) (found User, ok bool) {
	t, ok := s.token(secret)
	return t.User, ok
}

func (s *Server) token(secret string) (found Token, ok bool) {
	digest := sha256.Sum256([]byte(secret))
	for _, t := range *s.tokens.Load() {
		if subtle.ConstantTimeCompare(digest[:], t.Digest[:]) == 1 {
			found, ok = t, true
		}
	}
	return found, ok
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
