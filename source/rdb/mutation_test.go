package rdb_test

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// TestMutations: with a guard taken out, a test fails by what it asserts.
func TestMutations(t *testing.T) {
	const ceiling, lies, long = "TestNoSnapshotTakesMoreMemoryThanTheCeiling", "TestLyingLengths", "TestContentsOfMuch"
	mutation.Run(t, []mutation.Row{
		{"templates have no end", "opcode.go", "r.templated > maxTemplates {", "false {", ceiling},
		{"a template costs nothing", "opcode.go", "!r.fits(templateCost)", "!r.fits(0)", ceiling},
		{"names of a template cost nothing", "opcode.go", "!r.fits(int(min(t.Size, maxTemplates)) + nameCost)",
			"!r.fits(int(min(t.Size, maxTemplates)))", ceiling},
		{"a template of its own has no end", "layout.go", "size > maxTemplates {", "false {",
			"TestATemplateOfItsOwnIsBounded"},
		{"values of a batch have no end", "reader.go", "if r.values.bytes > maxArena {", "if false {", "TestABatchIsBounded"},
		{"a large arena is kept", "value.go", "if cap(s.chunk) > maxArena {", "if false {", "TestAnArenaIsGivenBack"},
		{"auxiliary fields have no end", "opcode.go", "if read == nil && len(r.aux) == maxAux {", "if false {", ceiling},
		{"names of a batch have no end", "reader.go", "n > 0 && n+len(r.nameSpace) > maxNames", "n < 0", ceiling},
		{"a value has no end", "value.go", "return s.bytes-s.began >= maxValue", "return false", ceiling},
		{"a name has no end", "reader.go", "if t.Size > window.MaxContiguous {", "if false {", lies},
		{"a text becomes what it claims", "internal/window/text.go", "|| size/maxRatio > stored", "", lies},
		{"a packed value has the size it claims", "packed.go", "form.Size != nil && form.Size(h) != t.Size", "false", lies},
		{"a file has more keys than it says", "opcode.go", "s.sum < s.of || s.left == 0", "s.sum < s.of",
			"TestSampleOfDatabases"},
		{"a checksum is not compared", "opcode.go", "got != 0 && got != want", "false", "TestChecksum"},
		{"a packed value is unpacked whatever it is", "internal/element/element.go", "if t.Size > maxBlob {", "if false {", long},
		{"pending entries have no end", "internal/element/stream.go", "*pending > maxPending {", "false {", long},
		{"consumers have no end", "internal/element/stream.go", "if len(g.Consumers) >= maxNamed {", "if false {", long},
	})
}
