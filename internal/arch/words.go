package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// PrivateWords lists the words that only this project would use in their place, and those that make a reader go back
// to the start of a sentence. Each has the plain word that says the same. A word of a field is none, whatever it
// sounds like: a ticket of a shop, a link of a page.
var PrivateWords = map[string]string{
	"crew|crews":           "worker pool",
	"wish|wishes|wished":   "request; want",
	"ear|ears|deaf":        "subscription",
	"hear|hears|heard":     "receive; is notified",
	"linger|lingers":       "idle timeout",
	"told":                 "notified; reported",
	"foresight|foresee":    "page cache",
	"foresees|foreseen":    "expect",
	"memo|memos":           "renewed keys; cached",
	"ledger|ledgers":       "index record; journal",
	"house|houses":         "project; server",
	"desk|desks":           "plan queue",
	"standing|stands":      "is; state",
	"beat|beats":           "heartbeat",
	"aboard":               "in the batch",
	"behind":               "name what follows, or what causes it",
	"nobody|somebody":      "no process; a person",
	"anew":                 "again",
	"whoever|whosoever":    "who; a caller that",
	"heed|heeds|heeded":    "follow; respect",
	"nowhere":              "not … anywhere",
	"whither|whence|hence": "where; so",
	"of his|of hers":       "its",
	"of theirs|of ours":    "their; our",
	"who does not know":    "a caller that does not know",
	"is none of":           "does not belong to",
	"more or less":         "about",
	"lest|thereof|wherein": "so that … not; of it; in which",
}

// privateNames lists names of functions and types that say nothing to a stranger.
var privateNames = strings.Fields(`crew wish ear deaf hear linger told apart together alone foresight foresee memo book
	ledger lot desk house alarm lean standing beat raise ticket aboard flight hangUp lastCall rooms gather word gone settle
	ahead acting still mail keeper runner`)

// rightNames lists names of the list above that are the words of the field where they are, each with the reason.
var rightNames = map[string]string{
	"ranking/board.go: Raise":  "it raises a score, as ZADD GT does",
	"typed/zset_ops.go: Raise": "it raises scores, as ZADD GT does",
}

// text represents prose with the file that has it.
type text struct{ path, prose string }

// PrivateWordsIn measures how many private words the project's prose has (pages, comments, and sentences in strings)
// and how many of its functions and types have a private name.
func PrivateWordsIn(root fs.FS, files []File) ([]Measure, error) {
	written := slices.DeleteFunc(slices.Clone(files), File.Generated)
	prose, err := pages(root)
	if err != nil {
		return nil, err
	}
	for _, f := range written {
		if f.Path != "internal/arch/words.go" {
			prose = append(prose, text{f.Path, comments(f) + sentences(f)})
		}
	}
	return []Measure{privateWords(prose), namesOfNoMeaning(written)}, nil
}

var (
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	coded   = regexp.MustCompile("`[^`]*`")
	address = regexp.MustCompile(`\]\([^)]*\)|<!--.*?-->`)
)

// pages returns the prose of all pages that people write: without code, addresses, and the notes for generators.
func pages(root fs.FS) (out []text, err error) {
	err = Walk(root, func(path, s string) error {
		if strings.HasSuffix(path, ".md") && !strings.Contains(path, "testdata/") && !strings.Contains(s, "DO NOT EDIT") {
			s = fenced.ReplaceAllString(s, "")
			out = append(out, text{path, address.ReplaceAllString(coded.ReplaceAllString(s, " "), "] ")})
		}
		return nil
	})
	return out, err
}

// comments returns the comments of a file.
func comments(f File) string {
	var b strings.Builder
	for _, group := range f.AST.Comments {
		b.WriteString(group.Text() + "\n")
	}
	return b.String()
}

// sentences returns the strings of a file that a person may read: those with three words at least. Tests have none:
// their strings are data.
func sentences(f File) string {
	var b strings.Builder
	if f.Test {
		return ""
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil && len(strings.Fields(s)) >= 3 {
				b.WriteString(s + "\n")
			}
		}
		return true
	})
	return b.String()
}

var anyWord = regexp.MustCompile(`[\pL\pN_'-]+`)

// privateWords measures how many of 10,000 words are private ones.
func privateWords(prose []text) Measure {
	private := regexp.MustCompile(`(?i)\b(` +
		strings.ReplaceAll(strings.Join(slices.Sorted(maps.Keys(PrivateWords)), "|"), " ", `\s+`) + `)\b`)
	all, n, by := 0, 0, map[string]int{}
	for _, t := range prose {
		all += len(anyWord.FindAllString(t.prose, -1))
		for _, w := range private.FindAllString(t.prose, -1) {
			n++
			by[t.path+": "+strings.ToLower(strings.Join(strings.Fields(w), " "))]++
		}
	}
	rate := 10000 * float64(n) / float64(max(all, 1))
	return Measure{"private words per 10,000", fmt.Sprintf("%.1f (%d of %d)", rate, n, all), "≤ 4", rate > 4, worst(by)}
}

// namesOfNoMeaning measures how many functions and types have a private name.
func namesOfNoMeaning(files []File) Measure {
	var out []string
	for _, f := range files {
		for _, d := range f.AST.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				out = append(out, private(f.Path, d.Name)...)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						out = append(out, private(f.Path, s.Name)...)
					}
				}
			}
		}
	}
	return Measure{"private names", fmt.Sprint(len(out)), "0", len(out) > 0, out}
}

func private(path string, name *ast.Ident) []string {
	place := path + ": " + name.Name
	if rightNames[place] == "" && slices.ContainsFunc(privateNames,
		func(p string) bool { return strings.EqualFold(p, name.Name) }) {
		return []string{place}
	}
	return nil
}
