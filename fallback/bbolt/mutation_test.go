package bbolt_test

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// mutations lists the guards of this package.
var mutations = []mutation.Row{
	{"a fault ends the program", "defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))\n",
		"_ = debug.SetPanicOnFault\n", "TestAFileThatIsCutWhileItIsOpenEndsNoProgram"},
	{"a damaged file is used again", "if f.broken.Load() {\n\t\treturn fallback.ErrDamaged",
		"if false {\n\t\treturn fallback.ErrDamaged", "TestAFileThatIsCutWhileItIsOpenEndsNoProgram"},
	{"totals are not compared", "return c.rows.verify()", "return nil", "TestATurnedNumberIsFound"},
	{"a damaged file keeps its name", "filelock.Rename(file, name)", "error(nil)",
		"TestAfterDamageTheNextOpenMakesANewFile"},
}

// TestMutations: with a guard taken out, a test fails by what it asserts.
func TestMutations(t *testing.T) { mutation.Run(t, mutations) }
