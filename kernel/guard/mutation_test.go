package guard

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// mutations lists the guards of this package: what is written in a file, what is
// written there instead, and the test that must show it.
var mutations = []mutation.Row{
	{"a construct's keys are for all", "return (its || k.Entry.Construct.InStep()) && !slices.Contains(sent, command)",
		"return its && false && sent != nil", "TestNoCommandWritesByHand"},
	{"every script may write a construct's keys", "return lua.Made(sum) || slices.Contains(s[sum], key)",
		"return lua.Made(sum) || key != nil || slices.Contains(s[sum], key)", "TestScriptsOfConstructs"},
	{"the scripts of constructs may not", "return lua.Made(sum) ||", "return false && lua.Made(sum) ||",
		"TestScriptsOfConstructs"},
	{"a function may", "default:\n\t\treturn false", "default:\n\t\treturn true", "TestScriptsOfConstructs"},
	{"dangerous commands pass", `if why := dangerous(c.name, args); why != "" {`,
		"if why := dangerous(c.name, args); false {", "TestCommands"},
	{"COPY reaches another database", `if name == "copy" &&`, `if name == "nothing" &&`, "TestCommands"},
	{"undeclared keys pass", "v.add(Undeclared, args, key, nil, g.proposes.detail(key))", "_ = ch",
		"TestEveryKeyIsFound"},
	{"SORT looks up what it likes", "p, err := pattern.Glob(escapes.Replace(before) + \"*\" + escapes.Replace(after))\n",
		"p, err := pattern.Glob(before[:0] + \"*\" + after[:0])\n", "TestCommands"},
	{"undeclared channels pass", "case ch == nil:\n", "case false && ch == nil:\n", "TestCommands"},
	{"all announce for a construct", "case form.sends && g.inner[ch] != nil:",
		"case false && g.inner[ch] != nil:", "TestCommands"},
	{"only the first key of many is seen", "visit(at)\n", "visit(at)\n\t\tbreak\n", "TestCommands"},
	{"keys with a number before them are not seen", "if count <= 0 {", "if true {", "TestEveryKeyIsFound"},
	{"keys with a word before them are not seen", "if first = s.find(args); first < 0 {",
		"if first = s.find(args); true {", "TestEveryKeyIsFound"},
	{"a type does not count", `if kind := c.kind(i); kind != "" && kind != entry.Kind {`,
		`if kind := c.kind(i); false && kind != entry.Kind {`, "TestCommands"},
	{"a lost TTL does not count", "case said == 0 && ttl.Policy == keyspace.TTLExpires:",
		"case false && said == 0:", "TestCommands"},
	{"GETEX PERSIST keeps the TTL", `if has(options, "PERSIST") {`, "if false {", "TestCheckWithoutAServer"},
	{"nothing is asked afterwards", "g.answers(v, results[n:])\n", "", "TestCommands"},
	{"Check settles what it cannot know", "v.unsettled(\"ask PTTL and TYPE of it afterwards\")\n", "",
		"TestCheckAndTheClientAgree"},
	{"questions come in the middle of a transaction", "if d.inMulti {\n", "if false {\n",
		"TestPipelinesAndTransactions"},
}

// TestMutations: with a guard taken out, a test fails by what it asserts.
func TestMutations(t *testing.T) { mutation.Run(t, mutations) }
