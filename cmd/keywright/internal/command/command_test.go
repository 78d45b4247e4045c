package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/declare"
	"github.com/keywright/keywright/connect"
	"github.com/spf13/cobra"
)

// TestExitCodes: every kind of error has one code.
func TestExitCodes(t *testing.T) {
	ended, stop := context.WithCancel(context.Background())
	stop()
	down := &connect.Error{Kind: connect.Unreachable, Server: "h:1", Err: errors.New("refused"), Hint: "start it"}
	for _, c := range []struct {
		ctx  context.Context
		err  error
		code int
		says string
	}{
		{context.Background(), nil, 0, ""},
		{context.Background(), &cli.Exit{Code: cli.ExitFindings}, 1, ""},
		{context.Background(), cli.Usage("do so", "that is wrong"), 2, "keywright: that is wrong\nhint: do so\n"},
		{context.Background(), errors.New("some error"), 2, "keywright: some error\n"},
		{context.Background(), &connect.ConfigError{What: "no URL", Hint: "write one"},
			2, "keywright: no URL\nhint: write one\n"},
		{context.Background(), down, 3, "keywright: cannot use the server h:1: refused\nhint: start it\n"},
		{context.Background(), &connect.Error{Kind: connect.Broken, Server: "h:1", Err: errors.New("cut")},
			3, "keywright: cannot use the server h:1: cut\n"},
		{context.Background(), &connect.Error{Kind: connect.Denied, Server: "h:1", Err: errors.New("NOPERM")}, 4,
			"keywright: cannot use the server h:1: NOPERM\n"},
		{context.Background(), &cli.Exit{Code: cli.ExitPartial, Message: "incomplete", Hint: ""}, 5,
			"keywright: incomplete\n"},
		{ended, down, 130, "keywright: interrupted\n"},
		{ended, cli.Usage("", "wrong before that"), 2, "keywright: wrong before that\n"},
		{context.Background(), &cli.Bug{What: "nil map"},
			2, "keywright: this is a bug in keywright: nil map\nhint: please report it with the command that led to it\n"},
	} {
		var out bytes.Buffer
		a := cli.NewApp(nil, cli.Streams{Err: &out, Getenv: func(string) string { return "" }}, Documents)
		if code := a.Finish(c.ctx, c.err); code != c.code || out.String() != c.says {
			t.Errorf("%v: %d and %q", c.err, code, out.String())
		}
	}
}

// TestFlags: every flag is explained in a line, and none hides one of the
// persistent ones.
func TestFlags(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		for _, name := range []string{"file", "color", "quiet", "verbose"} {
			if c.HasParent() && c.LocalNonPersistentFlags().Lookup(name) != nil {
				t.Errorf("%s has its own --%s", c.CommandPath(), name)
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(New())
}

func TestReplaceText(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if err := cli.ReplaceText(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	info, _ := os.Stat(path)
	linked, _ := os.Lstat(link)
	entries, _ := os.ReadDir(dir)
	if string(text) != "new" || info.Mode().Perm() != 0o600 || linked.Mode()&os.ModeSymlink == 0 || len(entries) != 2 {
		t.Errorf("%q, %v, %v, %d files", text, info.Mode(), linked.Mode(), len(entries))
	}
}

func TestReadAllIsBounded(t *testing.T) {
	if _, err := cli.ReadAll(endless{}, "it"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestSchemaChecker(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tags.json":    `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "array", "items": {"$ref": "sub/tag.json"}}`,
		"sub/tag.json": `{"type": "string", "maxLength": 3}`,
		"many.json":    `{"$defs": {"n": {"type": "integer"}}}`,
		"web.json":     `{"$ref": "https://example.com/x.json"}`,
		"file.json":    `{"$ref": "file:///etc/hostname"}`,
		"up.json":      `{"$ref": "../x.json"}`,
		"host.json":    `{"$ref": "keyspace://elsewhere/x.json"}`,
		"broken.json":  `{`,
		"wrong.json":   `{"type": "strin"}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	check := declare.SchemaChecker(filepath.Join(dir, "keyspace.yaml"), io.Discard)
	for file, values := range map[string]map[string]bool{
		"tags.json":           {`["a","b"]`: true, `["long"]`: false, `{}`: false, `no`: false, `[]x`: false},
		"many.json#/$defs/n":  {`1`: true, `"1"`: false},
		"./sub/../tags.json":  {`[]`: true},
		"sub/../../tags.json": nil, "web.json": nil, "file.json": nil, "host.json": nil, "broken.json": nil,
		"wrong.json": nil, "link.json": nil, "none.json": nil, "sub": nil, "/etc/hostname": nil,
	} {
		judge, err := check(file)
		if (err == nil) != (values != nil) {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for value, ok := range values {
			if err := judge([]byte(value)); (err == nil) != ok {
				t.Errorf("%s of %s: %v", file, value, err)
			}
		}
	}
	if judge, err := check("up.json"); err == nil && judge([]byte(`1`)) == nil {
		t.Error("a schema from above the folder was loaded")
	}
}
