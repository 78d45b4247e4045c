package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/pages"
	"github.com/keywright/keywright/keywrighttest"
)

// TestPages runs the console blocks of the documents and compares what is printed.
//
// The mark before a block names a set-up, a file of testdata/pages: the commands that
// fill a server before the block, or nothing. redis://localhost:6379 in a block is that
// server. In what is expected "…" is any text, and alone on its line any lines; a
// duration is any duration, and a run of blanks or of ─ is any such run.
func TestPages(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	all, err := pages.Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, p := range all {
		for _, b := range p.Blocks {
			if b.Lang != "console" || b.Mark != "run" {
				continue
			}
			ran++
			t.Run(fmt.Sprintf("%s:%d", p.Path, b.Line), func(t *testing.T) {
				t.Parallel()
				runBlock(t, root, b)
			})
		}
	}
	if ran < 5 {
		t.Errorf("only %d blocks were found: the search is broken", ran)
	}
}

func runBlock(t *testing.T, root string, b pages.Block) {
	dir := t.TempDir()
	real, shown := servers(t, b)
	if strings.Contains(b.Text, "examples") {
		copyExamples(t, root, dir)
	}
	code, exports := 0, ""
	for _, step := range steps(b.Text) {
		if strings.HasPrefix(step.command, "export ") { // it holds for the commands that follow
			exports += real.Replace(step.command) + "; "
			continue
		}
		cmd := exec.Command("bash", "-c", fmt.Sprintf("%s(exit %d); %s", exports, code, real.Replace(step.command)))
		cmd.Dir = dir
		cmd.Env = append(bare(os.Environ()), "GORACE=atexit_sleep_ms=0")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatalf("%s: %v", step.command, err)
		}
		code = cmd.ProcessState.ExitCode()
		got := shown.Replace(string(out))
		if !step.matches(got) {
			t.Errorf("$ %s\nprints\n%s\nand the page says\n%s", step.command, got, step.want)
		}
	}
}

// servers returns what a block names: one that is filled, and one called new, which is empty.
// real puts their addresses into a command, shown takes them out of what it prints.
func servers(t *testing.T, b pages.Block) (real, shown *strings.Replacer) {
	var in, out []string
	for name, fill := range map[string]string{"localhost:6379": b.About, "old:6379": b.About, "new:6379": "empty.txt"} {
		if b.About != "nothing" && strings.Contains(b.Text, name) {
			addr := setUp(t, fill)
			in, out = append(in, name, addr), append(out, addr, name)
		}
	}
	return strings.NewReplacer(in...), strings.NewReplacer(out...)
}

// step represents a command of a block, and what it prints.
type step struct{ command, want string }

func steps(text string) []step {
	var out []step
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			command, _, _ = strings.Cut(command, "   # ") // a remark for the reader
			out = append(out, step{command: strings.TrimSpace(command)})
		} else if len(out) > 0 {
			out[len(out)-1].want += line
		}
	}
	return out
}

// varying says what differs from run to run, and what replaces it.
var varying = []struct {
	what *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\b\d+(\.\d+)?(ns|µs|ms|s)\b`), "1s"},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`─+`), "─"},
}

// plain returns the lines of a text without what differs from run to run.
func plain(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		for _, v := range varying {
			line = v.what.ReplaceAllString(line, v.by)
		}
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func (s step) matches(got string) bool {
	var p strings.Builder
	for _, line := range plain(s.want) {
		if line == "…" {
			p.WriteString(`(?:.*\n)*?`)
			continue
		}
		p.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + `\n`)
	}
	text := strings.Join(plain(got), "\n") + "\n"
	if text == "\n" {
		text = ""
	}
	return regexp.MustCompile(`^` + p.String() + `$`).MatchString(text)
}

// setUp starts a server and fills it from testdata/pages.
func setUp(t *testing.T, name string) (addr string) {
	text, err := os.ReadFile(filepath.Join("testdata/pages", name))
	if err != nil {
		t.Fatal(err)
	}
	s := keywrighttest.Start(t, keywrighttest.Redis)
	for line := range strings.Lines(string(text)) {
		var words []string
		for line = strings.TrimSpace(line); line != "" && line[0] != '#'; line = strings.TrimSpace(line) {
			word, err := strconv.QuotedPrefix(line)
			if err != nil {
				word, _, _ = strings.Cut(line, " ")
			}
			line = line[len(word):]
			if bare, err := strconv.Unquote(word); err == nil {
				word = bare
			}
			words = append(words, word)
		}
		if len(words) > 0 {
			s.Do(words...)
		}
	}
	return s.Addr()
}

// copyExamples gives a block what a reader has in the folder of the project.
func copyExamples(t *testing.T, root, dir string) {
	for _, folder := range []string{"examples"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Name() == "node_modules" {
				return filepath.SkipDir
			}
			name, err := filepath.Rel(root, path)
			if err != nil || !d.IsDir() && filepath.Ext(path) == ".go" {
				return err
			}
			if d.IsDir() {
				return os.MkdirAll(filepath.Join(dir, name), 0o755)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, name), text, 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// bare returns an environment without what changes what keywright does.
func bare(environment []string) []string {
	var out []string
	for _, v := range environment {
		if !strings.HasPrefix(v, "KEYWRIGHT_") && !strings.HasPrefix(v, "REDIS") && !strings.HasPrefix(v, "GITHUB_") {
			out = append(out, v)
		}
	}
	return out
}
