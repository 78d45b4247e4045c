package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/mutation"
	"github.com/keywright/keywright/internal/servertest"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// late represents a process whose script is on its way to Redis while something else happens.
type late struct {
	*testing.T
	root   string
	server *kt.Server
	a, b   *migrate.Migration // a is the one whose script is late
	freeze atomic.Bool
	frozen chan struct{}
	wrote  chan error
	proxy  *kt.Proxy
}

// scene lets a write a record in a phase, and holds its script back at a point.
func scene(t *testing.T, at phase.Phase, point string, i record.ID) *late {
	s := &late{T: t, root: t.TempDir(), server: kt.Start(t, kt.Redis), frozen: make(chan struct{}),
		wrote: make(chan error, 1)}
	s.proxy = kt.NewProxy(t, strings.TrimPrefix(s.server.URL(), "redis://"), kt.Rules{})
	s.b = open(t, s.root, s.server.URL(), oneOfEach, nil)
	c := servertest.Open(t, "redis://"+s.proxy.Addr(), keywright.Options{NoCache: true, Attempts: 1,
		Timeout: time.Minute})
	hook := func(is string) error {
		if is == point && s.freeze.CompareAndSwap(true, false) {
			s.proxy.Freeze()
			close(s.frozen)
		}
		return nil
	}
	var err error
	s.a, err = migrate.Open(t.Context(), migrate.With(migrate.Config{Name: "test", Root: s.root, Client: c,
		Lease: time.Hour, Wait: time.Minute}, oneOfEach, hook))
	if err != nil {
		t.Fatal(err)
	}
	to(t, s.b, "a", at)
	if err := s.a.Write(t.Context(), change(i, "before")); err != nil {
		t.Fatal(err)
	}
	s.freeze.Store(true)
	go func() { s.wrote <- s.a.Write(t.Context(), change(i, "late")) }()
	<-s.frozen
	return s
}

// arrives lets the script go on, and looks at both sides then.
func (s *late) arrives(i record.ID, want string) {
	s.Helper()
	s.proxy.Thaw()
	<-s.wrote
	file, stored := fileHas(s.root, i), redisHas(s.T, dial(s.T, s.server.URL()), i)
	if !slices.Equal(file, stored) || !slices.Equal(file, []string{want}) {
		s.Errorf("the file has %v, Redis %v, want %s", file, stored, want)
	}
	if err := s.a.Close(); err != nil {
		s.Error(err)
	}
}

// A script that arrives after another process has written the same record does nothing.
func TestALateScriptOfAFileIsStale(t *testing.T) {
	t.Parallel()
	i := id("string:a:1")
	s := scene(t, phase.Shadow, "read", i)
	if err := s.b.Write(t.Context(), change(i, "newer")); err != nil {
		t.Fatal(err)
	}
	s.arrives(i, "newer")
}

// A script that arrives after the phase was changed does nothing: its write is done as the
// new phase says.
func TestALateScriptIsOfAnOldEpoch(t *testing.T) {
	t.Parallel()
	i := id("string:a:1")
	s := scene(t, phase.Live, "script", i)
	to(t, s.b, "a", phase.Shadow)
	if err := s.b.Write(t.Context(), change(i, "newer")); err != nil {
		t.Fatal(err)
	}
	s.arrives(i, "late")
}

// A script of a dead process that arrives after its marks were replayed does nothing.
func TestALateScriptOfADeadProcess(t *testing.T) {
	t.Parallel()
	i := id("string:a:1")
	s := scene(t, phase.Live, "script", i)
	migrate.Abandon(s.a)
	eventually(t, func() error { _, _, err := s.b.Replay(t.Context()); return err })
	s.proxy.Thaw()
	<-s.wrote // it may write by another name: that it was not dead
	if file, stored := fileHas(s.root, i), redisHas(t, dial(t, s.server.URL()), i); !slices.Equal(file, stored) {
		t.Errorf("the file has %v, Redis %v", file, stored)
	}
	if err := s.a.Close(); err != nil {
		t.Error(err)
	}
}

// Each guard that a test was written for is missed by it.
func TestMutations(t *testing.T) {
	mutation.Run(t, []mutation.Row{
		{Name: "tickets", Guard: "other and tonumber(other) >= tonumber(stamp)", Instead: "false",
			Test: "TestALateScriptOfAFileIsStale"},
		{Name: "tickets of a transaction", Guard: "tickets > 0 {", Instead: "tickets > 1<<40 {",
			Test: "TestAnImportIsLate"},
		{Name: "the epoch of a transaction", Guard: "err = epochHas(has, p.Epoch, p.Seen)",
			Instead: "err = epochHas(has, Number(has[0]), 0)", Test: "TestAnImportOfAnOldEpoch"},
		{Name: "tickets of new records", Guard: "if ticket then return some end", Instead: "",
			Test: "TestAnImportIsLate"},
		{Name: "the epoch of new records", Guard: "\nend\nif tonumber(epoch) > tonumber(expected) then",
			Instead: "\nend\nif false then", Test: "TestAnImportOfAnOldEpoch"},
		{Name: "strings that are there", Guard: "redis.call('MSETNX', unpack(all)) == 0",
			Instead: "not redis.call('MSET', unpack(all))",
			Test:    "TestAnImportBesideAWriter"},
		{Name: "keys that are there", Guard: "if redis.call('EXISTS', unpack(KEYS, 3)) > 0 then",
			Instead: "if false then", Test: "TestAnImportBesideAWriter"},
		{Name: "the end of a record at a glance", Guard: "err == nil && record.SameEnd(g.ttls[i]",
			Instead: "err == nil || record.SameEnd(g.ttls[i]", Test: "TestTimesAreVerified"},
		{Name: "a record that ends on one side", Guard: "mode == 'none' and r.ends > 0", Instead: "false",
			Test: "TestEndsOfOneSide"},
		{Name: "a record that no file can have", Guard: "bad := m.unfitOf(x.Records); bad != nil",
			Instead: "bad := m.unfitOf(nil); bad != nil", Test: "TestNothingIsWrittenThatNoMoveReads"},
		{Name: "more fields than those of the file", Guard: "n == int64(len(fields)) && ", Instead: "n > -1 && ",
			Test: "TestTimesAreVerified"},
		{Name: "the epoch of a script",
			Guard:   "return {'lost', epoch} end\nif tonumber(epoch) > tonumber(expected) then",
			Instead: "return {'lost', epoch} end\nif false then", Test: "TestALateScriptIsOfAnOldEpoch"},
		{Name: "lost data", Guard: "or tonumber(has[2] or '0') < tonumber(ARGV[5])", Instead: "",
			Test: "TestRedisHasLostData"},
		{Name: "a lost epoch", Guard: "if loses ~= '1' and less then", Instead: "if false then",
			Test: "TestRedisHasLostData"},
		{Name: "the epoch of a file", Guard: "return is.MayWrite(c.Epoch)", Instead: "return nil",
			Test: "TestWritersWaitForAChange"},
		{Name: "a mark before the file", Guard: "if err := c.Marked.Wait(); err != nil {",
			Instead: "if err := error(nil); err != nil {", Test: "TestDiskIsFull"},
		{Name: "what is left of a full disk",
			Guard:   "\tif err = errors.Join(err, f.Close()); err != nil {\n\t\tr.Drop()",
			Instead: "\tif err = errors.Join(err, f.Close()); err != nil {", Test: "TestDiskIsFull"},
		{Name: "a caller that left", Guard: "case doubt.Done == nil:", Instead: "case true:",
			Test: "TestAWriteOfACallerThatLeft"},
		{Name: "fallback", Guard: "err != nil || open.Has(id)",
			Instead: "err != nil || open.Has(id) && false", Test: "TestRedisIsAway"},
		{Name: "confirmed differences", Guard: "if marked {\n\t\t\treturn epoch, nil, ErrMarked",
			Instead: "if marked && false {\n\t\t\treturn epoch, nil, ErrMarked", Test: "TestAMarkIsNoDifference"},
		{Name: "the order of parts", Guard: "case forward && before && done.To > is:", Instead: "case false:",
			Test: "TestDeclaredMigration"},
		{Name: "a part that is ahead already", Guard: "case !forward && !before && done.To < is:",
			Instead: "case !before && done.To < is:", Test: "TestAPartThatIsAheadAlready"},
		{Name: "a part that may go back", Guard: "case forward && before && done.To > is:",
			Instead: "case before && done.To > is:", Test: "TestAPartThatIsAheadAlready"},
		{Name: "the last verification", Guard: "n.Verified, n.Differed = false, n.Differed+1",
			Instead: "n.Differed++", Test: "TestTheLastVerificationCounts"},
		{Name: "facts of another declaration", Guard: "n.Epoch != is.Epoch || n.Rules != of.Rules {",
			Instead: "n.Epoch != is.Epoch {", Test: "TestFactsOfAnotherDeclaration"},
		{Name: "an older backup of one epoch", Guard: "(has.epoch < low || has.ticket < seen)",
			Instead: "(has.epoch < low || has.ticket < seen && false)", Test: "TestWhatIsLostIsSaid"},
		{Name: "what is lost in a phase that is asked for",
			Guard:   "\t\terr = m.lost(ctx, part, is)\n\t}\n\tif err == nil && !slices",
			Instead: "\t}\n\tif err == nil && !slices", Test: "TestWhatIsLostIsSaid"},
		{Name: "a damaged file that is accepted", Guard: "if (errors.Is(err, disk.ErrDamaged) || ",
			Instead: "if (", Test: "TestDamagedFilesOfTheEngine"},
		{Name: "an import of a damaged file", Guard: "report.Rejected+report.Faulty == 0 {",
			Instead: "report.Rejected == 0 {", Test: "TestDamagedFilesHoldUpNoOther"},
		{Name: "a repair by another declaration", Guard: "err != nil && o.Repair && phase.Of(is.Phase).Authority == phase.Redis {",
			Instead: "err != nil && false {", Test: "TestAMoveThatIsAddedLater"},
		{Name: "a way back by another declaration", Guard: "err != nil && is.Phase == phase.Complete {",
			Instead: "err != nil && false {", Test: "TestAMoveThatIsAddedLater"},
		{Name: "damaged facts", Guard: "n, err = noted{}, nil // as if", Instead: "// as if", Test: "TestDamagedFacts"},
		{Name: "the files after complete", Guard: "if done.From == phase.Complete {",
			Instead: "if false {", Test: "TestWholeWay"},
		{Name: "a file below its folder", Guard: "if !filepath.IsLocal(local) {",
			Instead: "if false {", Test: "TestFilesStayInTheirFolder"},
		{Name: "files of an old phase", Guard: "err := m.inRedis(ctx, part); err != nil || is.ahead {",
			Instead: "err := m.inRedis(ctx, part); err == nil && is.ahead {", Test: "TestThePhaseFilesAreGone"},
		{Name: "a phase that nothing says", Guard: "is == unasked && p.Form != 0:",
			Instead: "is == unasked:", Test: "TestNoPhaseWithoutRedis"},
		{Name: "an older file of the phases", Guard: "if epoch < a.epochs[part] {",
			Instead: "if false {", Test: "TestThePhaseIsLostMeanwhile"},
		{Name: "another declaration", Guard: "if len(others) == 0 {", Instead: "if true {",
			Test: "TestTwoDeclarations"},
		{Name: "a rate", Guard: "if ahead <= 0 {", Instead: "if true {", Test: "TestARateIsHeld"},
		{Name: "the phase that the files have lost", Guard: "case had == phase.Complete:",
			Instead: "case is.Phase == phase.Complete:", Test: "TestTheFilesOfACompletedPart"},
		{Name: "marks that went with the phase", Guard: "case redisDecides && ahead && !o.Accept:",
			Instead: "case redisDecides && ahead && false:", Test: "TestThePhaseFilesAreGone"},
		{Name: "records that are too large together", Guard: "if values > store.MaxValues {",
			Instead: "if values < 0 {", Test: "TestLargeRecordsInEachPhase"},
		{Name: "a key of a wrong type", Guard: "\t\t\terr = ErrType\n", Instead: "",
			Test: "TestAWrongTypeWhereRedisDecides"},
		{Name: "a list in two pieces", Guard: "strconv.FormatInt(p.Records, 10)",
			Instead: "strconv.FormatInt(0, 10)", Test: "TestPlansWithoutAServer"},
		{Name: "a kind of its own", Guard: "if store.KindOf[mv.Kind] == \"\" {", Instead: "if false {",
			Test: "TestItemsAndJobsAreRefused"},
		{Name: "a file by two names", Guard: "d.lockPath(path), false)", Instead: "d.lockPath(file), false)",
			Test: "TestOneFileByTwoNames"},
		{Name: "a second name", Guard: "if other := d.otherName(file, path); other != \"\" {",
			Instead: "if other := d.otherName(file, path); other == \"?\" {", Test: "TestFilesThatCannotBeSources"},
		{Name: "a record that no file can have", Guard: "errors.As(err, &bad) && bad.NoFile {",
			Instead: "errors.As(err, &bad) && false {", Test: "TestNamesThatNoFileCanHave"},
		{Name: "a key of another type in a sweep", Guard: "if store.OtherType(err) {", Instead: "if false {",
			Test: "TestOneBadRecordHoldsUpNoOther"},
		{Name: "a cluster", Guard: "if !c.Clustered() {",
			Instead: "if true {", Test: "TestAClusterIsRefused"},
		{Name: "a login that is refused", Guard: "class == keywright.Invalid || class == keywright.Refused) {",
			Instead: "class == keywright.Invalid) {", Test: "TestConnectIsRefused"},
		{Name: "a client that comes later", Guard: "go m.connects()",
			Instead: "m.work.Done()", Test: "TestAProcessStartsWithoutRedis"},
		{Name: "the end of a client", Guard: "defer m.link.Close()",
			Instead: "", Test: "TestAProcessStartsWithoutRedis"},
		{Name: "a plan without a server", Guard: "if l.None() {", Instead: "if false {",
			Test: "TestPlansWithoutAServer"},
		{Name: "a record that cannot be read", Guard: "if bad := f.rejects[id]; bad != nil {",
			Instead: "if bad := f.rejects[id]; bad != nil && false {", Test: "TestARecordThatCannotBeRead"},
		{Name: "a record whose key cannot be read", Guard: "case !whole && keys[id]:",
			Instead: "case false:", Test: "TestARecordThatCannotBeRead"},
		{Name: "an element whose list is not known", Guard: " || Ordered(bad.Move.Kind)",
			Instead: "", Test: "TestAnElementOfAnUnknownList"},
		{Name: "a list without a record that cannot be read", Guard: "id.Key == \"\") {\n\t\t\treturn bad\n",
			Instead: "id.Key == \"\") {\n", Test: "TestARecordThatCannotBeRead"},
		{Name: "a good record in Redis", Guard: "if err != nil { // Redis may",
			Instead: "if false { // Redis may", Test: "TestARecordThatCannotBeRead"},
		{Name: "what cannot be read is not extra", Guard: "case bad != nil: // it is counted",
			Instead: "case false: // it is counted", Test: "TestARecordThatCannotBeRead"},
		{Name: "a record is counted by both sides", Guard: "case len(file) == 0:",
			Instead: "case diffs[0].Kind == record.DiffExtra:", Test: "TestVerifyCountsRecords"},
		{Name: "what SCAN gives again", Guard: "if o.held[id] {", Instead: "if o.held[id] && false {",
			Test: "TestOnce"},
		{Name: "what SCAN gives again after many", Guard: "if had, err := d.Has(id); had || err != nil {",
			Instead: "if had, err := d.Has(id); had && false || err != nil {", Test: "TestOnce"},
		{Name: "folders that are links", Guard: "folder = to.IsDir(); folder",
			Instead: "folder = to.IsDir(); folder && false", Test: "TestLinkedFolders"},
		{Name: "folders in themselves",
			Guard:   "slices.ContainsFunc(above, func(of os.FileInfo) bool { return os.SameFile(of, is)",
			Instead: "slices.ContainsFunc(above, func(of os.FileInfo) bool { return os.SameFile(of, is) && false",
			Test:    "TestLinkedFolders"},
		{Name: "an export again", Guard: "case !slices.Contains(parts, part):",
			Instead: "case true:", Test: "TestExportAgain"},
		{Name: "an export over other parts", Guard: "case len(parts) > 1:", Instead: "case false:",
			Test: "TestExportAgain"},
		{Name: "what was seen and cannot be read", Guard: "if err == nil {\n\t\tm.unseen.Store(false)",
			Instead: "if true {\n\t\tm.unseen.Store(false)", Test: "TestSeenThatCannotBeRead"},
		{Name: "what the dead have seen", Guard: "&b); err != nil { // what it has seen",
			Instead: "&b); err != nil && false { // what it has seen", Test: "TestSeenThatCannotBeRead"},
		{Name: "a word that cannot be read", Guard: "(unread != nil || time.Since(b.At)",
			Instead: "(false || time.Since(b.At)", Test: "TestAProcessWhoseWordCannotBeRead"},
		{Name: "what a dead process has begun to write", Guard: "\"beat.tmp\", ", Instead: "",
			Test: "TestLeftOfTheDead"},
		{Name: "a server that did not answer is asked again", Guard: "\t\t\tm.lookAhead(ctx)\n", Instead: "",
			Test: "TestAheadIsAskedAgain"},
		{Name: "an end waits for what has begun",
			Guard:   "m.pushes.Mu.Lock()\n\t\tm.end()\n\t\tm.pushes.Mu.Unlock()\n\t\tm.files.Mu.Unlock()",
			Instead: "m.files.Mu.Unlock()\n\t\tm.end()", Test: "TestCloseWaitsForWhatHasBegun"},
		{Name: "a folder that has changed", Guard: "!is.ModTime().Equal(at) ||", Instead: "is == nil ||",
			Test: "TestFilesAreListedOnce"},
		{Name: "a folder that changes still", Guard: " || at.After(l.began.Add(-settledFor))", Instead: "",
			Test: "TestFilesAreListedOnce"},
	})
}

// A process that has read the phase before a change writes nothing after it.
func TestWritersWaitForAChange(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	root := t.TempDir()
	b := open(t, root, server.URL(), oneOfEach, nil)
	i := id("string:a:1")
	held, going := make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	a := open(t, root, server.URL(), oneOfEach, func(point string) error {
		if point == "begin" && armed.CompareAndSwap(true, false) {
			close(held)
			<-going
		}
		return nil
	})
	to(t, b, "a", phase.Shadow)
	armed.Store(true)
	wrote := make(chan error)
	go func() { wrote <- a.Write(t.Context(), change(i, "last")) }()
	<-held
	migrate.Abandon(a) // a process that lives is waited for
	to(t, b, "a", phase.Live)
	if err := b.Write(t.Context(), change(i, "first")); err != nil {
		t.Fatal(err)
	}
	close(going)
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if file, stored := fileHas(root, i), redisHas(t, dial(t, server.URL()), i); !slices.Equal(file,
		stored) || !slices.Equal(file, []string{"last"}) {
		t.Errorf("the file has %v, Redis %v", file, stored)
	}
}

// A write whose caller has left may be done later: its mark is replayed after that, not
// before.
func TestAWriteOfACallerThatLeft(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	root := t.TempDir()
	held, going := make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	b := open(t, root, server.URL(), oneOfEach, func(point string) error {
		if point == "locked" && armed.CompareAndSwap(true, false) {
			close(held)
			<-going
		}
		return nil
	})
	a := open(t, root, server.URL(), oneOfEach, nil)
	to(t, b, "a", phase.Shadow)
	i := id("string:a:1")
	armed.Store(true)
	other := make(chan error)
	go func() { other <- b.Write(t.Context(), change(id("string:a:other"), "1")) }()
	<-held
	ctx, leave := context.WithCancel(t.Context())
	wrote := make(chan error)
	go func() { wrote <- a.Write(ctx, change(i, "late")) }()
	eventually(t, func() error {
		if !migrate.Serving(a, "a.json") {
			return errors.New("it does not wait for the lock yet")
		}
		return nil
	})
	leave()
	if class, _ := keywright.ClassOf(<-wrote); class != keywright.UnknownOutcome {
		t.Errorf("the class is %s", class)
	}
	if n, _, err := a.Replay(t.Context()); n != 0 || err != nil {
		t.Errorf("%d marks of a write that may be done later were replayed, %v", n, err)
	}
	close(going)
	if err := <-other; err != nil {
		t.Error(err)
	}
	c := dial(t, server.URL())
	eventually(t, func() error {
		_, _, err := a.Replay(t.Context())
		if file, stored := fileHas(root, i), redisHas(t, c, i); err == nil && (len(file) != 1 || !slices.Equal(file,
			stored)) {
			err = fmt.Errorf("the file has %v, Redis %v", file, stored)
		}
		return err
	})
}

// What a record's mark says is no difference that comparisons count.
func TestAMarkIsNoDifference(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	root := t.TempDir()
	var fail atomic.Bool
	m := open(t, root, server.URL(), oneOfEach, func(point string) error {
		if point == "ticket" && fail.Load() {
			return errFull
		}
		return nil
	})
	i := id("string:a:1")
	to(t, m, "a", phase.Shadow)
	fail.Store(true)
	if err := m.Write(t.Context(), change(i, "1")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Read(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	r, err := m.Verify(t.Context(), "a", migrate.VerifyOptions{})
	if err != nil || r.Marked != 1 || r.Missing != 0 || !r.Whole() {
		t.Errorf("%+v %v", r, err)
	}
	if err := migrate.Compared(m, i); !errors.Is(err, migrate.HasMark) {
		t.Errorf("a record with a mark was compared: %v", err)
	}
	fail.Store(false)
	if _, left, err := m.Replay(t.Context()); err != nil || left > 0 {
		t.Fatal(left, err)
	}
	if err := migrate.Compared(m, i); err != nil {
		t.Error(err)
	}
}

// A name that leads out of the folder of the sources is refused.
func TestFilesStayInTheirFolder(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	m := open(t, t.TempDir(), server.URL(), oneOfEach, nil)
	if err := m.Write(t.Context(), change(id("string:../outside:1"), "1")); err == nil {
		t.Error("a file outside of the folder was written")
	}
}
