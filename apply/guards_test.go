package apply_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/internal/mutation"
	"github.com/keywright/keywright/keyspace/selection"
	kt "github.com/keywright/keywright/keywrighttest"
)

// goGuards lists the guards of what is written, resumed, renamed, kept and undone; those of the scripts are in the
// tests that mutate them.
var goGuards = []mutation.Row{
	{Name: "a batch is of one database", Guard: "if len(r.open) > 0 && r.open[0].db != k.DB {",
		Instead: "if false {", Test: "TestTwoDatabasesInABatch"},
	{Name: "changes are of the process that may act", Guard: "return err\n\t}\n\tif r.StillHeld != nil {",
		Instead: "return err\n\t}\n\tif false {", Test: "TestStopped"},
	{Name: "the rate is kept", Guard: "due = time.Duration(float64(r.sent) / float64(r.Rate) * float64(time.Second))",
		Instead: "due = 0", Test: "TestRatesAreKept"},
	{Name: "the rate of bytes is kept",
		Guard:   "due = max(due, time.Duration(float64(r.bytes)/float64(r.ByteRate)*float64(time.Second)))",
		Instead: "due = max(due, 0)", Test: "TestRatesAreKept"},
	{Name: "newer ones are there still", Guard: "if !there[n] {", Instead: `if n == "" {`,
		Test: "TestChangedMeanwhile"},
	{Name: "items that were used", Guard: "case time.Duration(seconds)*time.Second < s.Idle:",
		Instead: "case seconds < 0:", Test: "TestIdleItems"},
	{Name: "keys that were used, in a plan", Guard: "case time.Duration(seconds)*time.Second < asked[i].Step.Idle:",
		Instead: "case time.Duration(seconds) < 0:",
		Test:    "TestIdle"},
	{Name: "a new name that is taken", Guard: "case there > 0 && noted == 0:",
		Instead: "case there+noted < 0:", Test: "TestRenameTaken"},
	{Name: "a key that SCAN yields twice", Guard: "case old == 0, seen[string(s.key)]:",
		Instead: "case old == 0:", Test: "TestRenameYieldedTwice"},
	{Name: "a copy is compared before the old one goes", Guard: "case !old.same(now):",
		Instead: "case false:", Test: "TestRenameTaken"},
	{Name: "what was kept once", Guard: `if r.tried[strconv.Itoa(s.db)+" "+string(s.key)] {`,
		Instead: "if false {", Test: "TestKeptOnce"},
	{Name: "what is not kept stays",
		Guard:   "case now.Torn || torn || items[string(s.key)] != nil && (s.sums == nil || s.texts > maxTexts):",
		Instead: "case false:", Test: "TestALargeItemIsNotKept"},
	{Name: "what is kept is on the disk first", Guard: "err = r.Keep.Sync()", Instead: "_ = r.Keep",
		Test: "TestWhatIsNotKeptStays"},
	{Name: "an undo passes over what was not changed", Guard: "if len(left) > 0 && left[0] == i {",
		Instead: "if len(left) > 0 && i < 0 {", Test: "TestAnUndoPassesOverWhatWasNotRenamed"},
	{Name: "an undo of another plan", Guard: "if p.ID != u.Plan.ID {", Instead: "if p == nil {",
		Test: "TestNothingElseIsWrittenOver"},
	{Name: "a batch that a second run goes on with is open in whole", Guard: "if still || w.at+i < w.doubted {",
		Instead: "if still {", Test: "TestListedRunsEndTwiceInABatch"},
	{Name: "a listed change that was sent before a kill", Guard: "if at < w.doubted {",
		Instead: "if false {", Test: "TestListedRuns"},
	{Name: "a server that is gone ends a run", Guard: "w.reports == asides", Instead: "w.reports < 0",
		Test: "TestRestoreEndsWhenTheServerIsGone"},
	{Name: "none is begun after one that failed", Guard: "if failed.Load() {", Instead: "if false {",
		Test: "TestListedChangesEndWhenOneFails"},
}

// TestGuards: with a guard taken out, a test fails by what it asserts.
func TestGuards(t *testing.T) { mutation.Run(t, goGuards) }

// TestRatesAreKept: a run takes no less time than its rates say.
func TestRatesAreKept(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	const keys, bytes = 100, 100 * 1000
	least := 500 * time.Millisecond
	for what, o := range map[string]apply.KeysOptions{
		"keys": {Rate: int(keys * time.Second / least)}, "bytes": {ByteRate: int64(bytes * time.Second / least)}} {
		for i := range keys {
			s.Do("SET", "app:user:"+strconv.Itoa(i), string(make([]byte, bytes/keys)))
		}
		began := time.Now()
		r := change(t, s.URL(), applytest.Open(t, s.URL()), "delete", selection.Request{Entries: []string{"user"}}, o)
		if took := time.Since(began); r.Changed != keys || took < least {
			t.Errorf("%s: %d of %d after %s", what, r.Changed, keys, took)
		}
	}
}
