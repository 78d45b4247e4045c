package live

import (
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
)

// Verbs returns the verbs that change locks, jobs and items.
func Verbs() map[string]*change.Verb {
	return map[string]*change.Verb{
		"locks break": {Name: "locks break", Unit: "lock", Would: "would be broken", Did: "Broke", Load: loadLocks,
			Open:  change.ByList(findHeld, 1),
			OneDB: true},
		"queues retry": {Name: "queues retry", Unit: "job", Would: "would be brought back", Did: "Brought back",
			Load: loadQueues,
			Open: openDead, OneDB: true, Wrong: []plan.Code{plan.NotDead, plan.NameTaken}},
		"queues discard": {Name: "queues discard", Unit: "job", Would: "would be discarded", Did: "Discarded",
			Load: loadQueues,
			Open: openDead, OneDB: true, Wrong: []plan.Code{plan.NotDead}},
		"queues cancel": {Name: "queues cancel", Unit: "job", Would: "would be cancelled", Did: "Cancelled", Load: loadQueues,
			Open: change.ByList(findWaiting, change.JobsAtOnce), OneDB: true, Wrong: []plan.Code{plan.NotWaiting}},
		"queues run": {Name: "queues run", Unit: "job", Would: "would run now", Did: "Let run now", Load: loadQueues,
			Open: change.ByList(findDelayed, change.JobsAtOnce), OneDB: true, Wrong: []plan.Code{plan.NotDelayed}},
		"queues repair": {Name: "queues repair", Unit: "job", Would: "would be brought back", Did: "Brought back",
			Load: loadQueues,
			Open: change.ByList(findLost, change.JobsAtOnce), OneDB: true},
		"queues pause": {Name: "queues pause", Unit: "queue", Would: "would be paused", Did: "Paused", Load: loadQueues,
			Open: change.ByList(findRunning, 1), OneDB: true},
		"queues resume": {Name: "queues resume", Unit: "queue", Would: "would be resumed", Did: "Resumed", Load: loadQueues,
			Open: change.ByList(findPaused, 1), OneDB: true},
		"entities repair": {Name: "entities repair", Unit: "item", Would: "would be put right", Did: "Put right",
			Load: loadEntities,
			Open: openRepair, OneDB: true, Wrong: []plan.Code{plan.NewerForm}},
		"entities index": {Name: "entities index", Unit: "item", Would: "would be looked at", Did: "Indexed",
			Load: loadEntities,
			Open: openIndexing, OneDB: true},
	}
}
