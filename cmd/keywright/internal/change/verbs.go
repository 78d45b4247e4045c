package change

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
)

// Verb represents a change that is planned and executed. Its name is that of its command.
type Verb struct {
	Name  string // of its command: "queues retry"
	Unit  string // what is changed: "key", "job"
	Would string // "3 keys would be deleted"
	Did   string // "Deleted 3 keys"

	Load  func(ctx context.Context, r *Run) error         // reads what it needs of files
	Open  func(ctx context.Context, r *Run) (Work, error) // looks at nothing yet
	OneDB bool                                            // it is about the database that the URL names
	NoDB  bool                                            // it is about no database

	Wrong []plan.Code // why something is left alone that is not in order: exit code 1
}

// Work plans a change and makes it.
type Work interface {
	// Plan says what the request of a plan gives now.
	Plan(ctx context.Context, p *plan.Plan, bar *terminal.Progress) error
	// Do makes the changes of a plan; plan was called before.
	Do(ctx context.Context, p *plan.Plan, o apply.KeysOptions) (apply.KeysReport, error)
}

// KeyVerbs returns the verbs that change keys by a rule.
func KeyVerbs() map[string]*Verb {
	return map[string]*Verb{
		"delete": {Name: "delete", Unit: "key", Would: "would be deleted", Did: "Deleted", Load: loadRule, Open: openRule},
		"ttl":    {Name: "ttl", Unit: "key", Would: "would get a TTL", Did: "Gave a TTL to", Load: loadRule, Open: openRule},
		"clean":  {Name: "clean", Unit: "key", Would: "would be deleted", Did: "Deleted", Load: loadRule, Open: openRule},
		"rename": {Name: "rename", Unit: "key", Would: "would be renamed", Did: "Renamed", Load: loadRule, Open: openRule},
	}
}

// VerbOf returns the last word of a verb's name: what is done to one thing.
func VerbOf(name string) string { return name[strings.LastIndexByte(name, ' ')+1:] }

// JobsAtOnce says how many jobs are changed at a time.
const JobsAtOnce = 32

// finder finds the changes of a verb that lists each of them.
type finder func(ctx context.Context, r *Run, found *Findings) error

// Findings holds changes that were found, and how each is made.
type Findings struct {
	*plan.Tally
	make       map[string]func(context.Context, *plan.Change) (plan.Code, error)
	left       []apply.LeftOf
	Incomplete []plan.Reason
}

// Add adds a change. do makes it, and says why it is left alone, "" if it is not.
func (f *Findings) Add(c plan.Change, do func(context.Context, *plan.Change) (plan.Code, error)) {
	if id := c.ID(); f.make[id] == nil { // a list that moves while it is read may show one twice
		f.List(c)
		f.make[id] = do
	}
}

// Leave says that something is left alone.
func (f *Findings) Leave(entry string, code plan.Code, key []byte, db int) {
	l := plan.Left{Code: code, Keys: 1, Examples: []plan.Example{{Key: key, DB: db}}}
	f.Tally.Leave(entry, l)
	f.left = append(f.left, apply.LeftOf{Entry: entry, Left: l})
}

// Lacks says that something could not be looked at.
func (f *Findings) Lacks(code plan.Code, what string) {
	f.Incomplete = append(f.Incomplete, plan.Reason{Code: code, What: what})
}

// listedWork represents the work of a verb that lists each of its changes.
type listedWork struct {
	*Run
	find   finder
	found  *Findings
	atOnce int
}

// ByList opens the work of a verb that lists its changes.
func ByList(find finder, atOnce int) func(context.Context, *Run) (Work, error) {
	return func(_ context.Context, r *Run) (Work, error) { return &listedWork{r, find, nil, atOnce}, nil }
}

func (w *listedWork) Plan(ctx context.Context, p *plan.Plan, _ *terminal.Progress) error {
	w.found = &Findings{Tally: plan.NewTally(), make: map[string]func(context.Context, *plan.Change) (plan.Code, error){}}
	if err := w.find(ctx, w.Run, w.found); err != nil {
		return err
	}
	w.found.Into(p)
	p.Incomplete = w.found.Incomplete
	return nil
}

func (w *listedWork) Do(ctx context.Context, p *plan.Plan, o apply.KeysOptions) (apply.KeysReport, error) {
	return apply.Changes(ctx, apply.Listed{Changes: p.Changes, AtOnce: w.atOnce, Left: w.found.left,
		Still: func(c *plan.Change) bool { return w.found.make[c.ID()] != nil },
		Do: func(ctx context.Context, c *plan.Change) (plan.Code, error) {
			return w.found.make[c.ID()](ctx, c)
		}}, o)
}

// Packed returns a list of names as one option of a plan.
func Packed[S ~[]byte | ~string](names []S) string {
	keys := make([]finding.JSONKey, len(names))
	for i, n := range names {
		keys[i] = finding.JSONKey(n)
	}
	text, _ := json.Marshal(keys) // keys always have a JSON
	return string(text)
}

// Unpacked returns the list that packed made. A plan is sealed: nothing else is in it.
func Unpacked(text string) (names []string) {
	var keys []finding.JSONKey
	_ = json.Unmarshal([]byte(text), &keys)
	for _, k := range keys {
		names = append(names, string(k))
	}
	return names
}
