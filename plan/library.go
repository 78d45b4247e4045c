package plan

import "fmt"

// OtherLibraries is the code of libraries of functions that are not what a plan says any more.
const OtherLibraries Code = "other-libraries"

// Library describes what becomes of a library of functions.
type Library struct {
	Name   string `json:"name"`
	Change string `json:"change"`        // load, replace, same, existing or refused
	Why    string `json:"why,omitempty"` // it is refused
}

// libraries says which libraries would be changed now otherwise than the plan says. One that is there by now is as an
// interrupted run has left it.
func (p *Plan) libraries(now *Plan) (out []Reason) {
	was := map[string]string{}
	for _, l := range p.Libraries {
		was[l.Name] = l.Change
	}
	for _, l := range now.Libraries {
		if l.Change != "same" && was[l.Name] != l.Change {
			what := fmt.Sprintf("of the library of functions %q the plan says %q, and now it is %q", l.Name, was[l.Name],
				l.Change)
			out = append(out, Reason{OtherLibraries, what, "make a new plan"})
		}
	}
	return out
}
