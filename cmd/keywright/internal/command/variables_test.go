package command

import (
	"context"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/internal/gate"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestNoVariableHasTwoMeanings: a variable of a flag is none that something else
// reads, a flag has one type in all commands, and what changes something has none.
func TestNoVariableHasTwoMeanings(t *testing.T) {
	others := []string{cli.RingVariable, "REDIS_URL", "REDISCLI_AUTH"}
	types := map[string]string{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name := cli.Variable(f)
			if name == "" {
				return
			}
			if slices.Contains(others, name) {
				t.Errorf("%s --%s and something else read %s", c.CommandPath(), f.Name, name)
			}
			if kind := strings.TrimSuffix(f.Value.Type(), "64"); types[name] != "" && types[name] != kind {
				t.Errorf("%s is %s and, of %s, %s", name, types[name], c.CommandPath(), kind)
			} else {
				types[name] = kind
			}
		})
		for _, s := range c.Commands() {
			walk(s)
		}
	}
	walk(New())
	if len(types) < 15 {
		t.Errorf("only %d variables", len(types))
	}
}

// The secrets of a test, each to be found by itself.
const (
	inURL      = "canary-1-of-keywright-url"
	inRedisURL = "canary-2-of-redis-url"
	inAuth     = "canary-3-of-rediscli-auth"
	inUnread   = "canary-4-of-a-variable-that-nothing-reads"
	inRing     = "canary-5-of-the-ring-of-keys"
)

// holds returns the first of the secrets that a text has, also as JSON, URLs and base64 spell it.
func holds(text string) string {
	for _, secret := range []string{inURL, inRedisURL, inAuth, inUnread, inRing} {
		if strings.Contains(text, secret) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(secret))[:24]) {
			return secret
		}
	}
	return ""
}

// TestVariablesAreNotShown: no value of a variable is printed or written to a file, by no command,
// whether it does its work, is refused by the server, or finds none.
func TestVariablesAreNotShown(t *testing.T) {
	s := documentWorld(t)
	s.Do("ACL", "SETUSER", "u", "on", ">"+inURL, "~*", "&*", "+@all")
	s.Do("ACL", "SETUSER", "few", "on", ">"+inURL, "~x*", "&*", "+@all", "-info", "-config", "-scan", "-cluster")
	good := 0
	for i, server := range []string{"u:" + inURL + "@" + s.Addr(), "few:" + inURL + "@" + s.Addr(),
		"u:wrong" + inURL + "@" + s.Addr(),
		"u:" + inURL + "@127.0.0.1:1", s.Addr()} {
		env := map[string]string{"KEYWRIGHT_URL": "redis://" + server, "REDIS_URL": "redis://:" + inRedisURL + "@127.0.0.1:1",
			"REDISCLI_AUTH":    inAuth,
			"KEYWRIGHT_NOSUCH": inUnread, cli.RingVariable: inRing}
		for j, r := range documentRuns {
			if !gate.All() && i > 0 && j%8 != i {
				continue
			}
			line := strings.ReplaceAll(r.args, " -u URL", "")
			var out, errs strings.Builder
			code := Main(t.Context(),
				append([]string{"-v"}, strings.Fields(strings.ReplaceAll(line, "URL", "redis://"+s.Addr()))...),
				cli.Streams{In: strings.NewReader(r.stdin), Out: &out, Err: &errs,
					Getenv: func(name string) string { return env[name] },
					Environ: func() (all []string) {
						for name, value := range env {
							all = append(all, name+"="+value)
						}
						return all
					}})
			if secret := holds(out.String() + errs.String()); secret != "" {
				t.Errorf("%s shows %s:\n%s%s", line, secret, out.String(), errs.String())
			}
			if line != r.args && code == r.code && strings.HasPrefix(server, "u:"+inURL+"@"+s.Addr()) {
				good++
			}
		}
	}
	if good < 25 {
		t.Errorf("only %d commands did their work with the server of the variable: the test shows nothing", good)
	}
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if secret := holds(path + string(text)); secret != "" {
			t.Errorf("%s has %s", path, secret)
		}
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("%d files were looked at: %v", files, err)
	}
}

// TestWrongVariablesAreNotShown: what a variable of a flag holds is not printed where it is refused,
// by no command. One value is the name of a file, the other of none.
func TestWrongVariablesAreNotShown(t *testing.T) {
	const canary = "canary-0123456789"
	s := documentWorld(t)
	refused, met := 0, map[string]int{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name := cli.Variable(f)
			if name == "" {
				return
			}
			if met[name]++; !gate.All() && met[name] > 4 {
				return // four commands tell of each variable
			}
			for _, value := range []string{canary, "x" + `"` + canary} {
				if err := os.WriteFile(canary, []byte("no declaration: [\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				var out, errs strings.Builder
				args := strings.Fields(c.CommandPath())[1:]
				ctx, end := context.WithCancel(t.Context())
				if c.Name() == "serve" {
					end() // it goes on until it is asked to end
				}
				defer end()
				code := Main(ctx, args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs,
					Getenv: func(n string) string {
						switch {
						case n == name || name == "KEYWRIGHT_URL" && n == "REDIS_URL":
							return value
						case n == "KEYWRIGHT_URL":
							return s.URL()
						}
						return ""
					}})
				if code == cli.ExitUsage && strings.Contains(errs.String(), name) {
					refused++
				}
				if text := out.String() + errs.String(); strings.Contains(text, canary) {
					t.Errorf("%s: %s is shown: %s", c.CommandPath(), name, text)
				}
				if value != canary { // the store of serve: for other commands it is no file
					if err := os.RemoveAll(value); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
		for _, s := range c.Commands() {
			if s.Name() != "demo" && s.Name() != "completion" && s.Name() != "help" {
				walk(s)
			}
		}
	}
	walk(New())
	if refused < 25 {
		t.Errorf("only %d values were refused by the name of their variable: the test shows nothing", refused)
	}
}
