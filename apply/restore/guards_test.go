package restore_test

import (
	"errors"
	"iter"
	"strconv"
	"testing"

	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/internal/mutation"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
)

// restoreGuards lists the guards of what is written and resumed.
var restoreGuards = []mutation.Row{
	{Name: "a restore is of the process that may act", Guard: "if w.StillHeld != nil {",
		Instead: "if false {", Test: "TestRestoreEndsWhenAnotherActs"},
	{Name: "what has expired takes nothing away", Guard: "case rec.Place.Expires > 0 && rec.Place.Expires <= now:",
		Instead: "case now < 0:", Test: "TestExpired"},
	{Name: "full memory is the reason", Guard: `last = fmt.Errorf("%w: %w", errFull, err)`,
		Instead: `last = fmt.Errorf("%w", err)`, Test: "TestFullMemory"},
	{Name: "what is there is left",
		Guard:   ".SerializedValue(payload)\n\tif w.Existing == Replace || w.Existing == Different {",
		Instead: ".SerializedValue(payload)\n\tif true {", Test: "TestExisting"},
	{Name: "so are large values", Guard: "SetSlot(key), ttl}\n\tif w.Existing == Replace || w.Existing == Different {",
		Instead: "SetSlot(key), ttl}\n\tif true {", Test: "TestExistingInParts"},
	{Name: "large values that have expired", Guard: "if rec.Place.Expires > 0 && rec.Place.Expires <= p.target.now() {",
		Instead: "if false {", Test: "TestExpiredInParts"},
	{Name: "parts follow one another", Guard: "if p.broken || rec.Part != p.next || rec.problem != \"\" {",
		Instead: "if p.broken || rec.problem != \"\" {", Test: "TestPartsThatDoNotFollow"},
	{Name: "parts that are given up go", Guard: "w.temporary[oldest].abandon(w)",
		Instead: "_ = oldest", Test: "TestPartsThatNeverEnd"},
	{Name: "parts that were evicted", Guard: "if err = cmp.Or(there[0].Error(), err); err == nil && n == 0 && must {",
		Instead: "if err = cmp.Or(there[0].Error(), err); err == nil && n == 0 && must && false {",
		Test:    "TestPartsThatAreEvicted"},
	{Name: "a step watches its key", Guard: "c.B().Watch().Key(key).Build(), c.B().Exists().Key(key).Build()",
		Instead: "c.B().Exists().Key(key).Build(), c.B().Exists().Key(key).Build()", Test: "TestStepsWatchTheirKey"},
	{Name: "each run has names of its own", Guard: "sha256.Sum256(append([]byte(run), key...))",
		Instead: "sha256.Sum256(append([]byte(nil), key...))", Test: "TestTwoRestoresAtOnce"},
	{Name: "temporary names are in the slot", Guard: "tags()[slot.Of(key)]", Instead: "tags()[0]",
		Test: "TestTemporaryNames"},
	{Name: "temporary keys end",
		Guard:   "all = append(all, raw.B().Pexpire().Key(p.name).Milliseconds(keeps.Milliseconds()).Build(),",
		Instead: "all = append(all, raw.B().Exists().Key(p.name).Build(),", Test: "TestPartsThatNeverEnd"},
	{Name: "what was decided is not looked at again", Guard: "return p.given - 1, p.given <= p.skip",
		Instead: "return p.given - 1, false",
		Test:    "TestRestoreGoesOn"},
	{Name: "one process has the journal", Guard: "if err = filelock.Lock(f); err != nil {",
		Instead: "if err = nil; err != nil {", Test: "TestOneProcessHasTheJournal"},
	{Name: "bytes that are on their way", Guard: "f.bytes+n <= maxInFlight", Instead: "true",
		Test: "TestBytesOnTheirWay"},
	{Name: "a version that is not taken", Guard: `!strings.Contains(reason, "payload version")`,
		Instead: `strings.Contains(reason, "")`, Test: "TestVersionsThatAServerTakes"},
	{Name: "all parts of a value count", Guard: "n += w.sizes[id]", Instead: "n += 0",
		Test: "TestBytesOfParts"},
	{Name: "a run that began nothing", Guard: "len(l.Done)+len(l.Open)+len(l.Restored)+l.At > 0",
		Instead: "l.At >= 0", Test: "TestJournalOfARunThatBeganNothing"},
	{Name: "pending messages that are gone", Guard: "if found, err = replies[i].AsXRange(); len(found) == 0 {",
		Instead: "if found, err = replies[i].AsXRange(); len(found) == 0 && false {", Test: "TestEveryEncoding"},
	{Name: "placeholders go", Guard: "for _, id := range m.within {",
		Instead: "for _, id := range m.within[:0] {",
		Test:    "TestEveryEncoding"},
}

// TestGuards: with a guard taken out, a test fails by what it asserts.
func TestGuards(t *testing.T) { mutation.Run(t, restoreGuards) }

var errAnother = errors.New("another one acts")

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
	r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), listIn("a", 3, 1), restore.Options{})
	must(t, err)
	if applytest.Adds(t, r); r.Refused != 1 || to.Do("DBSIZE") != int64(0) {
		t.Errorf("%+v, and %v keys", r, to.Do("DBSIZE"))
	}
}

// TestExistingInParts: what is said of a key that is there is true of values in parts, too.
func TestExistingInParts(t *testing.T) {
	t.Parallel()
	to := kt.Start(t, kt.Redis)
	wanted := map[restore.Existing]int64{restore.Fail: 1, restore.Skip: 1, restore.Replace: 3, restore.Different: 3}
	for mode, want := range wanted {
		to.Do("DEL", "a")
		to.Do("RPUSH", "a", "live")
		r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), listIn("a", 3, 0),
			restore.Options{Existing: mode})
		must(t, err)
		applytest.Adds(t, r)
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
	r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), listIn("a", 3, 0), restore.Options{
		Existing: restore.Replace,
		Place:    func(r *archive.Record) (restore.Place, error) { return restore.Place{Key: r.Key, Expires: 1}, nil }})
	must(t, err)
	if applytest.Adds(t, r); r.Expired != 1 || to.Do("LLEN", "a") != int64(1) || to.Do("DBSIZE") != int64(1) {
		t.Errorf("%+v, and %v keys", r, to.Do("DBSIZE"))
	}
}

// TestRestoreEndsWhenAnotherActs: a restore writes nothing once another process may act.
func TestRestoreEndsWhenAnotherActs(t *testing.T) {
	t.Parallel()
	to := kt.Start(t, kt.Redis)
	r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), listIn("a", 1, 0),
		restore.Options{StillHeld: func() error { return errAnother }})
	if applytest.Adds(t, r); !errors.Is(err, errAnother) || r.Unknown != 1 || to.Do("DBSIZE") != int64(0) {
		t.Errorf("%v: %+v, and %v keys", err, r, to.Do("DBSIZE"))
	}
}
