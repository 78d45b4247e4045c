package command

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/plan"
)

// verb represents a change that is planned and executed. Its name is that of its command.
type verb struct {
	unit  string // what is changed: "key", "job"
	would string // "3 keys would be deleted"
	did   string // "Deleted 3 keys"

	load  func(ctx context.Context, r *changeRun) error         // reads what it needs of files
	open  func(ctx context.Context, r *changeRun) (work, error) // looks at nothing yet
	oneDB bool                                                  // it is about the database that the URL names
	noDB  bool                                                  // it is about no database

	wrong []plan.Code // why something is left alone that is not in order: exit code 1
}

// work plans a change and makes it.
type work interface {
	// plan says what the request of a plan gives now.
	plan(ctx context.Context, p *plan.Plan, bar *terminal.Progress) error
	// do makes the changes of a plan; plan was called before.
	do(ctx context.Context, p *plan.Plan, o apply.KeysOptions) (apply.KeysReport, error)
}

var verbs map[string]*verb

func init() { // the table names functions that need it
	verbs = map[string]*verb{
		"delete": {unit: "key", would: "would be deleted", did: "Deleted", load: loadRule, open: byRule(deleteRule)},
		"ttl":    {unit: "key", would: "would get a TTL", did: "Gave a TTL to", load: loadRule, open: byRule(ttlRule)},
		"clean":  {unit: "key", would: "would be deleted", did: "Deleted", load: loadRule, open: byRule(cleanRule)},

		"rename": {unit: "key", would: "would be renamed", did: "Renamed", load: loadRule, open: byRule(nil)},

		"acl apply": {unit: "user", would: "would be changed", did: "Changed", load: loadUsers, open: byList(findUsers, 1),
			noDB: true, wrong: []plan.Code{plan.ByHand}},
		"locks break": {unit: "lock", would: "would be broken", did: "Broke", load: loadLocks, open: byList(findHeld, 1),
			oneDB: true},
		"queues retry": {unit: "job", would: "would be brought back", did: "Brought back", load: loadQueues,
			open: openDead, oneDB: true, wrong: []plan.Code{plan.NotDead, plan.NameTaken}},
		"queues discard": {unit: "job", would: "would be discarded", did: "Discarded", load: loadQueues,
			open: openDead, oneDB: true, wrong: []plan.Code{plan.NotDead}},
		"queues cancel": {unit: "job", would: "would be cancelled", did: "Cancelled", load: loadQueues,
			open: byList(findWaiting, jobsAtOnce), oneDB: true, wrong: []plan.Code{plan.NotWaiting}},
		"queues run": {unit: "job", would: "would run now", did: "Let run now", load: loadQueues,
			open: byList(findDelayed, jobsAtOnce), oneDB: true, wrong: []plan.Code{plan.NotDelayed}},
		"queues repair": {unit: "job", would: "would be brought back", did: "Brought back", load: loadQueues,
			open: byList(findLost, jobsAtOnce), oneDB: true},
		"queues pause": {unit: "queue", would: "would be paused", did: "Paused", load: loadQueues,
			open: byList(findRunning, 1), oneDB: true},
		"queues resume": {unit: "queue", would: "would be resumed", did: "Resumed", load: loadQueues,
			open: byList(findPaused, 1), oneDB: true},
		"entities repair": {unit: "item", would: "would be put right", did: "Put right", load: loadEntities,
			open: openRepair, oneDB: true, wrong: []plan.Code{plan.NewerForm}},
		"entities index": {unit: "item", would: "would be looked at", did: "Indexed", load: loadEntities,
			open: openIndexing, oneDB: true},
		"seal rotate": {unit: "text", would: "would be sealed again", did: "Sealed again", load: loadSealed,
			open: openSealing, oneDB: true, wrong: sealFaults},
		"seal adopt": {unit: "text", would: "would be sealed", did: "Sealed", load: loadSealed, open: openSealing,
			oneDB: true, wrong: sealFaults},
	}
}

// verbOf returns the last word of a verb's name: what is done to one thing.
func verbOf(name string) string { return name[strings.LastIndexByte(name, ' ')+1:] }

// jobsAtOnce says how many jobs are changed at a time.
const jobsAtOnce = 32

// finder finds the changes of a verb that lists each of them.
type finder func(ctx context.Context, r *changeRun, found *findings) error

// findings holds changes that were found, and how each is made.
type findings struct {
	*plan.Tally
	make       map[string]func(context.Context, *plan.Change) (plan.Code, error)
	left       []apply.LeftOf
	incomplete []plan.Reason
}

// add adds a change. do makes it, and says why it is left alone, "" if it is not.
func (f *findings) add(c plan.Change, do func(context.Context, *plan.Change) (plan.Code, error)) {
	if id := c.ID(); f.make[id] == nil { // a list that moves while it is read may show one twice
		f.List(c)
		f.make[id] = do
	}
}

// leave says that something is left alone.
func (f *findings) leave(entry string, code plan.Code, key []byte, db int) {
	l := plan.Left{Code: code, Keys: 1, Examples: []plan.Example{{Key: key, DB: db}}}
	f.Leave(entry, l)
	f.left = append(f.left, apply.LeftOf{Entry: entry, Left: l})
}

// lacks says that something could not be looked at.
func (f *findings) lacks(code plan.Code, what string) {
	f.incomplete = append(f.incomplete, plan.Reason{Code: code, What: what})
}

// listedWork represents the work of a verb that lists each of its changes.
type listedWork struct {
	*changeRun
	find   finder
	found  *findings
	atOnce int
}

// byList opens the work of a verb that lists its changes.
func byList(find finder, atOnce int) func(context.Context, *changeRun) (work, error) {
	return func(_ context.Context, r *changeRun) (work, error) { return &listedWork{r, find, nil, atOnce}, nil }
}

func (w *listedWork) plan(ctx context.Context, p *plan.Plan, _ *terminal.Progress) error {
	w.found = &findings{Tally: plan.NewTally(), make: map[string]func(context.Context, *plan.Change) (plan.Code, error){}}
	if err := w.find(ctx, w.changeRun, w.found); err != nil {
		return err
	}
	w.found.Into(p)
	p.Incomplete = w.found.incomplete
	return nil
}

func (w *listedWork) do(ctx context.Context, p *plan.Plan, o apply.KeysOptions) (apply.KeysReport, error) {
	return apply.Changes(ctx, apply.Listed{Changes: p.Changes, AtOnce: w.atOnce, Left: w.found.left,
		Still: func(c *plan.Change) bool { return w.found.make[c.ID()] != nil },
		Do: func(ctx context.Context, c *plan.Change) (plan.Code, error) {
			return w.found.make[c.ID()](ctx, c)
		}}, o)
}

// packed returns a list of names as one option of a plan.
func packed[S ~[]byte | ~string](names []S) string {
	keys := make([]finding.JSONKey, len(names))
	for i, n := range names {
		keys[i] = finding.JSONKey(n)
	}
	text, _ := json.Marshal(keys) // keys always have a JSON
	return string(text)
}

// unpacked returns the list that packed made. A plan is sealed: nothing else is in it.
func unpacked(text string) (names []string) {
	var keys []finding.JSONKey
	_ = json.Unmarshal([]byte(text), &keys)
	for _, k := range keys {
		names = append(names, string(k))
	}
	return names
}
