package entity

import (
	"os"
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// guards lists those in Go: what is written in a file, what is written there instead, and
// the test that must show it.
var guards = []mutation.Row{
	{"an index that lacks items is given as whole", "if m.Of(of.Index.Tag()) != indexrecord.StateComplete {",
		"if m.Of(of.Index.Tag()) == 0 {", "TestIncompleteSaysSo"},
	{"a query for all is not refused", "if !q.Whole || !l.Incomplete {",
		"if l != nil || !q.Whole {",
		"TestIncompleteSaysSo"},
	{"an index is wrong of an item", "return err != nil || !is || text != value",
		`return (err != nil || !is || text != value) && r.Key == ""`,
		"TestNewIndexBesideAnOldProgram"},
	{"the next page begins after a score that was not read", "; !ok || !scored {", "; !ok {",
		"TestForeseenWithoutScores"},
	{"a page with a next one is asked for without scores", `Score != "" || had.More`,
		`Score != ""`, "TestForeseenWithoutScores"},
	{"a builder ends what another builds", "if l.State == indexrecord.StateBuilding && l.Builder == b.Builder {",
		"if l.State == indexrecord.StateBuilding {", "TestBuildersDoNotEndEachOther"},
	{"a writer that does not know an index leaves it complete",
		"if l.State != StateGaps && !slices.Contains(tags, l.Tag) {", "if l.State == 0 {", "TestIncompleteSaysSo"},
	{"a record forgets indexes that this program does not know", "case t.Doubted || changed:\n",
		"case t.Index < 0:\n\t\tcase t.Doubted || changed:\n", "TestNewIndexBesideAnOldProgram"},
	{"a sweep takes what a newer program keeps", "if indexrecord.Formed(record) {",
		`if record != "" || indexrecord.Formed(record) {`, "TestASweepGoesPastNewerForms"},
	{"a sweep stops at what a newer program keeps", ".Limit(int64(over.Items), int64(most))",
		".Limit(0, int64(most))", "TestASweepGoesPastNewerForms"},
	{"a build goes on over what a newer program keeps", "if !indexrecord.Formed(r.Record) {",
		`if r.ID == "" && !indexrecord.Formed("") {`,
		"TestNewerForms"},
	{"marks of a newer form are read", "case len(text) < TokenSize || !strings.Contains(tokens, text[:1]):",
		"case len(text) < TokenSize:", "TestNewerForms"},
	{"a build is not throttled",
		"itemkeys.Pause(ctx, time.Duration(len(page))*time.Second/time.Duration(rate(b.Options.Rate))-time.Since(began))",
		"_, _ = began, itemkeys.Pause",
		"TestABuildKeepsToItsRate"},
	{"a place that no intent has named is noted as known", `if (nowhere || names[t.Tag+"="+t.Value]) == named {`,
		"if names[t.Tag] = nowhere; named {", "TestVersionsApart"},
	{"a doubt is forgotten", "note(t, t.Doubted || it.changes())", "note(t, it.changes())",
		"TestVersionsApart"},
	{"what may be in an index is forgotten", "\tfor t := range s.Traces(it.Members) {\n\t\tnote(t, true)\n\t}\n", "",
		"TestVersionsApart"},
	{"an old program ends what a new one has begun, and says nothing", "if !it.Item.There || !it.changes() {",
		`if !it.Item.There || it.kind != "" {`, "TestVersionsApart"},
	{"a sweep of a prolonged item is a gap", "return it.kind != aging && it.kind != Mending",
		`return it.kind != ""`, "TestVersionsApart"},
	{"what was being written is not built", "if b.Store.CrossSlot && !waits {", `if b.Store.Err != nil && !waits {`,
		"TestVersionsApart"},
	{"a removal that died is forgotten", "elseif over.k ~= 't' and",
		"elseif over.k == 'w' and",
		"TestVersionsApart"},
	{"an intent that was taken over is a new one", "all.Taken = all.Taken || text == Taken || text == takenDeleting",
		"all.Taken = text == Mending+Mending",
		"TestVersionsApart"},
	{"what dead processes have begun is not ended", "if swept || !b.lasts(ctx) {",
		"if swept || round > 0 {", "TestVersionsApart"},
	{"an intent of before a building is a new one", "before := b.Builds && !i.Since(b.Builder)",
		"before := b.Builds && i.Builders == nil", "TestIntentsOfABuild"},
	{"items wait though nothing is built", "b.Builds && !i", "!i",
		"TestIntentsOfABuild"},
	{"an intent does not name the builders", "if not string.find(builders, b, 1, true) then",
		"if false then", "TestIntentsNameTheBuilders"},
	{"a clock that was put back holds up a build", "min(i.First, now)+b", "i.First+b",
		"TestABuildThatWaits"},
	{"what was settled meanwhile is left", "if !written && b.settled(r.Record, lacking) {",
		"if !written && b == nil {", "TestABuildThatWaits"},
	{"bounds in the wrong order are an empty page", "if low > high {",
		"if low > high+math.Inf(1) {",
		"TestBoundsAreChecked"},
	{"NaN is a score", "err != nil || math.IsNaN(f) {\n\t\treturn 0,",
		"err != nil {\n\t\treturn 0,",
		"TestBoundsAreChecked"},
	{"a stream by a field is taken", "if e.Mode == message.Append && !byKey(&e) {",
		`if e.Mode == "" && !byKey(&e) {`,
		"TestEventsCarryThePartsOfTheKey"},
}

// TestGuardMutations: with a guard taken out, a test fails by what it asserts.
func TestGuardMutations(t *testing.T) {
	if os.Getenv(mutated) == "" {
		mutation.Run(t, guards)
	}
}
