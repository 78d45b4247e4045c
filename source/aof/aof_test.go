package aof_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/source/aof"
)

// TestParse: a manifest names the base, the increments in their order, and what is not needed any more.
func TestParse(t *testing.T) {
	t.Parallel()
	got, err := aof.Parse(strings.NewReader("# a note\nfile a.aof.2.base.rdb seq 2 type b\n" +
		"file a.aof.1.incr.aof seq 1 type h\nfile \"a \\\"x\\\".2.incr.aof\" seq 2 type i\n\n" +
		"file a.aof.3.incr.aof seq 3 type i startoffset 17 endoffset 40\n"))
	want := aof.Folder{Base: "a.aof.2.base.rdb", Increments: []string{`a "x".2.incr.aof`, "a.aof.3.incr.aof"},
		History: []string{"a.aof.1.incr.aof"}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

// TestParseRefuses: what cannot be the manifest of a server is refused with its line.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"file a seq 1 type b\nfile b seq 2 type b": "line 2 of the manifest: a second base, b beside a",
		"file ../a seq 1 type b":                   "no name of a file",
		"file /etc/passwd seq 1 type i":            "no name of a file",
		"file a seq 1 type z":                      `of type "z"`,
		"seq 1 type b":                             "no name of a file",
		`file "a seq 1 type b`:                     "has no end",
		strings.Repeat("#\n", 1<<20):               "more than 1048576 bytes",
	} {
		if _, err := aof.Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// TestCommands: those that may change keys are counted, up to where the file was cut.
func TestCommands(t *testing.T) {
	t.Parallel()
	const sel, set = "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n", "*3\r\n$3\r\nset\r\n$3\r\na:1\r\n$1\r\n2\r\n"
	for text, want := range map[string]int64{"": 0, sel: 0, sel + set + set: 2, "#TS:1700000000\r\n" + set: 1,
		"*1\r\n$5\r\nMULTI\r\n" + set + set + "*1\r\n$4\r\nEXEC\r\n": 2} {
		if n, err := aof.Commands(strings.NewReader(text)); n != want || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	for i := 1; i < len(set); i++ {
		if n, err := aof.Commands(strings.NewReader(set + set[:i])); n != 1 || !errors.Is(err, aof.ErrCut) {
			t.Errorf("cut after %d bytes: %d, %v", i, n, err)
		}
	}
	for _, text := range []string{"REDIS0011", "*x\r\n", "*1\r\n+OK\r\n", "*1\r\n$99999999999\r\nx\r\n", "*-1\r\n",
		"*" + strings.Repeat("1", 70_000)} {
		if _, err := aof.Commands(strings.NewReader(text)); err == nil || errors.Is(err, aof.ErrCut) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// FuzzCommands: foreign bytes end in an error or a number, and take no memory to speak of.
func FuzzCommands(f *testing.F) {
	f.Add("*3\r\n$3\r\nset\r\n$3\r\na:1\r\n$1\r\n2\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		if n, _ := aof.Commands(strings.NewReader(text)); n < 0 || n > int64(len(text)) {
			t.Errorf("%d commands of %d bytes", n, len(text))
		}
		_, _ = aof.Parse(strings.NewReader(text))
	})
}
