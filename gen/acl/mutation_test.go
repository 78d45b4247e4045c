package acl_test

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// mutations lists the guards of this package: what is written in a file, what is
// written there instead, and the test that must show it.
var mutations = []mutation.Row{
	{"readers write", "return \"%R~\" + g.Glob", "return \"~\" + g.Glob", "TestDryRun"},
	{"what was granted before stays", `out := []string{"resetkeys", "resetchannels", "-@all"}`,
		`out := []string{"-@all"}`, "TestDiffOnServers"},
	{"selectors stay", `"clearselectors", "sanitize-payload"`, `"sanitize-payload"`, "TestDiffOnServers"},
	{"a user without a password is as declared", `{"nopass", Change{user, false, "nopass", true}},`, "",
		"TestDiffBeyondRights"},
	{"a user that is off is as declared", `{"off", Change{user, true, "on", true}},`, "",
		"TestDiffBeyondRights"},
	{"unchecked dumps are as declared",
		`{"skip-sanitize-payload", Change{user, false, "skip-sanitize-payload", false}},`, "",
		"TestDiffBeyondRights"},
	{"selectors are as declared", "if a.Selectors > 0 {", "if false {", "TestDiffBeyondRights"},
	{"a glob of nothing but narrower patterns is granted", "if r != locate && !b.reach.of(glob).reaches(t) {",
		"if false {", "TestAvoided"},
	{"a glob says less than its pattern", "return []string{\"?*\"}", "return []string{\"?\"}",
		"TestGlobsCoverTheirPattern"},
	{"a word of a glob is not escaped", "b.WriteByte('\\\\')\n", "", "TestGlobsCoverTheirPattern"},
	{"workers cannot settle", "{reads: write, repairs: write, shares: true}",
		"{reads: read, repairs: write, shares: true}", "TestRoles"},
	{"consumers cannot acknowledge", "case e.Construct == keyspace.Plain && len(e.Groups) > 0:", "case false:",
		"TestRoles"},
	{"those that run a script may not",
		"append([]string{e.Owner}, e.Readers...) {\n\t\tu := b.user(name, e.Name)\n\t\tif u == nil {\n\t\t\tcontinue",
		"[]string{e.Owner} {\n\t\tu := b.user(name, e.Name)\n\t\tif u == nil {\n\t\t\tcontinue", "TestDryRun"},
	{"names that could end a line are users", `if strings.ContainsFunc(name, func(r rune) bool {`,
		`if false && strings.ContainsFunc(name, func(r rune) bool {`, "TestHostileNames"},
	{"a component takes over the default user", "|| keyspace.ReservedUser(name) && name != b.repairs {",
		"{", "TestReservedNames"},
	{"what is beyond the declaration is not told", "for _, h := range to.hits {",
		"for _, h := range to.hits[:0] {", "TestExcesses"},
	{"a warning names a command that reads where one writes", "effects(kind, write)", "effects(kind, false)",
		"TestGenerated"},
	{"pressure may not announce what it deletes", "\t\tb.emitsAs(e, name)\n\t}\n}\n\n// repairer",
		"\t}\n}\n\n// repairer", "TestGenerated"},
	{"owners of scripts may not do what the scripts do", "if _, k := b.ks.Lookup(name); k != nil {",
		"if _, k := b.ks.Lookup(name); k != nil && false {", "TestGenerated"},
	{"readers may not hear a pattern", "\t\t\tb.listens(c, r)\n", "", "TestReadersHearAllOfAPattern"},
	{"what is alike is compared again", "shared := min(len(text), len(glob)-1)", "shared := 0",
		"TestManyAlike"},
	{"a whole name meets all that begin with it", "; whole {", "; false {", "TestManyAlike"},
	{"names that belong to nothing are not told", "if to.stray != nil {", "if false {", "TestExcesses"},
}

// TestMutations: with a guard taken out, a test fails by what it asserts.
func TestMutations(t *testing.T) { mutation.Run(t, mutations) }
