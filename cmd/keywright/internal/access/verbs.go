package access

import (
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
)

// Verbs returns the verbs that change users and what is sealed.
func Verbs() map[string]*change.Verb {
	return map[string]*change.Verb{
		"acl apply": {Name: "acl apply", Unit: "user", Would: "would be changed", Did: "Changed",
			Load: loadUsers, Open: change.ByList(findUsers, 1), NoDB: true, Wrong: []plan.Code{plan.ByHand}},
		"seal rotate": {Name: "seal rotate", Unit: "text", Would: "would be sealed again", Did: "Sealed again",
			Load: loadSealed, Open: openSealing, OneDB: true, Wrong: sealFaults},
		"seal adopt": {Name: "seal adopt", Unit: "text", Would: "would be sealed", Did: "Sealed",
			Load: loadSealed, Open: openSealing, OneDB: true, Wrong: sealFaults},
	}
}
