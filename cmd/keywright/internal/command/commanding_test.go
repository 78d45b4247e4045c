package command

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/spf13/cobra"
)

// commanding are texts that a terminal, a CI system or a spreadsheet would obey.
var commanding = []string{
	"::add-mask::x", "  ::error::x", "\t::stop-commands::x", "##[error]x", "##vso[task.setvariable]x", "##teamcity[x]",
	"a\n::error::b",
	"\x1b]0;title\x07", "\x1b[2J", "\u009b31m", "\u202eabc", "a\rb", "\x7f", "\xff", "=1+1", "\uff1d1+1", "@SUM(A1)",
	"\x00", strings.Repeat("long", 80) + "\x1b[2J",
}

var inlineCommand = regexp.MustCompile(`##[A-Za-z]*\[`)

// obeyed says what of an output would be taken for a command. The form github is
// commands: those that it may have begin with a level.
func obeyed(text, form string) error {
	for line := range strings.Lines(text) {
		if form == "github" {
			line = regexp.MustCompile(`^::(error|warning|notice) `).ReplaceAllString(line, "")
		}
		if strings.HasPrefix(strings.TrimSpace(line), "::") || inlineCommand.MatchString(line) {
			return fmt.Errorf("a command in %q", line)
		}
	}
	for _, r := range text {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			return fmt.Errorf("%U in %q", r, text)
		}
	}
	if form != "csv" {
		return nil
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && strings.ContainsRune("=+-@\t\uff1d\uff20", []rune(cell)[0]) {
				return fmt.Errorf("a formula in %q", row)
			}
		}
	}
	return err
}

// fillCommanding writes commanding names, and values that commands show, into every
// construct of documentKeyspace.
func fillCommanding(s *keywrighttest.Server) {
	for i, c := range commanding {
		n := fmt.Sprint(100 + i)
		for _, command := range [][]string{
			{"SET", c, "x"}, {"SET", "app:" + c, "x"}, {"HSET", "app:album:" + c, "title", "x"},
			{"HSET", "app:album:" + n, "title", c, c, c},
			{"HSET", "app:alb:" + c, "title", "x"}, {"SET", "bull:" + c, "x"}, {"SET", "user:" + c, "x"},
			{"SET", "lock:" + n, c + "/1", "PX", "600000"}, {"SET", "lock:" + c, "x/1"},
			{"ZADD", "{lock:" + n + "}:waiters", "1", c},
			{"HSET", "item:" + c, "n", "1"}, {"HSET", "item:" + n, "n", c}, {"SADD", "secret:" + c, "wrong type"},
			{"SET", "secret:a" + c, c},
			{"RPUSH", "jobs:high", c}, {"SET", "{jobs}:job:" + c, "q1 1 high 0 - -\n{}"}, {"ZADD", "{jobs}:dead", "1", c},
			{"HSET", "{jobs}:runs", c, "- 6 5 1 0 0 r1\n" + c}, {"ZADD", "{jobs}:leases", "1", "l" + c},
			{"ZADD", "{jobs}:workers", "1", "w" + c},
		} {
			_, _ = s.Try(command...) // some names are of no use to a construct
		}
	}
}

// asForm returns a command line with another form of output.
func asForm(args, form string) string {
	for _, other := range []string{"-o jsonl", "-o json"} {
		if strings.Contains(args, other) {
			return strings.Replace(args, other, "-o "+form, 1)
		}
	}
	return args + " -o " + form
}

// TestNoCommandPassesACommandOn runs every command that prints keys, in every form,
// over names and values that command a terminal, a CI log or a spreadsheet. Names as
// they are (-o names, --null) are for other programs: a terminal gets none of them.
func TestNoCommandPassesACommandOn(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"keyspace.yaml": documentKeyspace, "old.yaml": documentKeyspace,
		"bad.yaml": documentKeyspace + "  \"::add-mask::x\": {key: \"\\e]0;x\"}\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.Do("SAVE")
	copyFile(t, filepath.Join(s.Dir, "dump.rdb"), "empty.rdb")
	runDocument(t, s, documentRun{"", 0, "seal key ring.json", ""})
	s.Do("SET", "user:1", "x")
	runDocument(t, s, documentRun{"", -1, "audit -u URL --baseline baseline.json --update-baseline", ""})
	fillCommanding(s)
	s.Do("SAVE")
	copyFile(t, filepath.Join(s.Dir, "dump.rdb"), "dump.rdb")
	writePart(t, s)
	stdin := strings.Join(commanding, "\n")
	runs, shown := 0, 0
	run := func(args, form string) {
		runs++
		var out, errs strings.Builder
		words := strings.Fields(strings.ReplaceAll(args, "URL", s.URL()))
		for i, w := range words {
			words[i] = strings.ReplaceAll(w, "HOSTILE", "\x1b]0;x\a ##[x]")
		}
		code := Main(t.Context(), words,
			cli.Streams{In: strings.NewReader(stdin), Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
		if code > 5 {
			t.Errorf("%s: exit code %d: %s", args, code, errs.String())
		}
		if err := obeyed(out.String(), form); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		if err := obeyed(errs.String(), ""); err != nil {
			t.Errorf("%s, standard error: %v", args, err)
		}
		shown += strings.Count(out.String()+errs.String(), "add-mask")
	}
	tried := map[string]bool{}
	for _, r := range documentRuns {
		command, _, err := New().Find(strings.Fields(r.args))
		if err != nil {
			t.Fatal(err)
		}
		for i, form := range cli.FormsOf(command) {
			as := command.CommandPath() + " " + form
			if !gate.All() && i > 0 && tried[as] {
				continue // the first form of each run, and each form of a command once
			}
			if form != "names" && !(strings.Contains(r.args, "--keys-of") && form != "jsonl") {
				tried[as] = true
				run(asForm(r.args, form), form)
			}
		}
	}
	for _, args := range []string{
		"audit -u URL --keys-of KW501,KW502", "verify all.kwa URL --db 0 --to-db 9 --keys-of all", "verify all.kwa empty.rdb",
		"seal status -u URL --keys-file ring.json -v",
		"infer -u URL", "infer dump.rdb", "infer --from-doc -", "explain --key ::add-mask::x", "queues jobs -u URL --dead",
		"fmt bad.yaml", "lint HOSTILE", "audit HOSTILE",
		"archive info HOSTILE", "archive export HOSTILE --as jsonl", "archive export all.kwa --as jsonl",
		"restore HOSTILE -u URL", "apply HOSTILE -u URL", "top HOSTILE", "breaking --against HOSTILE",
		"delete -u URL --match HOSTILE", "ls -u URL --entry HOSTILE", "HOSTILE", "audit --HOSTILE", "gen HOSTILE",
		"explain HOSTILE", "audit -u redis://HOSTILE:1", "locks --break HOSTILE -u URL",
	} {
		run(args, "")
	}
	if runs < 150 || shown < 100 {
		t.Errorf("only %d outputs with %d commanding names", runs, shown)
	}
}

// TestEveryCommandWithFormsIsTried: a new command is in the table of the runs.
func TestEveryCommandWithFormsIsTried(t *testing.T) {
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		path := strings.Join(strings.Fields(c.CommandPath())[1:], " ")
		if len(cli.FormsOf(c)) > 0 &&
			!slices.ContainsFunc(documentRuns, func(r documentRun) bool { return strings.HasPrefix(r.args+" ", path+" ") }) {
			t.Errorf("%s prints %v and is tried with no hostile name", path, cli.FormsOf(c))
		}
		for _, s := range c.Commands() {
			walk(s)
		}
	}
	walk(New())
}
