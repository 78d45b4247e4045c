package journal_test

import (
	"errors"
	"os"
	"testing"

	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/mutation"
)

var must = expect.NoError

// journalGuards lists the guards of a journal.
var journalGuards = []mutation.Row{
	{Name: "the journal of another plan", Guard: "if head.Plan != j.head.Plan {",
		Instead: "if false {", Test: "TestJournalOfAnotherPlan"},
	{Name: "the last whole line counts", Guard: `whole := bytes.LastIndexByte(text, '\n') + 1`,
		Instead: "whole := len(text)", Test: "TestJournalCutAnywhere"},
}

// TestGuards: with a guard taken out, a test fails by what it asserts.
func TestGuards(t *testing.T) { mutation.Run(t, journalGuards) }

// TestJournalOfAnotherPlan: a journal of one plan is not gone on with for another one.
func TestJournalOfAnotherPlan(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/journal"
	j, _, err := journal.Open(path, "plan")
	must(t, err)
	must(t, j.Close())
	if _, _, err := journal.Open(path, "another"); !errors.Is(err, journal.ErrOtherJournal) {
		t.Errorf("%v", err)
	}
}

// A journal is read whatever of its last line is there, and never for another plan.
func TestJournalCutAnywhere(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/j"
	j, resumed, err := journal.Open(path, "plan")
	if err != nil || resumed {
		t.Fatal(resumed, err)
	}
	must(t, j.Close())
	if _, _, err := journal.Open(path, "other"); err == nil {
		t.Error("the journal of another plan was taken")
	}
	text := applytest.MustRead(t, path) // a head and one line
	whole := string(text) + `{"done":{"user":{"keys":5,"changed":5}},"open":{"user":3}}` + "\n"
	for cut := range len(whole) + 1 {
		must(t, os.WriteFile(path, []byte(whole[:cut]), 0o600))
		j, _, err := journal.Open(path, "plan")
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		want := int64(0)
		if cut == len(whole) {
			want = 8
		}
		if done, maybe := j.Changed(); done["user"]+maybe["user"] != want {
			t.Errorf("cut at %d: %d keys were changed, not %d", cut, done["user"]+maybe["user"], want)
		}
		must(t, j.Close())
	}
	must(t, os.WriteFile(path, []byte(string(text)+`{"done":{},"end":true}`+"\n"), 0o600))
	for range 2 {
		if j, _, err = journal.Open(path, "plan"); err != nil || !j.Done() {
			t.Errorf("a plan that was executed to its end is forgotten: %v", err)
		}
		must(t, j.Close())
	}
}
