package sides

import (
	"github.com/keywright/keywright/migrate/step"
)

// EndCoverage says which paths of a part have met nothing, when all files were read.
func EndCoverage(c *step.Coverage, m *Sides, part string) {
	for _, mv := range m.MovesOf(part) {
		if mv.Move == nil || mv.Move.Source == nil {
			continue
		}
		if s := c.Sources[mv.Move.Source.Name]; s != nil && s.Unmet(mv.Move.Name) {
			c.Unmet = append(c.Unmet, mv.Name)
		}
	}
}
