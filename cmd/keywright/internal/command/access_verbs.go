package command

import "github.com/keywright/keywright/plan"

// accessVerbs returns the verbs that change users and what is sealed.
func accessVerbs() map[string]*verb {
	return map[string]*verb{
		"acl apply": {name: "acl apply", unit: "user", would: "would be changed", did: "Changed", load: loadUsers, open: byList(findUsers, 1),
			noDB: true, wrong: []plan.Code{plan.ByHand}},
		"seal rotate": {name: "seal rotate", unit: "text", would: "would be sealed again", did: "Sealed again", load: loadSealed,
			open: openSealing, oneDB: true, wrong: sealFaults},
		"seal adopt": {name: "seal adopt", unit: "text", would: "would be sealed", did: "Sealed", load: loadSealed, open: openSealing,
			oneDB: true, wrong: sealFaults},
	}
}
