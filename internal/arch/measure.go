package arch

import (
	"fmt"
	"go/ast"
	"go/doc"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Columns says how wide a line may be.
const Columns = 120

// Measure represents a figure of the project, its goal, and what is beyond the goal.
type Measure struct {
	Name   string
	Is     string // the figure as it is shown
	Goal   string
	Missed bool
	Beyond []string // the places, the worst first
}

// Measures returns the figures that the source of the project tells, in the order in which they are shown.
func Measures(files []File) []Measure {
	written := slices.DeleteFunc(slices.Clone(files), File.Generated)
	out := []Measure{functions(written)}
	out = append(out, lengths(written), packageSizes(written), total(written), columns(files), edges(files))
	out = append(out, ratios(written)...)
	return append(out, documented(written), packageDocs(files), openings(written), examples(files))
}

// functions measures how long functions are.
func functions(files []File) Measure {
	n := bodies(files)
	median, p90 := quantile(n, 50), quantile(n, 90)
	return Measure{"lines of a function",
		fmt.Sprintf("median %d, p90 %d, largest %d, of %d", median, p90, quantile(n, 100), len(n)),
		"median ≤ 10, p90 ≤ 25", median > 10 || p90 > 25, nil}
}

// bodies returns how many lines each function has, tests left out.
func bodies(files []File) []int {
	var n []int
	for _, f := range files {
		for _, d := range f.AST.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && !f.Test && d.Body != nil {
				n = append(n, f.Set.Position(d.End()).Line-f.Set.Position(d.Pos()).Line+1)
			}
		}
	}
	return n
}

// lengths measures how long files are, tests left out.
func lengths(files []File) Measure {
	var n []int
	long := map[string]int{}
	for _, f := range files {
		if lines := strings.Count(f.Text, "\n"); !f.Test {
			n = append(n, lines)
			if lines > 450 {
				long[f.Path] = lines
			}
		}
	}
	return Measure{"lines of a file",
		fmt.Sprintf("p90 %d, largest %d, of %d; %d above 450", quantile(n, 90), quantile(n, 100), len(n), len(long)),
		"≤ 450", len(long) > 0, worst(long)}
}

// packageSizes measures how many files and lines of code packages have, tests left out.
func packageSizes(files []File) Measure {
	count, lines := map[string]int{}, map[string]int{}
	for _, f := range files {
		if !f.Test {
			count[f.Dir]++
			lines[f.Dir] += code(f)
		}
	}
	large := map[string]int{}
	for dir := range count {
		if count[dir] > 12 || lines[dir] > 2500 {
			large[fmt.Sprintf("%s: %d files, lines", dir, count[dir])] = lines[dir]
		}
	}
	return Measure{"packages", fmt.Sprintf("%d; %d too large", len(count), len(large)),
		"≤ 12 files and 2,500 lines of code", len(large) > 0, worst(large)}
}

// total measures how many lines there are to read, tests left out.
func total(files []File) Measure {
	lines, withCode := 0, 0
	for _, f := range files {
		if !f.Test {
			lines += strings.Count(f.Text, "\n")
			withCode += code(f)
		}
	}
	return Measure{"lines written by hand", fmt.Sprintf("%d, of these %d of code", lines, withCode),
		"≤ 160,000", lines > 160_000,
		nil}
}

// code counts the lines of a file that have code on them.
func code(f File) int {
	without := []byte(f.Text)
	for _, group := range f.AST.Comments {
		for i := f.Set.Position(group.Pos()).Offset; i < f.Set.Position(group.End()).Offset; i++ {
			if without[i] != '\n' {
				without[i] = ' '
			}
		}
	}
	n := 0
	for line := range strings.Lines(string(without)) {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}

// columns measures how many lines are too wide, those of tests too; a tab counts as one.
func columns(files []File) Measure {
	all, total := 0, 0
	by := map[string]int{}
	for _, f := range files {
		for line := range strings.Lines(f.Text) {
			all++
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > Columns {
				total++
				by[f.Dir]++
			}
		}
	}
	percent := 100 * float64(total) / float64(max(all, 1))
	return Measure{"lines above 120 columns", fmt.Sprintf("%.2f %% (%d of %d)", percent, total, all), "≤ 0.3 %",
		percent > 0.3, worst(by)}
}

func edges(files []File) Measure {
	upward := Upward(files)
	return Measure{"upward imports", fmt.Sprint(len(upward)), "0", len(upward) > 0, upward}
}

// runtime lists the layers that are not of the domain.
var runtime = []string{"the edge", "the runtime", "constructs", "changes"}

// ratios measures how many lines of tests there are for a line of code.
func ratios(files []File) []Measure {
	row, _ := Rank()
	half := func(dir string) string {
		if i, ok := row[dir]; !ok || Layers[i].Name == "of the project itself" {
			return ""
		} else if slices.Contains(runtime, Layers[i].Name) {
			return "runtime"
		}
		return "domain"
	}
	rows := []struct {
		name string
		goal float64
		is   func(dir string) bool
	}{
		{"domain", 0.8, func(dir string) bool { return half(dir) == "domain" }},
		{"runtime", 0.8, func(dir string) bool { return half(dir) == "runtime" }},
		{"infer", 0.6, func(dir string) bool { return dir == "infer" }},
		{"infer/page", 0.6, func(dir string) bool { return Within(dir, "infer/page") }},
		{"gen/golang", 0.6, func(dir string) bool { return dir == "gen/golang" }},
	}
	var out []Measure
	for _, r := range rows {
		var lines [2]int
		for _, f := range files {
			if r.is(f.Dir) {
				lines[map[bool]int{true: 1}[f.Test]] += code(f)
			}
		}
		ratio := float64(lines[1]) / float64(max(lines[0], 1))
		out = append(out, Measure{"test : code, " + r.name, fmt.Sprintf("%.2f (%d : %d)", ratio, lines[1], lines[0]),
			fmt.Sprintf("≥ %.1f", r.goal), ratio < r.goal, nil})
	}
	return out
}

// comment represents an exported name of the library with its comment.
type comment struct {
	where, name, text string
}

// exported returns the exported names of the library: functions, methods, types, and variables that have
// a declaration of their own.
func exported(files []File) []comment {
	var out []comment
	for _, f := range files {
		if f.Test || Within(f.Dir, "cmd", "bench", "examples") || f.AST.Name.Name == "main" {
			continue
		}
		for _, d := range f.AST.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) {
					out = append(out, comment{f.Path, d.Name.Name, d.Doc.Text()})
				}
			case *ast.GenDecl:
				out = append(out, specs(f.Path, d)...)
			}
		}
	}
	return out
}

func specs(path string, d *ast.GenDecl) []comment {
	var out []comment
	for _, spec := range d.Specs {
		if s, ok := spec.(*ast.ValueSpec); ok && !d.Lparen.IsValid() && s.Names[0].IsExported() {
			out = append(out, comment{path, s.Names[0].Name, d.Doc.Text()})
		}
		if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() {
			out = append(out, comment{path, s.Name.Name, d.Doc.Text() + s.Doc.Text()})
		}
	}
	return out
}

// exportedReceiver reports whether a function is one that users see; methods of error and Stringer need
// no words.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	if d.Name.Name == "Error" || d.Name.Name == "String" {
		return false
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if index, ok := typ.(*ast.IndexExpr); ok {
		typ = index.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

func documented(files []File) Measure {
	all := exported(files)
	var none []string
	for _, c := range all {
		if c.text == "" {
			none = append(none, c.where+": "+c.name)
		}
	}
	return Measure{"exported names with a comment",
		fmt.Sprintf("%.1f %% of %d", 100-100*float64(len(none))/float64(max(len(all), 1)), len(all)), "100 %",
		len(none) > 0, none}
}

func packageDocs(files []File) Measure {
	there := map[string]bool{}
	for _, f := range files {
		if !f.Test {
			there[f.Dir] = there[f.Dir] || f.AST.Doc != nil
		}
	}
	without := map[string]bool{}
	for dir, ok := range there {
		if !ok {
			without[dir] = true
		}
	}
	return Measure{"packages with a comment", fmt.Sprintf("%d of %d", len(there)-len(without), len(there)), "all",
		len(without) > 0, sorted(without)}
}

// openings measures how many comments of exported names say "X is" or "X are", where a verb may serve.
func openings(files []File) Measure {
	being := regexp.MustCompile(`^\S+ (is|are|was|were)\b`)
	total, n := 0, 0
	by := map[string]int{}
	for _, c := range exported(files) {
		if c.text == "" || !unicode.IsUpper([]rune(c.name)[0]) {
			continue
		}
		if total++; being.MatchString(c.text) {
			n++
			by[c.where]++
		}
	}
	percent := 100 * float64(n) / float64(max(total, 1))
	return Measure{`comments that open with "X is"`, fmt.Sprintf("%.1f %% (%d of %d)", percent, n, total), "≤ 6 %",
		percent > 6, worst(by)}
}

// Exampled returns the packages that users import and that need an Example of their own.
func Exampled() []string {
	var out []string
	for _, l := range Layers {
		for _, p := range l.Packages {
			internal := strings.Contains(p.Dir, "internal/")
			if !internal && !slices.Contains([]string{"keyspace/schema", "gen/conformance", "fallback/storetest"}, p.Dir) {
				out = append(out, p.Dir)
			}
		}
	}
	return out
}

// examples counts the Example functions that go doc shows: those in the folder of their package.
func examples(files []File) Measure {
	own, all := map[string]int{}, 0
	for _, f := range files {
		if !f.Test {
			continue
		}
		for _, e := range doc.Examples(f.AST) {
			if all++; e.Output != "" || e.EmptyOutput || e.Unordered {
				own[f.Dir]++
			}
		}
	}
	shown := 0
	var without []string
	for _, dir := range Exampled() {
		if shown += own[dir]; own[dir] == 0 {
			without = append(without, dir)
		}
	}
	return Measure{"Example functions",
		fmt.Sprintf("%d, of these %d in go doc of %d packages that users import; %d packages without", all, shown,
			len(Exampled()), len(without)),
		"≥ 30, one for each package", shown < 30 || len(without) > 0, without}
}

// quantile returns the least number that so many percent do not exceed.
func quantile(numbers []int, percent int) int {
	if len(numbers) == 0 {
		return 0
	}
	n := slices.Sorted(slices.Values(numbers))
	return n[min(len(n)*percent/100, len(n)-1)]
}

// worst returns the places with their numbers, the largest first.
func worst(by map[string]int) []string {
	var places []string
	for p := range by {
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b string) int {
		if by[a] != by[b] {
			return by[b] - by[a]
		}
		return strings.Compare(a, b)
	})
	for i, p := range places {
		places[i] = fmt.Sprintf("%s %d", p, by[p])
	}
	return places
}
