package cli_test

import (
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/internal/gate"
	"pgregory.net/rapid"
)

func TestShellWord(t *testing.T) {
	for _, c := range []struct{ word, want string }{
		{"lint", "lint"}, {"", "''"}, {"a b", "'a b'"}, {"cache:*", "'cache:*'"}, {"it's", `'it'\''s'`},
		{"redis://h:1/0", "redis://h:1/0"}, {"$(rm)", "'$(rm)'"}, {"상품", "상품"},
	} {
		if got := cli.ShellWord(c.word); got != c.want {
			t.Errorf("shellWord(%q) = %s, not %s", c.word, got, c.want)
		}
	}
}

// TestDiscreet: whatever is around a URL, its password is not shown, and
// what is no secret is.
func TestDiscreet(t *testing.T) {
	a := cli.NewApp(nil, cli.Streams{Getenv: func(name string) string {
		return map[string]string{"REDIS_URL": "redis://user:vogel?kanarien@h"}[name]
	}}, nil)
	for _, c := range []struct{ text, want string }{
		{"no URL", "no URL"},
		{"redis://h:1/0 is down", "redis://h:1/0 is down"},
		{`got "redis://:pw@h:1"; and rediss://u:p@w@x/3`, `got "redis://***@h:1"; and rediss://***@x/3`},
		{"redis+sentinel://h/m?sentinel_password=pw&db=1 x", "redis+sentinel://h/m?sentinel_password=***&db=1 x"},
		{"no host kanarien, no vogel", "no host ***, no ***"},
	} {
		if got := a.HideSecrets(c.text); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z0-9@:/?#%&=.-]{6,20}`).Draw(t, "secret")
		before := rapid.StringMatching(`[ a-z"]{0,10}`).Draw(t, "before")
		if got := a.HideSecrets(before + "redis://:~" + secret + "~@h:1"); strings.Contains(got, "~") {
			t.Fatal(got)
		}
	})
}
