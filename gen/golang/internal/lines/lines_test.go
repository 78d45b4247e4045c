package lines

import (
	"go/format"
	"go/scanner"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// tokens returns the tokens of a file, and all words of its comments.
func tokens(t *testing.T, text string) (code, words []string) {
	t.Helper()
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("x.go", -1, len(text)), []byte(text), func(_ token.Position, msg string) { t.Error(msg) },
		scanner.ScanComments)
	for {
		_, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return code, words
		case token.COMMENT:
			words = append(words, strings.Fields(strings.ReplaceAll(lit, "//", " "))...)
		default:
			code = append(code, tok.String()+" "+lit)
		}
	}
}

// ends says whether a token may be there or not at the end of a line.
func ends(token string) bool { return token == "; \n" || token == ", " }

// TestBreak: lines are broken, and the code, its texts and the words of its comments are the same.
func TestBreak(t *testing.T) {
	long := strings.Repeat("long ", 30)
	for _, text := range []string{
		"func f(a int, b string) { g(a, \"" + long +
			", x\", map[string]int{\"a, b\": 1, `c, d`: 2}, ',', b, h(a, a, a, a), " +
			strings.Repeat("a, ", 30) + "b) }\n",
		"// " + long + "\n\t// " + long + "\nvar x = 1\n",
		"// " + strings.Repeat("+build ", 40) + "\nvar x = 1\n",
		"var x = `a, " + long + "\n" + long + ", b, " + long + "`\n",
		"var x = f(a, // " + long + ", " + long + "\n\tb)\n",
		"var x = \"" + strings.Repeat("語, ", 60) + "\"\n",
		"a, b, c := " + strings.Repeat("f(1, 2), ", 20) + "g\n",
	} {
		got := Break(text)
		code, words := tokens(t, text)
		if again, said := tokens(t, got); !slices.Equal(code, again) || !slices.Equal(words, said) {
			t.Errorf("the code changed:\n%s\n%s", text, got)
		}
		if strings.Contains(got, "\n// +build") {
			t.Errorf("a constraint:\n%s", got)
		}
	}
	for _, at := range []string{"../../../../internal/everykeys/everykeys.go", "../../../../internal/tenants/tenants.go"} {
		text, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		joined := strings.ReplaceAll(string(text), ",\n", ", ") // as the generator writes it
		got, err := format.Source([]byte(Break(joined)))
		if err != nil {
			t.Fatal(err)
		}
		code, words := tokens(t, joined)
		again, said := tokens(t, string(got))
		code, again = slices.DeleteFunc(code, ends), slices.DeleteFunc(again, ends)
		if !slices.Equal(code, again) || !slices.Equal(words, said) {
			t.Errorf("%s: the code changed", at)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if n := len([]rune(line)); n > 120 && strings.Contains(line, ", ") {
				t.Errorf("%s:%d has %d columns: %s", at, i+1, n, line)
			}
		}
	}
}

// TestTextsStay: a text of several lines stays as it is, whatever marks of texts are in comments and texts before it,
// and code after it is broken again.
func TestTextsStay(t *testing.T) {
	long := strings.Repeat("a, ", 60)
	for _, before := range []string{"", "// it is the user`s\n", "x := 1 // `\n", "x := \"`\"\n", "x := '`'\n", "x := \"\\\"`\"\n",
		"x := `\\`\n", "x := `//`\n", "x := \"//\" + `a\n`\n", "x := '\\''\n", "x := '\"'\n"} {
		text := before + "var y = `-- " + long + "\n" + long + "`\n"
		if got := Break(text); got != text {
			t.Errorf("after %q it is\n%s", before, got)
		}
		if got := Break(text + "f(" + long + "a)\n"); got == text+"f("+long+"a)\n" || !strings.HasPrefix(got, text) {
			t.Errorf("after %q no code is broken any more\n%s", before, got)
		}
	}
}
