package entity

import (
	"os"
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// guards lists those in Go: what is written in a file, what is written there instead, and
// the test that must show it.
var guards = []mutation.Row{
	{"an index that lacks items is given as whole", "marks.go", "if m.of(of.index.tag()) != complete {",
		"if m.of(of.index.tag()) == 0 {", "TestIncompleteSaysSo"},
	{"a query for all is not refused", "list.go", "if !q.Whole || !l.incomplete {", "if l != nil || !q.Whole {",
		"TestIncompleteSaysSo"},
	{"an index is wrong of an item", "list.go", "if belongs {\n", "if belongs || true {\n",
		"TestNewIndexBesideAnOldProgram"},
	{"a builder ends what another builds", "indexes.go", "if l.state == building && l.builder == b.builder {",
		"if l.state == building {", "TestBuildersDoNotEndEachOther"},
	{"a writer that does not know an index leaves it complete", "marks.go",
		"if l.state != gaps && !slices.Contains(tags, l.tag) {", "if l.state == 0 {", "TestIncompleteSaysSo"},
	{"a record forgets indexes that this program does not know", "record.go", "case t.doubted || changed:\n",
		"case t.index < 0:\n\t\tcase t.doubted || changed:\n", "TestNewIndexBesideAnOldProgram"},
	{"a sweep takes what a newer program keeps", "sweep.go", "if formed(record) {", "if true {",
		"TestASweepGoesPastNewerForms"},
	{"a sweep stops at what a newer program keeps", "sweep.go", ".Limit(int64(over.items), int64(most))",
		".Limit(0, int64(most))", "TestASweepGoesPastNewerForms"},
	{"a build goes on over what a newer program keeps", "indexes.go", "if !formed(r.record) {", `if r.id == "" {`,
		"TestNewerForms"},
	{"marks of a newer form are read", "marks.go", "case len(text) < tokenSize || !strings.Contains(tokens, text[:1]):",
		"case len(text) < tokenSize:", "TestNewerForms"},
	{"a build is not throttled", "indexes.go",
		"pause(ctx, time.Duration(len(page))*time.Second/time.Duration(b.options.rate())-time.Since(began))", "_ = began",
		"TestABuildKeepsToItsRate"},
	{"a place that no intent has named is noted as known", "apart_intent.go",
		`if (nowhere || names[t.tag+"="+t.value]) == named {`, "if names[t.tag] = nowhere; named {", "TestVersionsApart"},
	{"a doubt is forgotten", "apart_intent.go", "note(t, t.doubted || it.changes())", "note(t, it.changes())",
		"TestVersionsApart"},
	{"what may be in an index is forgotten", "apart_intent.go",
		"\tfor t := range s.traces(it.members) {\n\t\tnote(t, true)\n\t}\n", "", "TestVersionsApart"},
	{"an old program ends what a new one has begun, and says nothing", "apart_sweep.go",
		"if !it.item.there || !it.changes() {", `if !it.item.there || it.kind != "" {`, "TestVersionsApart"},
	{"a sweep of a prolonged item is a gap", "apart_intent.go", "return it.kind != aging && it.kind != mending",
		`return it.kind != ""`, "TestVersionsApart"},
	{"what was being written is not built", "index_build.go", "if b.store.apart && !waits {",
		`if b.store.err != nil && !waits {`, "TestVersionsApart"},
	{"a removal that died is forgotten", "apart_due.lua", "elseif over.k ~= 't' and", "elseif over.k == 'w' and",
		"TestVersionsApart"},
	{"an intent that was taken over is a new one", "index_build.go",
		"all.taken = all.taken || text == taken || text == takenDeleting", "all.taken = text == mending+mending",
		"TestVersionsApart"},
	{"what dead processes have begun is not ended", "index_build.go", "if swept || !b.lasts(ctx) {",
		"if swept || round > 0 {", "TestVersionsApart"},
	{"an intent of before a building is a new one", "index_build.go", "before := b.builds && !i.since(b.builder)",
		"before := b.builds && i.builders == nil", "TestIntentsOfABuild"},
	{"items wait though nothing is built", "index_build.go", "b.builds && !i", "!i", "TestIntentsOfABuild"},
	{"an intent does not name the builders", "apart_entry.lua", "if not string.find(builders, b, 1, true) then",
		"if false then", "TestIntentsNameTheBuilders"},
	{"a clock that was put back holds up a build", "index_build.go", "min(i.first, now)+b", "i.first+b",
		"TestABuildThatWaits"},
	{"what was settled meanwhile is left", "index_build.go", "if !written && b.settled(r.record, lacking) {",
		"if !written && b == nil {", "TestABuildThatWaits"},
	{"an intent may be in an intent", "moved.go", `name == "!" && depth == 0`, `name == "!"`, "TestMovedEntries"},
	{"bounds in the wrong order are an empty page", "query.go", "if low > high {", "if low > high+math.Inf(1) {",
		"TestBoundsAreChecked"},
	{"NaN is a score", "query.go", "err != nil || math.IsNaN(f) {\n\t\treturn 0,", "err != nil {\n\t\treturn 0,",
		"TestBoundsAreChecked"},
	{"a stream by a field is taken", "pieces.go", "if e.Mode == Append && !e.fixed() {", `if e.Mode == "" && !e.fixed() {`,
		"TestEventsCarryThePartsOfTheKey"},
}

// TestGuardMutations: with a guard taken out, a test fails by what it asserts.
func TestGuardMutations(t *testing.T) {
	if os.Getenv(mutated) == "" {
		mutation.Run(t, guards)
	}
}
