package apply_test

import (
	"errors"
	"iter"
	"strconv"
	"testing"
	"time"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/internal/mutation"
	"github.com/keywright/keywright/keyspace/selection"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
)

// goGuards lists the guards of what is written, resumed, renamed, kept and undone; those of the scripts are in the
// tests that mutate them.
var goGuards = []mutation.Row{
	{Name: "a restore is of the process that may act", File: "writer.go", Guard: "if w.StillActs != nil {",
		Instead: "if false {", Test: "TestRestoreEndsWhenAnotherActs"},
	{Name: "what has expired takes nothing away", File: "writer.go",
		Guard:   "case rec.Place.Expires > 0 && rec.Place.Expires <= now:",
		Instead: "case now < 0:", Test: "TestExpired"},
	{Name: "full memory is the reason", File: "writer.go", Guard: `last = fmt.Errorf("%w: %w", errFull, err)`,
		Instead: `last = fmt.Errorf("%w", err)`, Test: "TestFullMemory"},
	{Name: "what is there is left", File: "writer.go", Guard: "if w.Existing == Replace || w.Existing == Different {",
		Instead: "if true {", Test: "TestExisting"},
	{Name: "so are large values", File: "part.go", Guard: "if w.Existing == Replace || w.Existing == Different {",
		Instead: "if true {", Test: "TestExistingInParts"},
	{Name: "large values that have expired", File: "part.go",
		Guard:   "if rec.Place.Expires > 0 && rec.Place.Expires <= p.target.now() {",
		Instead: "if false {", Test: "TestExpiredInParts"},
	{Name: "parts follow one another", File: "part.go",
		Guard:   "if p.broken || rec.Part != p.next || rec.problem != \"\" {",
		Instead: "if p.broken || rec.problem != \"\" {", Test: "TestPartsThatDoNotFollow"},
	{Name: "parts that are given up go", File: "part.go", Guard: "w.temporary[oldest].abandon(w)",
		Instead: "_ = oldest", Test: "TestPartsThatNeverEnd"},
	{Name: "parts that were evicted", File: "part.go",
		Guard:   "if err = cmp.Or(there[0].Error(), err); err == nil && n == 0 && must {",
		Instead: "if err = cmp.Or(there[0].Error(), err); err == nil && n == 0 && must && false {",
		Test:    "TestPartsThatAreEvicted"},
	{Name: "a step watches its key", File: "part.go",
		Guard:   "c.B().Watch().Key(key).Build(), c.B().Exists().Key(key).Build()",
		Instead: "c.B().Exists().Key(key).Build(), c.B().Exists().Key(key).Build()", Test: "TestStepsWatchTheirKey"},
	{Name: "each run has names of its own", File: "part.go", Guard: "sha256.Sum256(append([]byte(run), key...))",
		Instead: "sha256.Sum256(append([]byte(nil), key...))", Test: "TestTwoRestoresAtOnce"},
	{Name: "temporary names are in the slot", File: "part.go", Guard: "tags()[slot.Of(key)]", Instead: "tags()[0]",
		Test: "TestTemporaryNames"},
	{Name: "temporary keys end", File: "part.go",
		Guard:   "all = append(all, raw.B().Pexpire().Key(p.name).Milliseconds(keeps.Milliseconds()).Build(),",
		Instead: "all = append(all, raw.B().Exists().Key(p.name).Build(),", Test: "TestPartsThatNeverEnd"},
	{Name: "what was decided is not looked at again", File: "resume.go",
		Guard: "return p.given - 1, p.given <= p.skip", Instead: "return p.given - 1, false",
		Test: "TestRestoreGoesOn"},
	{Name: "the journal of another plan", File: "journal.go", Guard: "if head.Plan != j.head.Plan {",
		Instead: "if false {", Test: "TestJournalOfAnotherPlan"},
	{Name: "the last whole line counts", File: "journal.go", Guard: `whole := bytes.LastIndexByte(text, '\n') + 1`,
		Instead: "whole := len(text)", Test: "TestJournalCutAnywhere"},
	{Name: "one process has the journal", File: "journal.go", Guard: "if err = filelock.Lock(f); err != nil {",
		Instead: "if err = nil; err != nil {", Test: "TestOneProcessHasTheJournal"},
	{Name: "a batch is of one database", File: "keys.go", Guard: "if len(r.open) > 0 && r.open[0].db != k.DB {",
		Instead: "if false {", Test: "TestKeys"},
	{Name: "changes are of the process that may act", File: "run.go", Guard: "if r.StillActs != nil {",
		Instead: "if false {", Test: "TestStopped"},
	{Name: "the rate is kept", File: "run.go",
		Guard:   "due = time.Duration(float64(r.sent) / float64(r.Rate) * float64(time.Second))",
		Instead: "due = 0", Test: "TestRatesAreKept"},
	{Name: "the rate of bytes is kept", File: "run.go",
		Guard:   "due = max(due, time.Duration(float64(r.bytes)/float64(r.ByteRate)*float64(time.Second)))",
		Instead: "due = max(due, 0)", Test: "TestRatesAreKept"},
	{Name: "newer ones are there still", File: "steps.go", Guard: "if !there[n] {", Instead: `if n == "" {`,
		Test: "TestChangedMeanwhile"},
	{Name: "items that were used", File: "steps.go", Guard: "case time.Duration(seconds)*time.Second < s.Idle:",
		Instead: "case seconds < 0:", Test: "TestIdle"},
	{Name: "keys that were used, in a plan", File: "idle.go",
		Guard: "case time.Duration(seconds)*time.Second < asked[i].Step.Idle:", Instead: "case time.Duration(seconds) < 0:",
		Test: "TestIdle"},
	{Name: "a new name that is taken", File: "move.go", Guard: "case there > 0 && noted == 0:",
		Instead: "case there+noted < 0:", Test: "TestRenameTaken"},
	{Name: "a key that SCAN yields twice", File: "move.go", Guard: "case old == 0, seen[string(s.key)]:",
		Instead: "case old == 0:", Test: "TestRenameYieldedTwice"},
	{Name: "a copy is compared before the old one goes", File: "move.go", Guard: "case !old.same(now):",
		Instead: "case false:", Test: "TestRenamedMeanwhile"},
	{Name: "what was kept once", File: "keep.go", Guard: `if r.tried[strconv.Itoa(s.db)+" "+string(s.key)] {`,
		Instead: "if false {", Test: "TestKeptOnce"},
	{Name: "what is not kept stays", File: "keep.go",
		Guard:   "case now.Torn || torn || s.How == plan.Item && (s.sums == nil || s.texts > maxTexts):",
		Instead: "case false:", Test: "TestWhatIsNotKeptStays"},
	{Name: "what is kept is on the disk first", File: "keep.go", Guard: "err = r.Keep.Sync()", Instead: "_ = r.Keep",
		Test: "TestWhatIsNotKeptStays"},
	{Name: "an undo passes over what was not changed", File: "undo.go", Guard: "if len(left) > 0 && left[0] == i {",
		Instead: "if len(left) > 0 && i < 0 {", Test: "TestRename"},
	{Name: "an undo of another plan", File: "undo.go", Guard: "if p.ID != u.Plan.ID {", Instead: "if false {",
		Test: "TestNothingElseIsWrittenOver"},
	{Name: "a listed change that was sent before a kill", File: "listed.go", Guard: "if at < w.doubted {",
		Instead: "if false {", Test: "TestListedRuns"},
	{Name: "a server that is gone ends a run", File: "watch.go", Guard: "w.told == asides", Instead: "w.told < 0",
		Test: "TestRestoreEndsWhenTheServerIsGone"},
	{Name: "none is begun after one that failed", File: "listed.go", Guard: "if failed.Load() {", Instead: "if false {",
		Test: "TestListedChangesEndWhenOneFails"},
	{Name: "bytes that are on their way", File: "flight.go", Guard: "f.bytes+n <= maxFlight", Instead: "true",
		Test: "TestBytesOnTheirWay"},
	{Name: "a version that is not taken", File: "versions.go", Guard: `!strings.Contains(reason, "payload version")`,
		Instead: `strings.Contains(reason, "")`, Test: "TestVersionsThatAServerTakes"},
	{Name: "what was there before is left", File: "copy.go",
		Guard: "case left && c.before.has(c.hash(d.AtB.DB, d.AtB.Name)):", Instead: "case left && false:",
		Test: "TestCopyOntoKeys"},
	{Name: "keys that were left are not mended", File: "copy.go",
		Guard:   "r.Checked.Differ() == r.Kept && r.Refused == 0",
		Instead: "r.Checked.Differ() == 0 && r.Refused == 0", Test: "TestCopyOntoKeys"},
}

// TestGuards: with a guard taken out, a test fails by what it asserts.
func TestGuards(t *testing.T) { mutation.Run(t, goGuards) }

// listIn returns the records of a list that is in so many parts, each of one element, from a part on.
func listIn(key string, parts, from int) iter.Seq2[*archive.Record, error] {
	return func(yield func(*archive.Record, error) bool) {
		for i := range parts {
			at := i
			if i > 0 {
				at += from
			}
			r := &archive.Record{Entry: archive.Undeclared, Key: []byte(key), Kind: source.List, Form: archive.Elements,
				Part: at, More: i < parts-1}
			r.Payload = archive.AppendText(nil, strconv.AppendInt(nil, int64(at), 10))
			if !yield(r, nil) {
				return
			}
		}
	}
}

// TestPartsThatDoNotFollow: a value of which a part is missing is refused, and nothing of it stays.
func TestPartsThatDoNotFollow(t *testing.T) {
	t.Parallel()
	to := kt.Start(t, kt.Redis)
	r, err := apply.Restore(t.Context(), applytest.Open(t, to.URL()), listIn("a", 3, 1), apply.RestoreOptions{})
	must(t, err)
	if adds(t, r); r.Refused != 1 || to.Do("DBSIZE") != int64(0) {
		t.Errorf("%+v, and %v keys", r, to.Do("DBSIZE"))
	}
}

// TestExistingInParts: what is said of a key that is there is true of values in parts, too.
func TestExistingInParts(t *testing.T) {
	t.Parallel()
	to := kt.Start(t, kt.Redis)
	wanted := map[apply.Existing]int64{apply.Fail: 1, apply.Skip: 1, apply.Replace: 3, apply.Different: 3}
	for mode, want := range wanted {
		to.Do("DEL", "a")
		to.Do("RPUSH", "a", "live")
		r, err := apply.Restore(t.Context(), applytest.Open(t, to.URL()), listIn("a", 3, 0), apply.RestoreOptions{Existing: mode})
		must(t, err)
		adds(t, r)
		if got := to.Do("LLEN", "a"); got != want || to.Do("DBSIZE") != int64(1) {
			t.Errorf("%s: %v elements, %v keys: %+v", mode, got, to.Do("DBSIZE"), r)
		}
	}
}

// TestExpiredInParts: a value in parts that has expired meanwhile takes nothing away.
func TestExpiredInParts(t *testing.T) {
	t.Parallel()
	to := kt.Start(t, kt.Redis)
	to.Do("RPUSH", "a", "live")
	r, err := apply.Restore(t.Context(), applytest.Open(t, to.URL()), listIn("a", 3, 0), apply.RestoreOptions{
		Existing: apply.Replace,
		Place:    func(r *archive.Record) (apply.Place, error) { return apply.Place{Key: r.Key, Expires: 1}, nil }})
	must(t, err)
	if adds(t, r); r.Expired != 1 || to.Do("LLEN", "a") != int64(1) || to.Do("DBSIZE") != int64(1) {
		t.Errorf("%+v, and %v keys", r, to.Do("DBSIZE"))
	}
}

// TestRestoreEndsWhenAnotherActs: a restore writes nothing once another process may act.
func TestRestoreEndsWhenAnotherActs(t *testing.T) {
	t.Parallel()
	to := kt.Start(t, kt.Redis)
	r, err := apply.Restore(t.Context(), applytest.Open(t, to.URL()), listIn("a", 1, 0),
		apply.RestoreOptions{StillActs: func() error { return errOther }})
	if adds(t, r); !errors.Is(err, errOther) || r.Unknown != 1 || to.Do("DBSIZE") != int64(0) {
		t.Errorf("%v: %+v, and %v keys", err, r, to.Do("DBSIZE"))
	}
}

// TestJournalOfAnotherPlan: a journal of one plan is not gone on with for another one.
func TestJournalOfAnotherPlan(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/journal"
	j, _, err := apply.OpenJournal(path, "plan")
	must(t, err)
	must(t, j.Close())
	if _, _, err := apply.OpenJournal(path, "another"); !errors.Is(err, apply.ErrOtherJournal) {
		t.Errorf("%v", err)
	}
}

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
