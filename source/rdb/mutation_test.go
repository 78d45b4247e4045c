package rdb_test

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// TestMutations: with a guard taken out, a test fails by what it asserts.
func TestMutations(t *testing.T) {
	const ceiling, lies, long = "TestNoSnapshotTakesMoreMemoryThanTheCeiling", "TestLyingLengths", "TestContentsOfMuch"
	mutation.Run(t, []mutation.Row{
		{"templates have no end", "r.templated > maxTemplates {", "false {", ceiling},
		{"a template costs nothing", "!r.fits(templateCost)", "!r.fits(0)", ceiling},
		{"names of a template cost nothing", "!r.fits(int(min(t.Size, maxTemplates)) + nameCost)",
			"!r.fits(int(min(t.Size, maxTemplates)))", ceiling},
		{"a template of its own has no end", "size > maxTemplates {", "false {",
			"TestATemplateOfItsOwnIsBounded"},
		{"values of a batch have no end", "if r.values.bytes > maxArena {", "if false {", "TestABatchIsBounded"},
		{"a large arena is kept", "if cap(s.chunk) > maxArena {", "if false {", "TestAnArenaIsGivenBack"},
		{"auxiliary fields have no end", "if read == nil && len(r.aux) == maxAux {", "if false {", ceiling},
		{"names of a batch have no end", "n > 0 && n+len(r.nameSpace) > maxNames", "n < 0", ceiling},
		{"a value has no end", "return s.bytes-s.began >= maxValue", "return false", ceiling},
		{"a name has no end", "if t.Size > window.MaxContiguous {", "if false {", lies},
		{"a text becomes what it claims", "|| size/maxRatio > stored", "", lies},
		{"a packed value has the size it claims", "form.Size != nil && form.Size(h) != t.Size", "false", lies},
		{"a file has more keys than it says", "s.sum < s.of || s.left == 0", "s.sum < s.of",
			"TestSampleOfDatabases"},
		{"a checksum is not compared", "got != 0 && got != want", "false", "TestChecksum"},
		{"a packed value is unpacked whatever it is", "if t.Size > maxBlob {", "if false {", long},
		{"pending entries have no end", "*pending > maxPending {", "false {", long},
		{"consumers have no end", "if len(g.Consumers) >= maxNamed {", "if false {", long},
	})
}
