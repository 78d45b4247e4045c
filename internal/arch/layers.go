package arch

import (
	"fmt"
	"go/doc"
	"slices"
	"strings"
)

// Layer represents a row of the table of layers: its packages import packages of their own row and of the
// rows before it, never of a row after it.
type Layer struct {
	Name     string
	Packages []Package
	Knows    string
}

// Package represents a package of the library, and the packages of the library that it may import. A new
// package, or a new import, is a decision: it is written here.
type Package struct {
	Dir     string
	Imports []string
}

var (
	engine   = []string{"keyspace/scalar", "keyspace/pattern", "keyspace/match"}
	declared = append([]string{"keyspace", "keyspace/route", "keyspace/schedule", "keyspace/finding"}, engine...)
	domain   = []string{"cache", "counter", "entity", "event", "keyspace/key", "limit", "lock", "entity/pressure", "queue",
		"ranking", "typed", "value"}
)

// and returns a list with more names.
func and(list []string, more ...string) []string { return append(slices.Clip(list), more...) }

// Layers lists the packages of the library, from what knows least to what knows most. The root of the
// module is ".".
var Layers = []Layer{
	{"bytes", []Package{
		{"connect/slot", nil},
		{"internal/built", nil},
		{"keyspace/finding", []string{"internal/jsonbound"}},
		{"source", nil},
		{"connect/topology", []string{"source"}},
		{"keyspace/internal/automaton", nil},
		{"keyspace/scalar", []string{"internal/typo", "keyspace/internal/automaton"}},
		{"keyspace/pattern", []string{"keyspace/internal/automaton", "keyspace/scalar", "connect/slot"}},
		{"keyspace/match", []string{"keyspace/internal/automaton", "keyspace/scalar", "keyspace/pattern"}},
		{"keyspace/group", []string{"keyspace/scalar"}},
		{"keyspace/route", []string{"internal/typo"}},
		{"keyspace/schedule", nil},
		{"keyspace/key", []string{"keyspace/pattern", "keyspace/scalar"}},
		{"value", []string{"keyspace/key", "keyspace/scalar"}},
		{"internal/typo", nil},
		{"internal/layout", nil},
		{"internal/jsonbound", nil},
	}, "patterns, findings, facts of a key, codecs: no YAML, no files, no clock, no network"},
	{"what should be", []Package{
		{"keyspace", and(engine, "keyspace/finding", "keyspace/route", "keyspace/schedule")},
		{"keyspace/load/internal/node", []string{"keyspace/finding", "internal/typo", "keyspace", "keyspace/scalar"}},
		{"keyspace/load/internal/scope", []string{"keyspace/finding", "keyspace", "keyspace/load/internal/node",
			"keyspace/pattern", "keyspace/scalar"}},
		{"keyspace/load/internal/construct", []string{"keyspace", "keyspace/load/internal/node",
			"keyspace/load/internal/scope", "keyspace/pattern", "keyspace/scalar"}},
		{"keyspace/load/internal/migration", []string{"keyspace", "keyspace/load/internal/node",
			"keyspace/load/internal/scope", "keyspace/route", "keyspace/scalar"}},
		{"keyspace/load", []string{"keyspace/finding", "keyspace", "keyspace/load/internal/construct",
			"keyspace/load/internal/migration", "keyspace/load/internal/node", "keyspace/load/internal/scope",
			"keyspace/pattern", "keyspace/scalar", "keyspace/schedule"}},
		{"keyspace/format", []string{"keyspace/finding"}},
		{"keyspace/schema", nil},
		{"keyspace/lint", and(declared, "connect/slot")},
		{"keyspace/breaking/internal/pairs", []string{"keyspace", "keyspace/pattern"}},
		{"keyspace/breaking/internal/stored", []string{"keyspace/finding", "keyspace", "keyspace/breaking/internal/pairs",
			"keyspace/internal/automaton", "keyspace/pattern", "keyspace/scalar"}},
		{"keyspace/breaking/diff", []string{"keyspace", "keyspace/breaking/internal/pairs",
			"keyspace/breaking/internal/stored", "keyspace/pattern", "keyspace/scalar"}},
		{"keyspace/breaking", []string{"keyspace/finding", "keyspace", "keyspace/breaking/internal/pairs",
			"keyspace/breaking/internal/stored", "keyspace/pattern", "keyspace/scalar"}},
		{"keyspace/selection", and(declared, "internal/typo")},
		{"keyspace/parts", declared},
	}, "the declaration, from an `fs.FS`"},
	{"what is made of it", []Package{
		{"gen", nil},
		{"gen/golang/internal/lines", nil},
		{"gen/golang", and(declared, "gen", "gen/golang/internal/lines", "keyspace/parts")},
		{"gen/portable", and(declared, "gen")},
		{"gen/typescript", and(declared, "gen", "gen/portable")},
		{"gen/python", and(declared, "gen", "gen/portable")},
		{"gen/conformance", and(declared, "gen", "gen/portable")},
		{"gen/markdown", and(declared, "gen", "internal/layout")},
		{"gen/acl", and(declared, "gen")},
		{"gen/prometheus", and(declared, "gen")},
		{"gen/grafana", and(declared, "gen")},
	}, "a declaration; returns files"},
	{"files as records", []Package{
		{"migrate/record/internal/decimal", nil},
		{"migrate/record/internal/twice", nil},
		{"migrate/record/internal/jsontext", []string{"migrate/record/internal/decimal"}},
		{"migrate/record/fault", nil},
		{"migrate/record/internal/scan", []string{"migrate/record/fault", "migrate/record/internal/jsontext"}},
		{"migrate/record/cover", []string{"keyspace", "keyspace/route", "migrate/record/fault"}},
		{"migrate/record/internal/datum", []string{"keyspace/key", "keyspace/route", "keyspace/scalar",
			"migrate/record/internal/decimal", "migrate/record/internal/jsontext"}},
		{"migrate/record/internal/equal", []string{"keyspace", "keyspace/scalar", "migrate/record/internal/datum",
			"migrate/record/internal/jsontext"}},
		{"migrate/record", []string{"keyspace", "keyspace/route", "keyspace/scalar", "migrate/record/cover",
			"migrate/record/fault", "migrate/record/internal/datum", "migrate/record/internal/equal",
			"migrate/record/internal/jsontext", "migrate/record/internal/scan", "migrate/record/internal/twice"}},
		{"migrate/phase", nil},
	}, "a declaration and JSON documents, as streams; phases and epochs, as values"},
	{"the difference", []Package{
		{"audit", and(declared, "source", "connect/slot", "internal/typo", "keyspace/group")},
		{"apply/plan", and(declared, "internal/jsonbound", "keyspace/parts", "keyspace/selection", "source")},
		{"infer/internal/class", nil},
		{"infer/internal/content", []string{"infer/internal/class", "keyspace/scalar", "source"}},
		{"infer/internal/tree", []string{"infer/internal/class", "infer/internal/content", "keyspace/group", "keyspace/match",
			"source"}},
		{"infer/internal/path", []string{"infer/internal/class", "infer/internal/tree", "infer/noun", "keyspace",
			"keyspace/group", "source"}},
		{"infer/internal/splice", []string{"keyspace/finding"}},
		{"infer", []string{"keyspace/finding", "infer/internal/class", "infer/internal/content", "infer/internal/path",
			"infer/internal/splice", "infer/internal/tree", "infer/page", "infer/software", "keyspace", "keyspace/group",
			"keyspace/lint", "keyspace/load", "keyspace/match", "keyspace/pattern", "source"}},
		{"infer/files", and(declared, "infer/noun", "keyspace/lint", "keyspace/route", "migrate/record")},
		{"infer/noun", nil},
		{"infer/page", []string{"infer/page/internal/markdown", "infer/page/internal/mention", "infer/page/internal/program",
			"infer/page/internal/regex", "infer/page/internal/shape", "infer/page/internal/wording", "keyspace/pattern",
			"keyspace/scalar"}},
		{"infer/page/internal/markdown", []string{"infer/page/internal/regex"}},
		{"infer/page/internal/mention", []string{"infer/page/internal/shape"}},
		{"infer/page/internal/program", []string{"infer/page/internal/markdown", "infer/page/internal/mention",
			"infer/page/internal/regex", "infer/page/internal/shape", "infer/page/internal/wording"}},
		{"infer/page/internal/regex", nil},
		{"infer/page/internal/shape", []string{"infer/noun", "infer/page/internal/regex", "keyspace/pattern",
			"keyspace/scalar"}},
		{"infer/page/internal/wording", []string{"infer/page/internal/markdown", "infer/page/internal/regex"}},
		{"infer/software", and(engine, "source")},
	}, "a declaration and a source of keys, any source"},
	{"the edge", []Package{
		{"internal/wire", nil},
		{"internal/filelock", nil},
		{"internal/history", nil},
		{"internal/history/chunk", []string{"internal/history"}},
		{"internal/history/link", []string{"internal/history", "internal/history/chunk"}},
		{"connect", []string{"internal/wire"}},
		{"source/server/allowed", nil},
		{"source/server/checkpoint", []string{"connect/topology"}},
		{"source/server/request", []string{"source", "source/server/checkpoint"}},
		{"source/server/internal/link", []string{"internal/wire", "connect", "connect/topology", "source",
			"source/server/allowed"}},
		{"source/server/internal/fleet", []string{"internal/wire", "connect", "connect/slot", "connect/topology", "source",
			"source/server/internal/link", "source/server/request"}},
		{"source/server/internal/scan", []string{"internal/wire", "connect", "connect/slot", "connect/topology", "source",
			"source/server/checkpoint", "source/server/internal/fleet", "source/server/internal/link", "source/server/request"}},
		{"source/server/internal/contents", []string{"internal/wire", "connect", "connect/topology", "source",
			"source/rdb/dump", "source/server/internal/fleet", "source/server/internal/link", "source/server/internal/scan",
			"source/server/request"}},
		{"source/server/internal/replica", []string{"internal/wire", "connect"}},
		{"source/server/look", []string{"internal/wire", "connect", "source", "source/server/allowed",
			"source/server/internal/fleet", "source/server/internal/link", "source/server/request"}},
		{"source/server/examine", []string{"internal/wire", "connect", "connect/topology", "source/server/internal/fleet",
			"source/server/internal/link"}},
		{"source/server", []string{"internal/wire", "connect", "connect/slot", "connect/topology", "source", "source/rdb",
			"source/server/allowed", "source/server/checkpoint", "source/server/internal/contents",
			"source/server/internal/fleet", "source/server/internal/link", "source/server/internal/replica",
			"source/server/internal/scan", "source/server/request"}},
		{"audit/doctor", []string{"keyspace/finding", "source/server/examine", "connect/topology"}},
		{"source/aof", nil},
		{"source/rdb/internal/crc", nil},
		{"source/rdb/fault", nil},
		{"source/rdb/internal/window", []string{"source", "source/rdb/fault", "source/rdb/internal/crc"}},
		{"source/rdb/internal/packed", nil},
		{"source/rdb/internal/layout", []string{"source"}},
		{"source/rdb/internal/element", []string{"source", "source/rdb/fault", "source/rdb/internal/layout",
			"source/rdb/internal/packed", "source/rdb/internal/window"}},
		{"source/rdb/dump", []string{"source", "source/rdb/fault", "source/rdb/internal/crc", "source/rdb/internal/element",
			"source/rdb/internal/layout", "source/rdb/internal/packed", "source/rdb/internal/window"}},
		{"source/rdb/write", []string{"source", "source/rdb/fault", "source/rdb/internal/crc", "source/rdb/internal/layout",
			"source/rdb/internal/packed", "source/rdb/internal/window"}},
		{"source/rdb", []string{"source", "source/rdb/fault", "source/rdb/internal/element", "source/rdb/internal/layout",
			"source/rdb/internal/packed", "source/rdb/internal/window"}},
		{"source/archive", []string{"source", "source/rdb/dump"}},
		{"source/archive/export", []string{"source", "source/archive", "source/rdb", "source/rdb/dump", "source/rdb/write"}},
		{"source/compare", []string{"source", "source/rdb", "source/rdb/dump", "source/archive"}},
		{"keywrighttest", []string{"internal/filelock", "internal/wire", "connect/slot"}},
	}, "the network, bytes of others, the clock; not the declaration"},
	{"the runtime", []Package{
		{"internal/lua", nil},
		{"kernel/notice", nil},
		{"kernel/pubsub", nil},
		{"kernel/health", []string{"connect/topology"}},
		{"kernel/memory", []string{"connect/topology"}},
		{"kernel/internal/conn", []string{"kernel/notice", "connect", "connect/slot", "internal/coalesce", "internal/wire"}},
		{"kernel", []string{"kernel/notice", "internal/lua", "connect", "kernel/health", "kernel/internal/conn",
			"kernel/memory", "kernel/pubsub", "connect/slot", "connect/topology", "internal/coalesce", "internal/wire"}},
		{".", []string{"kernel", "kernel/notice"}},
		{"internal/coalesce", nil},
		{"internal/breaker", nil},
		{"internal/lease", []string{".", "kernel", "kernel/notice", "internal/lua"}},
		{"typed", []string{".", "kernel", "internal/lua", "value"}},
		{"kernel/guard", and(declared, "keyspace/lint", "internal/lua")},
	}, "rueidis, and what generated code passes"},
	{"constructs", []Package{
		{"lock", []string{".", "kernel", "kernel/notice", "internal/lua", "connect/slot", "internal/coalesce"}},
		{"queue/internal/stored", []string{"kernel"}},
		{"queue/internal/send", []string{".", "kernel", "internal/coalesce"}},
		{"queue", []string{".", "kernel", "kernel/notice", "internal/lua", "connect/slot", "value", "internal/coalesce",
			"queue/internal/send", "queue/internal/stored"}},
		{"cache", []string{".", "kernel", "kernel/notice", "internal/lua", "connect/slot", "typed", "value",
			"internal/breaker", "internal/lease"}},
		{"event", []string{".", "kernel", "kernel/notice", "internal/lua", "value"}},
		{"entity/indexrecord", nil},
		{"entity/maintenance", nil},
		{"entity/message", []string{"value"}},
		{"entity/failure", nil},
		{"entity/internal/scripts", []string{".", "kernel", "internal/lua"}},
		{"entity/internal/itemkeys", []string{".", "kernel", "entity/failure", "entity/indexrecord",
			"entity/internal/scripts", "entity/message", "connect/slot", "value"}},
		{"entity/internal/crossslot", []string{".", "kernel", "entity/indexrecord", "entity/internal/itemkeys",
			"entity/maintenance", "internal/lease"}},
		{"entity/internal/paging", []string{".", "kernel", "entity/indexrecord", "entity/internal/itemkeys",
			"entity/internal/crossslot"}},
		{"entity/internal/writer", []string{".", "kernel", "entity/internal/itemkeys", "entity/internal/crossslot",
			"entity/internal/scripts", "entity/message"}},
		{"entity/internal/upkeep", []string{".", "kernel", "entity/indexrecord", "entity/internal/itemkeys",
			"entity/internal/crossslot", "entity/maintenance", "internal/lease"}},
		{"entity", []string{".", "kernel", "value", "entity/failure", "entity/indexrecord", "entity/internal/itemkeys",
			"entity/internal/crossslot", "entity/internal/paging", "entity/internal/writer", "entity/internal/upkeep",
			"entity/maintenance", "entity/message"}},
		{"ranking", []string{".", "kernel", "internal/lua", "typed", "value", "connect/slot"}},
		{"counter", []string{".", "kernel", "internal/lua", "typed", "value", "connect/slot"}},
		{"limit", []string{".", "kernel", "internal/lua"}},
		{"entity/pressure", []string{".", "kernel", "connect/slot", "connect/topology", "internal/lease"}},
		{"value/seal", []string{".", "internal/filelock"}},
		{"fallback", []string{".", "kernel", "internal/breaker", "entity"}},
		{"fallback/storetest", []string{"fallback"}},
		{"bind", and(declared, ".", "entity", "kernel", "keyspace/parts", "lock", "queue", "ranking", "typed", "value")},
		{"value/seal/reseal", and(declared, ".", "kernel", "internal/lua", "bind", "value/seal", "source")},
	}, "the runtime"},
	{"changes", []Package{
		{"apply/wait", nil},
		{"apply/journal", []string{"internal/filelock", "internal/jsonbound"}},
		{"apply/writelease", []string{".", "internal/lease", "keyspace/selection"}},
		{"apply/content", []string{"source/compare", "entity/indexrecord", "apply/plan", "source", "source/archive",
			"source/rdb/dump"}},
		{"apply/restore", []string{".", "apply/content", "apply/journal", "apply/wait", "apply/writelease", "source/compare",
			"kernel", "apply/plan", "connect/slot", "source", "source/archive", "source/rdb/dump", "connect/topology"}},
		{"apply/copier", []string{"apply/content", "apply/restore", "apply/wait", "source/compare", "kernel", "apply/plan",
			"source", "source/archive"}},
		{"apply", []string{"apply/content", "apply/journal", "apply/restore", "apply/wait", ".", "source/compare", "entity",
			"entity/indexrecord", "keyspace/finding", "internal/filelock", "internal/jsonbound", "internal/lua", "kernel",
			"keyspace/selection", "apply/plan", "connect/slot", "source", "source/archive", "source/rdb/dump"}},
		{"migrate/step", []string{"migrate/record"}},
		{"migrate/documents", []string{".", "keyspace", "migrate/phase", "migrate/record"}},
		{"migrate/internal/disk", []string{"internal/filelock", "keyspace/route", "migrate/phase", "migrate/record"}},
		{"migrate/internal/digests", []string{"migrate/record"}},
		{"migrate/internal/marks", []string{"internal/filelock", "migrate/internal/disk", "migrate/record"}},
		{"migrate/internal/sources", []string{".", "keyspace", "keyspace/route", "migrate/documents",
			"migrate/internal/disk", "migrate/internal/marks", "migrate/phase", "migrate/record", "value"}},
		{"migrate/internal/store", []string{".", "kernel", "internal/lua", "keyspace", "migrate/documents",
			"migrate/internal/sources", "migrate/phase", "migrate/record", "migrate/step"}},
		{"migrate/internal/sides", []string{"kernel", "keyspace", "migrate/documents", "migrate/internal/digests",
			"migrate/internal/disk", "migrate/internal/sources", "migrate/internal/store", "migrate/record", "migrate/step"}},
		{"migrate/internal/shadow", []string{"migrate/internal/disk", "migrate/phase", "migrate/record", "migrate/step"}},
		{"migrate/internal/members", []string{"internal/filelock", "migrate/internal/disk", "migrate/internal/marks",
			"migrate/record"}},
		{"migrate/internal/verify", []string{"migrate/internal/disk", "migrate/internal/shadow", "migrate/internal/sides",
			"migrate/internal/sources", "migrate/internal/store", "migrate/phase", "migrate/record", "migrate/step"}},
		{"migrate/internal/export", []string{"migrate/internal/disk", "migrate/internal/sides",
			"migrate/internal/sources", "migrate/internal/store", "migrate/record", "migrate/step"}},
		{"migrate/internal/fit", []string{"keyspace", "migrate/documents", "migrate/internal/store", "migrate/record",
			"connect/topology"}},
		{"migrate", []string{".", "internal/filelock", "keyspace", "migrate/documents", "migrate/internal/disk",
			"migrate/internal/export", "migrate/internal/fit", "migrate/internal/marks", "migrate/internal/members",
			"migrate/internal/shadow", "migrate/internal/sides", "migrate/internal/sources", "migrate/internal/store",
			"migrate/internal/verify", "migrate/phase", "migrate/record", "migrate/step"}},
		{"migrate/repository", []string{".", "migrate", "migrate/record", "value"}},
	}, "the runtime, plans, the declaration, and files"},
	{"of the project itself", []Package{
		{"internal/arch", nil},
		{"internal/arch/measures", []string{"internal/arch"}},
		{"internal/pages", []string{"internal/arch"}},
		{"internal/pages/write", []string{"internal/pages"}},
		{"internal/everykeys", and(domain, ".")},
		{"internal/tenants", and(domain, ".")},
		{"internal/movedkeys", []string{".", "keyspace/key", "migrate", "migrate/repository", "typed", "value"}},
		{"internal/mutation", []string{"internal/gate"}},
		{"internal/harm", []string{"internal/expect", "internal/gate", "keywrighttest"}},
		{"internal/gate", nil},
		{"internal/expect", nil},
		{"internal/servertest", []string{".", "connect", "internal/expect", "internal/gate", "keywrighttest", "value/seal"}},
		{"apply/internal/applytest", []string{".", "apply/journal", "apply/restore", "connect", "internal/expect", "kernel",
			"source", "source/archive", "source/server"}},
		{"internal/declared", and(declared, "gen", "internal/expect", "keyspace/load", "migrate/record")},
		{"internal/history/historytest", []string{"internal/history"}},
	}, "its own files"},
}

// Modules lists the folders with modules of their own, in the order of the table.
var Modules = []string{"cmd/keywright", "cmd/keywrightd", "cmd/release", "metrics", "tracing", "fallback/bbolt",
	"bench", "examples"}

// Rank returns the row of each package, and what it may import.
func Rank() (row map[string]int, allowed map[string][]string) {
	row, allowed = map[string]int{}, map[string][]string{}
	for i, layer := range Layers {
		for _, p := range layer.Packages {
			row[p.Dir], allowed[p.Dir] = i, p.Imports
		}
	}
	return row, allowed
}

// Folder returns the folder of an imported package of the library, "." for its root.
func Folder(path string) (dir string, ours bool) {
	if path == Module {
		return ".", true
	}
	return strings.CutPrefix(path, Module+"/")
}

// Upward returns the imports that go from a package to one of a later row.
func Upward(files []File) []string {
	row, _ := Rank()
	seen := map[string]bool{}
	for _, f := range files {
		if f.Test || Within(f.Dir, OwnModules...) {
			continue
		}
		for _, path := range f.Imports {
			if dir, ours := Folder(path); ours && row[dir] > row[f.Dir] {
				seen[f.Dir+" imports "+dir] = true
			}
		}
	}
	return sorted(seen)
}

func sorted(set map[string]bool) []string {
	var out []string
	for s := range set {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// Table returns the layers as a table of Markdown: what CONTRIBUTING.md shows.
func Table() string {
	var b strings.Builder
	b.WriteString("| Layer | Packages | Knows |\n|---|---|---|\n")
	for i, l := range Layers {
		if i == len(Layers)-1 {
			fmt.Fprintf(&b, "| modules of their own | `%s` | everything; nothing imports them |\n",
				strings.Join(Modules, "`, `"))
		}
		var names []string
		for _, p := range l.Packages {
			if p.Dir == "." {
				names = append(names, "`keywright` (the root)")
			} else {
				names = append(names, "`"+p.Dir+"`")
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", l.Name, strings.Join(names, ", "), l.Knows)
	}
	return b.String()
}

// Map returns the packages of the library as a table of Markdown, each with what its comment says first and
// with what it may import: what ARCHITECTURE.md shows.
func Map(files []File) string {
	says := map[string]string{}
	for _, f := range files {
		if !f.Test && f.AST.Doc != nil {
			says[f.Dir] = first(f.AST.Doc.Text())
		}
	}
	var b strings.Builder
	b.WriteString("| Package | Is, or does | Imports |\n|---|---|---|\n")
	for _, l := range Layers {
		if l.Name == "of the project itself" {
			continue
		}
		for _, p := range l.Packages {
			name, imports := p.Dir, "–"
			if name == "." {
				name = "keywright"
			}
			if len(p.Imports) > 0 {
				imports = strings.ReplaceAll(strings.Join(p.Imports, ", "), ".,", "keywright,")
				if imports == "." {
					imports = "keywright"
				}
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, says[p.Dir], imports)
		}
	}
	return b.String()
}

// first returns the first sentence of the comment of a package without "Package x", for a cell of a table.
func first(text string) string {
	text = strings.Join(strings.Fields(new(doc.Package).Synopsis(text)), " ")
	if words := strings.SplitN(text, " ", 3); len(words) == 3 && words[0] == "Package" {
		text = words[2]
	}
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;").Replace(strings.TrimSuffix(text, "."))
}
