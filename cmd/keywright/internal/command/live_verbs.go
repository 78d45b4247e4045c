package command

import "github.com/keywright/keywright/plan"

// liveVerbs returns the verbs that change locks, jobs and items.
func liveVerbs() map[string]*verb {
	return map[string]*verb{
		"locks break": {name: "locks break", unit: "lock", would: "would be broken", did: "Broke", load: loadLocks, open: byList(findHeld, 1),
			oneDB: true},
		"queues retry": {name: "queues retry", unit: "job", would: "would be brought back", did: "Brought back", load: loadQueues,
			open: openDead, oneDB: true, wrong: []plan.Code{plan.NotDead, plan.NameTaken}},
		"queues discard": {name: "queues discard", unit: "job", would: "would be discarded", did: "Discarded", load: loadQueues,
			open: openDead, oneDB: true, wrong: []plan.Code{plan.NotDead}},
		"queues cancel": {name: "queues cancel", unit: "job", would: "would be cancelled", did: "Cancelled", load: loadQueues,
			open: byList(findWaiting, jobsAtOnce), oneDB: true, wrong: []plan.Code{plan.NotWaiting}},
		"queues repair": {name: "queues repair", unit: "job", would: "would be brought back", did: "Brought back", load: loadQueues,
			open: byList(findLost, jobsAtOnce), oneDB: true},
		"queues pause": {name: "queues pause", unit: "queue", would: "would be paused", did: "Paused", load: loadQueues,
			open: byList(findRunning, 1), oneDB: true},
		"queues resume": {name: "queues resume", unit: "queue", would: "would be resumed", did: "Resumed", load: loadQueues,
			open: byList(findPaused, 1), oneDB: true},
		"entities repair": {name: "entities repair", unit: "item", would: "would be put right", did: "Put right", load: loadEntities,
			open: openRepair, oneDB: true, wrong: []plan.Code{plan.NewerForm}},
		"entities index": {name: "entities index", unit: "item", would: "would be looked at", did: "Indexed", load: loadEntities,
			open: openIndexing, oneDB: true},
	}
}
