package command_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/command"
	"github.com/spf13/pflag"
)

// TestPrintedCommandsExist: each command that a text of the program or of the library names is there, with its flags.
func TestPrintedCommandsExist(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`(keywright [^`]+)`")
	seen := 0
	err := filepath.WalkDir("../../../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == ".bin" || d.Name() == "testdata"):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !named.Match(text) {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			said, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Error(err)
			}
			for _, m := range named.FindAllStringSubmatch(said, -1) {
				seen++
				if err := takesArgs(m[1]); err != nil {
					t.Errorf("%s: `%s`: %v", path, m[1], err)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 100 {
		t.Errorf("only %d commands were found: the search is broken", seen)
	}
}

// takesArgs says why the program would not take a command line. Words in capitals, and verbs of Printf, stand for
// others.
func takesArgs(line string) error {
	line, _, _ = strings.Cut(line, " |") // what it is piped into
	words := strings.Fields(strings.ReplaceAll(line, "…", ""))[1:]
	cmd, rest, err := command.New().Find(words)
	if err != nil {
		return err
	}
	if len(rest) > 0 && cmd.HasSubCommands() && !strings.HasPrefix(rest[0], "-") && cmd.RunE == nil {
		return errors.New("there is no such command")
	}
	cmd.InitDefaultHelpFlag()
	err = cmd.ParseFlags(rest)
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok &&
		(strings.ToUpper(wrong.GetValue()) == wrong.GetValue() || strings.HasPrefix(wrong.GetValue(), "%")) {
		return nil
	}
	if err == nil && cmd.Flags().NArg() > 0 && cmd.Args != nil {
		err = cmd.Args(cmd, cmd.Flags().Args())
	}
	return err
}
