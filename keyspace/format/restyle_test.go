package format

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/gate"
)

var (
	flowBlank   = regexp.MustCompile(`([{,\[] ?|[}\]])`)
	plainWord   = regexp.MustCompile(`(: )([a-z][a-z_]*)([,}\n])`)
	blockBegins = regexp.MustCompile(`: +[|>][-+]?$`)
	oneQuoted   = regexp.MustCompile(`"([^"'\\\n]*)"`)
)

// restyle changes blanks inside of { } and [ ], and quotes, of one line of a declaration.
func restyle(r *rand.Rand, line string) string {
	if strings.ContainsAny(line, "#'|>\\") || strings.Contains(line, "doc: ") {
		return line // comments, other quotes and blocks stay as they are
	}
	if r.IntN(2) == 0 {
		line = oneQuoted.ReplaceAllString(line, "'$1'")
	}
	if r.IntN(2) == 0 {
		line = plainWord.ReplaceAllStringFunc(line+"\n", func(m string) string {
			p := plainWord.FindStringSubmatch(m)
			if word := p[2]; word != "true" && word != "false" && word != "none" && word != "any" && word != "null" &&
				word != "yes" && word != "no" {
				return p[1] + `"` + word + `"` + p[3]
			}
			return m
		})
		line = strings.TrimSuffix(line, "\n")
	}
	if r.IntN(2) == 0 && strings.Count(line, "{") == strings.Count(line, "}") &&
		strings.Count(line, "[") == strings.Count(line, "]") {
		parts := regexp.MustCompile(`"[^"]*"|'[^']*'|[^"']+`).FindAllString(line, -1)
		for i, p := range parts {
			if strings.Contains(p, ": ") && p[0] != '"' && p[0] != '\'' && (strings.Contains(p, ": {") || i > 0) {
				parts[i] = flowBlank.ReplaceAllStringFunc(p, func(m string) string {
					if strings.ContainsAny(m, "}]") {
						return strings.Repeat(" ", r.IntN(3)) + m
					}
					return m + strings.Repeat(" ", r.IntN(3))
				})
			}
		}
		line = strings.Join(parts, "")
	}
	return line + strings.Repeat(" ", r.IntN(2))
}

// TestEveryStyleHasOneForm: whatever blanks and quotes a declaration is written with, it
// is formatted to the same text. KEYWRIGHT_SOAK says how many styles more are tried.
func TestEveryStyleHasOneForm(t *testing.T) {
	more, r := gate.Count(t, "KEYWRIGHT_SOAK", 0, 20), gate.Rand(t)
	changed := 0
	for _, path := range examples(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 + more {
			lines := strings.Split(string(text), "\n")
			block := -1 // the indentation of the name of a block of text
			for i := range lines {
				indent := len(lines[i]) - len(strings.TrimLeft(lines[i], " "))
				if block >= 0 && (indent > block || lines[i] == "") {
					continue
				}
				if block = -1; blockBegins.MatchString(lines[i]) {
					block = indent
					continue
				}
				if styled := restyle(r, lines[i]); styled != lines[i] {
					lines[i], changed = styled, changed+1
				}
			}
			styled := strings.Join(lines, "\n")
			out, err := Format([]byte(styled))
			if err != nil {
				t.Fatalf("%s: %v\n%s", path, err, styled)
			}
			if string(out) != string(text) {
				a, b := strings.Split(string(out), "\n"), strings.Split(string(text), "\n")
				for i := range min(len(a), len(b)) {
					if a[i] != b[i] {
						t.Fatalf("%s:%d: %q is formatted to\n%s\nnot to\n%s", path, i+1, lines[i], a[i], b[i])
					}
				}
			}
		}
	}
	if changed < 1000 {
		t.Errorf("only %d lines were restyled", changed)
	}
}

// A change of the indentation would take apart a sequence, a list on lines of its own, and
// what is broken, a flow that goes on in the next line. They stay as they are written.
var (
	sequence = regexp.MustCompile(`(?m)^ *- `)
	ends     = regexp.MustCompile(`\r?\n`)
)

func broken(text string) bool {
	for line := range strings.Lines(text) {
		if strings.Count(line, "{")+strings.Count(line, "[") != strings.Count(line, "}")+strings.Count(line, "]") {
			return true
		}
	}
	return false
}

// relaid returns a declaration with other indentation, blanks after colons, empty lines, line
// ends and a byte order mark.
func relaid(r *rand.Rand, text string) string {
	per, block := 1+r.IntN(4), -1
	if sequence.MatchString(text) || broken(text) {
		per = 2
	}
	var b strings.Builder
	if r.IntN(2) == 0 {
		b.WriteString("\ufeff")
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if block >= 0 && (indent > block || line == "") {
			if line != "" {
				line = strings.Repeat(" ", block*per/2) + line[block:]
			}
			b.WriteString(line + "\n")
			continue
		}
		if block = -1; blockBegins.MatchString(line) {
			block = indent
		}
		line = strings.Repeat(" ", indent*per/2) + line[indent:]
		if name, rest, ok := strings.Cut(line, ": "); ok && block < 0 && r.IntN(3) == 0 &&
			!strings.ContainsAny(name, "#{[\"'-") && !strings.ContainsAny(rest, "#") {
			line = name + ": " + strings.Repeat(" ", r.IntN(4)) + rest
		}
		b.WriteString(line + strings.Repeat(" ", r.IntN(3)) + "\n")
		if line == "" && r.IntN(3) == 0 {
			b.WriteString("\n \n")
		}
	}
	out := b.String() + strings.Repeat("\n", r.IntN(3))
	if r.IntN(2) == 0 {
		out = ends.ReplaceAllString(out, "\r\n")
	}
	return out
}

// TestEveryLayoutHasOneForm: whatever indentation, blanks, empty lines and line ends a
// declaration is written with, it is formatted to the same text, and that to itself.
func TestEveryLayoutHasOneForm(t *testing.T) {
	more, r := gate.Count(t, "KEYWRIGHT_SOAK", 0, 20), gate.Rand(t)
	for _, path := range examples(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 6 + more {
			laid := relaid(r, string(text))
			once, err := Format([]byte(laid))
			if err != nil {
				t.Fatalf("%s: %v\n%s", path, err, laid)
			}
			if string(once) != string(text) {
				a, b := strings.Split(string(once), "\n"), strings.Split(string(text), "\n")
				for i := range min(len(a), len(b)) {
					if a[i] != b[i] {
						t.Fatalf("%s:%d: is formatted to\n%q\nnot to\n%q", path, i+1, a[i], b[i])
					}
				}
				t.Fatalf("%s: %d lines, want %d", path, len(a), len(b))
			}
			if twice, err := Format(once); err != nil || string(twice) != string(once) {
				t.Fatalf("%s is not at rest: %v", path, err)
			}
		}
	}
}
