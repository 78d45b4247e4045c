package pages

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// elsewhere are structs of options that are no construct's: why they have no list.
var elsewhere = map[string]string{
	"audit.Options":                       "of the library's audit: go doc; the command's flags are in docs/cli.md",
	"connect.Config":                      "of the library's scan: go doc; URLs are in docs/cli.md",
	"connect.Options":                     "as connect.Config",
	"keyspace/finding.Options":            "how findings are printed: go doc",
	"infer.Options":                       "of the library's draft: go doc; the command's flags are in docs/cli.md",
	"infer/files.Options":                 "as infer.Options",
	"source/rdb.Options":                  "of the library's reader: go doc",
	"source/server/request.Options":       "of the library's scan: go doc",
	"source/server.SnapshotOptions":       "as server.Options",
	"source/archive/export.Options":       "as source/rdb.Options",
	"source/archive/export.SourceOptions": "as source/rdb.Options",
	"apply.KeysOptions":                   "of the library's executor: go doc; the commands' flags are in docs/cli.md",
	"apply/plan.RenameOptions":            "as apply.KeysOptions",
	"event.Config":                        "filled by generated code",
	"event.StreamConfig":                  "filled by generated code",
	"migrate/record.Options":              "of the library's reader: go doc",
	"limit.Limits":                        "no options: it has no exported field",
}

var optionName = regexp.MustCompile(`^(\w*Options|\w*Config|Limits|Task)$`)

// TestEveryOptionIsDocumented: each exported field of a struct that callers fill is in
// docs, with what it is and what its zero value means.
func TestEveryOptionIsDocumented(t *testing.T) {
	documented := map[string]string{}
	for _, p := range read(t) {
		for _, name := range Documented(p.Text) {
			name = Resolve(root, name)
			if documented[name] != "" {
				t.Errorf("the options of %s are in %s and in %s", name, documented[name], p.Path)
			}
			documented[name] = p.Path
		}
	}
	for name := range everyOptions(t) {
		reason := elsewhere[name]
		if reason == "" && documented[name] == "" {
			t.Errorf("%s is on no page: <!-- options: %s -->", name, name)
		}
		if reason != "" && documented[name] != "" {
			t.Errorf("%s is on %s, and left out of docs: %s", name, documented[name], reason)
		}
	}
	for name := range documented {
		options, err := Options(root, name)
		if err != nil || len(options) < 1 {
			t.Errorf("%s: %d options, %v", name, len(options), err)
		}
		for _, o := range options {
			if o.Doc == "" {
				t.Errorf("%s.%s has no comment: what is it, what does zero mean?", name, o.Names[0])
			}
			defaulted := o.Type == "time.Duration" || o.Type == "int" || o.Type == "int64" || o.Type == "float64"
			if defaulted && !regexp.MustCompile(`\d|"none"|[Nn]one|not`).MatchString(o.Doc) {
				t.Errorf("%s.%s does not say what its zero value means: %s", name, o.Names[0], o.Doc)
			}
		}
	}
}

// everyOptions returns all structs of the library that callers fill.
func everyOptions(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, dir := range packages(t) {
		files, err := Parse(root, dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.TypeSpec)
				if !ok || !s.Name.IsExported() || !optionName.MatchString(s.Name.Name) {
					return true
				}
				name := strings.Replace(dir, ".", "keywright", 1) + "." + s.Name.Name
				switch s.Type.(type) {
				case *ast.StructType:
					out[name] = true
				case *ast.SelectorExpr: // an alias
					if real := Resolve(root, name); real != name {
						out[real] = true
					}
				}
				return true
			})
		}
	}
	if len(out) < 20 {
		t.Errorf("only %d structs were found: the search is broken", len(out))
	}
	return out
}

// TestDefaultsAreTrue: where the code says cmp.Or(o.Field, constant), the comment of
// that field says the constant. Where two structs of a package have an option of one
// name, which of them a constant belongs to is not decided.
func TestDefaultsAreTrue(t *testing.T) {
	seen, with := 0, map[string]int{} // how many structs of a package have an option of a name
	all := map[string][]Option{}
	for name := range everyOptions(t) {
		options, err := Options(root, name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = options
		for _, o := range options {
			for _, field := range o.Names {
				with[name[:strings.LastIndex(name, ".")]+" "+field]++
			}
		}
	}
	found := map[string]map[string][]string{} // of each package and field, the defaults
	left := map[string]map[string][]string{}  // and those that no comment has said yet
	for name, options := range all {
		dot := strings.LastIndex(name, ".")
		if found[name[:dot]] == nil {
			found[name[:dot]], left[name[:dot]] = defaultsOf(t, folder(name[:dot])), defaultsOf(t, folder(name[:dot]))
		}
		defaults := found[name[:dot]]
		for _, o := range options {
			for _, field := range o.Names {
				for _, d := range defaults[field] {
					if said(o.Doc, d) {
						seen++
						left[name[:dot]][field] = slices.DeleteFunc(left[name[:dot]][field],
							func(other string) bool { return other == d })
					}
				}
			}
		}
	}
	for dir, fields := range left {
		for field, others := range fields {
			if len(others) > 0 && with[dir+" "+field] > 0 {
				t.Errorf("%s: a default of %s is %v, and no comment of such an option says it", dir, field, others)
			}
		}
	}
	if seen < 25 {
		t.Errorf("only %d defaults were found: the search is broken", seen)
	}
}

// defaultsOf finds cmp.Or(x.Field, …, constant) in a package: by field, the constants.
func defaultsOf(t *testing.T, dir string) map[string][]string {
	files, err := Parse(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || types.ExprString(call.Fun) != "cmp.Or" || len(call.Args) < 2 {
				return true
			}
			field := regexp.MustCompile(`(?:^|\()(?:\w+\.)*o\.([A-Z]\w*)`).FindStringSubmatch(types.ExprString(call.Args[0]))
			if value, ok := constantOf(types.ExprString(call.Args[len(call.Args)-1])); ok && field != nil {
				out[field[1]] = append(out[field[1]], value)
			}
			return true
		})
	}
	return out
}

// constantOf evaluates 30 * time.Second and 10_000.
func constantOf(expr string) (string, bool) {
	units := map[string]time.Duration{"time.Millisecond": time.Millisecond, "time.Second": time.Second,
		"time.Minute": time.Minute, "time.Hour": time.Hour}
	for unit, d := range units {
		if n, ok := strings.CutSuffix(expr, unit); ok {
			n = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(n), "*"))
			if n == "" {
				n = "1"
			}
			v := constant.MakeFromLiteral(n, token.INT, 0)
			if i, exact := constant.Int64Val(v); exact && v.Kind() == constant.Int {
				return (time.Duration(i) * d).String(), true
			}
		}
	}
	if v := constant.MakeFromLiteral(expr, token.INT, 0); v.Kind() == constant.Int {
		return v.ExactString(), true
	}
	return "", false
}

// said reports whether a comment has a value in one of its spellings.
func said(doc, value string) bool {
	spellings := []string{value}
	if d, err := time.ParseDuration(value); err == nil {
		spellings = nil
		for _, u := range []struct {
			of    time.Duration
			words []string
		}{
			{time.Millisecond, []string{"%d ms"}}, {time.Second, []string{"%d s"}},
			{time.Minute, []string{"%d minute", "%d min"}},
			{time.Hour, []string{"%d h", "an hour"}}, {24 * time.Hour, []string{"a day"}},
		} {
			for _, w := range u.words {
				switch {
				case d%u.of != 0 || !strings.Contains(w, "%d") && d != u.of:
				case strings.Contains(w, "%d"):
					spellings = append(spellings, fmt.Sprintf(w, d/u.of))
				default:
					spellings = append(spellings, w)
				}
			}
		}
	} else if len(value) > 3 {
		spellings = append(spellings, value[:len(value)-3]+","+value[len(value)-3:])
	}
	for _, s := range spellings {
		if regexp.MustCompile(`(^|[^\d.,])` + regexp.QuoteMeta(s) + `($|[^\d])`).MatchString(doc) {
			return true
		}
	}
	return false
}
