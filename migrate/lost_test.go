package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/keywright/keywright"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

func redis(t testing.TB, c *keywright.Client, words ...string) {
	t.Helper()
	if err := c.Raw().Do(t.Context(), c.Raw().B().Arbitrary(words...).Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

const fence = "keywright:migrate:test"

// A part that has lost its last writes is found out, whatever is done to another part, and
// by a process that begins after all others have ended.
func TestLostWritesAreFoundOut(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	c, root := dial(t, server.URL()), t.TempDir()
	two := plain{map[string]string{"string": "a", "field": "b"}}
	m := open(t, root, server.URL(), two, nil)
	to(t, m, "a", phase.Live)
	i := id("string:a:1")
	write := func(m *migrate.Migration, value string) error { return m.Write(t.Context(), change(i, value)) }
	if err := write(m, "1"); err != nil {
		t.Fatal(err)
	}
	old, err := c.Raw().Do(t.Context(), c.Raw().B().Hget().Key(fence).Field("ticket:a").Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	if err := write(m, "2"); err != nil {
		t.Fatal(err)
	}
	redis(t, c, "HSET", fence, "ticket:a", old) // as after a failover without the last write
	to(t, m, "b", phase.DualWrite)
	if _, err := m.Repair(t.Context(), "b", migrate.RepairOptions{From: phase.Redis}); err != nil {
		t.Fatal(err)
	}
	if err := write(m, "3"); !errors.Is(err, phase.ErrLost) {
		t.Errorf("after steps of another part: %v", err)
	}
	if _, err := m.Rollback(t.Context(), "a", migrate.ChangeOptions{Force: true}); !errors.Is(err, phase.ErrLost) {
		t.Errorf("rolled back: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = open(t, root, server.URL(), two, nil)
	if err := write(m, "3"); !errors.Is(err, phase.ErrLost) {
		t.Errorf("a process that begins later: %v", err)
	}
	// The clock of this server is before that of the one that gave the last tickets.
	redis(t, c, "HSET", fence, "ticket:a", "9000000000000000")
	if err := write(m, "3"); err != nil {
		t.Fatal(err)
	}
	redis(t, c, "HSET", fence, "ticket:a", old)
	if _, err := m.Repair(t.Context(), "a", migrate.RepairOptions{From: phase.Redis}); err != nil {
		t.Fatal(err)
	}
	if err := write(m, "4"); err != nil {
		t.Errorf("after a repair on a server with an earlier clock: %v", err)
	}
}

// What a dead process has seen is known to the one that takes its marks over.
func TestTicketsOfTheDead(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	c, root := dial(t, server.URL()), t.TempDir()
	m := open(t, root, server.URL(), oneOfEach, nil)
	to(t, m, "a", phase.Live)
	dead := filepath.Join(root, ".keywright", "test", "processes", "1-dead")
	for kind, text := range map[string]string{"lock": "", "beat": `{"seen": {"a": 9000000000000000}}`} {
		if err := os.WriteFile(dead+"."+kind, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() error {
		_, _, err := m.Replay(t.Context())
		if _, there := os.Stat(dead + ".lock"); there == nil {
			return errors.New("the dead process is still there")
		}
		return err
	})
	if err := m.Write(t.Context(), change(id("string:a:1"), "1")); !errors.Is(err, phase.ErrLost) {
		t.Errorf("a server with an earlier ticket than the dead process had seen: %v", err)
	}
	redis(t, c, "HSET", fence, "ticket:a", "9000000000000001")
}

// Where the files that say the phase are gone nothing is read from the old files as if they
// decided, and a repair takes the phase that Redis has.
func TestThePhaseFilesAreGone(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	root := t.TempDir()
	m := open(t, root, server.URL(), oneOfEach, nil)
	i := id("string:a:1")
	to(t, m, "a", phase.RampDown)
	if err := m.Write(t.Context(), change(i, "1")); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(root, ".keywright")); err != nil {
		t.Fatal(err)
	}
	m = open(t, root, server.URL(), oneOfEach, nil)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Read(over, i); err == nil {
		t.Error("read by a caller that has left")
	}
	if _, err := m.Read(t.Context(), i); !errors.Is(err, phase.ErrAhead) {
		t.Errorf("read: %v", err)
	}
	for _, look := range []bool{true, false} { // what would be done is refused as what is done
		if _, err := m.Repair(t.Context(), "a", migrate.RepairOptions{From: phase.Files, Look: look}); !errors.Is(err,
			migrate.ErrMarked) {
			t.Errorf("the files are taken without a word, and their marks are gone: %v", err)
		}
	}
	if r, err := m.Repair(t.Context(), "a", migrate.RepairOptions{From: phase.Redis, Look: true}); err != nil ||
		r.Phase != phase.RampDown {
		t.Errorf("%+v %v", r, err)
	}
	if err := m.Write(t.Context(), change(i, "2")); !errors.Is(err, phase.ErrAhead) {
		t.Errorf("written: %v", err)
	}
	if _, err := m.Repair(t.Context(), "a", migrate.RepairOptions{From: phase.Redis}); err != nil {
		t.Fatal(err)
	}
	read, err := m.Read(t.Context(), i)
	if err != nil || !slices.Equal(shown(read), []string{"1"}) || phaseOf(t, m, "a") != phase.RampDown {
		t.Errorf("%v %v in %s", shown(read), err, phaseOf(t, m, "a"))
	}
	for _, c := range []migrate.Config{{Client: dial(t, server.URL()), Root: root},
		migrate.With(migrate.Config{Client: dial(t, server.URL()), Root: root, Name: "../x"}, oneOfEach, nil)} {
		if _, err := migrate.Open(t.Context(), c); err == nil {
			t.Errorf("%+v may be opened", c)
		}
	}
}

// A damaged file of marks is said, and set aside by a repair that accepts it.
func TestDamagedMarks(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	root := t.TempDir()
	m := open(t, root, server.URL(), oneOfEach, nil)
	to(t, m, "a", phase.Shadow)
	dead := filepath.Join(root, ".keywright", "test", "processes", "1-dead")
	for kind, text := range map[string]string{"lock": "", "marks": "00000000 +1 {}\n00000000 +2 {}\n"} {
		if err := os.WriteFile(dead+"."+kind, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Facts(t.Context(), "a"); err == nil {
		t.Error("damaged marks are not said")
	}
	if _, err := m.Repair(t.Context(), "a", migrate.RepairOptions{From: phase.Files}); err == nil {
		t.Error("a repair goes on over damaged marks")
	}
	if _, err := m.Repair(t.Context(), "a",
		migrate.RepairOptions{From: phase.Files, Accept: true, Look: true}); err != nil {
		t.Error(err)
	}
	if _, err := m.Facts(t.Context(), "a"); err == nil {
		t.Error("a look has set the damaged marks aside")
	}
	if _, err := m.Repair(t.Context(), "a", migrate.RepairOptions{From: phase.Files, Accept: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Facts(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(dead + ".damaged"); len(left) != 1 {
		t.Error("the damaged file is gone")
	}
}

// A list, stream or hash of more values than one step takes is an error wherever it is met,
// and never a part of it; it holds up no other record and no way back.
func TestTooManyValues(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	c, root := dial(t, server.URL()), t.TempDir()
	m := open(t, root, server.URL(), oneOfEach, nil)
	many := make([]string, 4001)
	for n := range many {
		many[n] = fmt.Sprintf("f%d=1", n)
	}
	to(t, m, "a", phase.Shadow)
	for _, i := range []string{"list:a:1", "hash:a:1", "stream:a:1"} {
		if err := m.Write(t.Context(), change(id(i), many...)); !errors.Is(err, migrate.ErrTooLarge) {
			t.Errorf("%s was written: %v", i, err)
		}
		if has := fileHas(root, id(i)); has != nil {
			t.Errorf("%s: the file has %d values", i, len(has))
		}
	}
	if err := m.Write(t.Context(), change(id("string:a:1"), "1"), change(id("string:a:1"), "2")); err == nil {
		t.Error("a record twice in one write")
	}
	redis(t, c, "EVAL", "for i = 1, 4001 do redis.call('XADD', KEYS[1], '*', 'f', 'x') end return 1", "1", "stream:b:9")
	if err := m.Write(t.Context(), change(id("stream:b:9"), "1")); err != nil {
		t.Fatal(err)
	}
	if _, left, err := m.Replay(t.Context()); !errors.Is(err, migrate.ErrTooLarge) || left != 1 {
		t.Errorf("a stream of 4,001 entries: %d marks are left, %v", left, err)
	}
	redis(t, c, "DEL", "stream:b:9")
	redis(t, c, "SET", "list:a:1", "of another type")
	for _, i := range []string{"list:a:1", "string:a:2", "string:a:3"} {
		if err := m.Write(t.Context(), change(id(i), "1")); err != nil {
			t.Fatal(err)
		}
	}
	if _, left, err := m.Replay(t.Context()); err == nil || left != 1 {
		t.Errorf("%d marks are left, %v", left, err)
	}
	to(t, m, "a", phase.Backfill)
	redis(t, c, "DEL", "list:a:1")
	to(t, m, "a", phase.Complete)
	for n := range many {
		many[n] = fmt.Sprint(n)
	}
	redis(t, c, append([]string{"RPUSH", "list:b:1"}, many...)...)
	if e, err := m.Export(t.Context(), "a", t.TempDir()); err != nil || e.Refused != 1 ||
		!errors.Is(e.Refusals[0], migrate.ErrTooLarge) {
		t.Errorf("exported: %+v %v", e, err)
	}
	if _, err := m.Rollback(t.Context(), "a", migrate.ChangeOptions{}); !errors.Is(err, migrate.ErrTooLarge) {
		t.Errorf("rolled back: %v", err)
	}
	redis(t, c, "DEL", "list:b:1")
	if _, err := m.Rollback(t.Context(), "a", migrate.ChangeOptions{}); err != nil {
		t.Error(err)
	}
}

// The tickets of records do not stay: each step takes away more that are over than it adds.
func TestTicketsGo(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	c, root := dial(t, server.URL()), t.TempDir()
	m := open(t, root, server.URL(), oneOfEach, nil)
	to(t, m, "a", phase.Shadow)
	for n := range 60 {
		redis(t, c, "ZADD", fence+":tickets", "1", fmt.Sprint("old", n))
	}
	for n := range 3 {
		var all []migrate.Change
		for k := range 10 {
			all = append(all, change(id(fmt.Sprintf("string:a:%d-%d", n, k)), "1"))
		}
		if err := m.Write(t.Context(), all...); err != nil {
			t.Fatal(err)
		}
	}
	n, err := c.Raw().Do(t.Context(), c.Raw().B().Zcard().Key(fence+":tickets").Build()).AsInt64()
	ends, failed := c.Raw().Do(t.Context(), c.Raw().B().Pttl().Key(fence+":tickets").Build()).AsInt64()
	if err != nil || failed != nil || n != 30 || ends <= 0 {
		t.Errorf("%d tickets, %v; they end in %d ms, %v", n, err, ends, failed)
	}
}

// The gate of marks is closed where there are more than a change replays itself.
func TestTheGateOfMarks(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	root := t.TempDir()
	broken := true
	m := open(t, root, server.URL(), oneOfEach, func(point string) error {
		if point == "ticket" && broken {
			return errFull
		}
		return nil
	})
	to(t, m, "a", phase.DualWrite)
	for n := range 11 {
		var all []migrate.Change
		for k := range 100 {
			all = append(all, change(id(fmt.Sprintf("string:a:%d-%d", n, k)), "1"))
		}
		if err := m.Write(t.Context(), all...); err != nil {
			t.Fatal(err)
		}
	}
	var gates *migrate.GateError
	_, err := m.Advance(t.Context(), "a", migrate.ChangeOptions{})
	if !errors.As(err, &gates) || gates.Closed[0].Gate != phase.Marks {
		t.Errorf("with 1,100 marks: %v", err)
	}
	if s, err := m.Status(t.Context()); err != nil || len(s[0].Forward) != 1 {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := m.Advance(t.Context(), "a", migrate.ChangeOptions{Limits: &phase.Limits{Marks: 2000}}); errors.As(err,
		&gates) {
		t.Errorf("with a limit of 2,000: %v", err)
	}
}

// An export goes into no folder of the sources, whatever it is called, and a file keeps its
// mode when it is written.
func TestExportFoldersAndModes(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	root := t.TempDir()
	m := open(t, root, server.URL(), oneOfEach, nil)
	to(t, m, "a", phase.Shadow)
	if err := m.Write(t.Context(), change(id("string:a:1"), "1")); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{root, link, filepath.Join(link, "below", "..")} {
		if _, err := m.Export(t.Context(), "a", folder); err == nil {
			t.Errorf("exported to %s", folder)
		}
	}
	if _, err := m.Export(t.Context(), "a", filepath.Join(link, "below")); err != nil {
		t.Errorf("a folder with no sources in it: %v", err)
	}
	path := filepath.Join(root, "a.json")
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".a.json.keywright.tmp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.Write(t.Context(), change(id("string:a:1"), "2")); err != nil {
		t.Fatal(err)
	}
	if is, err := os.Stat(path); err != nil || is.Mode().Perm() != 0o666 {
		t.Errorf("%v %v", is.Mode(), err)
	}
}

// What has had the phase complete is not taken from the files, also where the files that say so are gone.
func TestTheFilesOfACompletedPart(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	root := t.TempDir()
	m := open(t, root, server.URL(), oneOfEach, nil)
	to(t, m, "a", phase.Complete)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(root, ".keywright")); err != nil {
		t.Fatal(err)
	}
	m = open(t, root, server.URL(), oneOfEach, nil)
	if r, err := m.Repair(t.Context(), "a", migrate.RepairOptions{From: phase.Files, Accept: true}); err == nil {
		t.Errorf("repaired from files that were not written since: %+v", r)
	}
	if _, err := m.Repair(t.Context(), "a", migrate.RepairOptions{From: phase.Redis}); err != nil ||
		phaseOf(t, m, "a") != phase.Complete {
		t.Errorf("%v in %s", err, phaseOf(t, m, "a"))
	}
}

// A record that may be written in one phase may be written in all: what an update has read is no
// part of it, and records that are written together are looked at together.
func TestLargeRecordsInEachPhase(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	m := open(t, t.TempDir(), server.URL(), oneOfEach, nil)
	half := make([]string, 3000)
	for n := range half {
		half[n] = fmt.Sprint(n)
	}
	list, other := id("list:a:1"), id("list:a:2")
	for _, in := range []phase.Phase{phase.Shadow, phase.Live} {
		to(t, m, "a", in)
		if err := m.Write(t.Context(), change(list, half...)); err != nil {
			t.Fatal(in, err)
		}
		err := m.Update(t.Context(), list, func(old []*record.Record) ([]*record.Record, error) {
			slices.Reverse(old)
			return change(list, shown(old)...).Records, nil
		})
		if err != nil {
			t.Errorf("updated in %s: %v", in, err)
		}
		if err := m.Write(t.Context(), change(list, half...), change(other, half...)); !errors.Is(err, migrate.ErrTooLarge) {
			t.Errorf("6,000 values in one step in %s: %v", in, err)
		}
	}
}

// A key of a wrong type holds up its own mark alone, also where Redis decides.
func TestAWrongTypeWhereRedisDecides(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	c := dial(t, server.URL())
	m, err := migrate.Open(t.Context(), migrate.With(migrate.Config{Name: "test", Root: t.TempDir(), Client: c,
		Lease: time.Hour, // nothing is replayed but by this test
	}, oneOfEach, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	to(t, m, "a", phase.RampDown)
	for _, i := range []string{"list:a:1", "string:a:2"} {
		if err := m.Write(t.Context(), change(id(i), "1")); err != nil {
			t.Fatal(err)
		}
	}
	redis(t, c, "DEL", "list:a:1")
	redis(t, c, "SET", "list:a:1", "of another type")
	if _, left, err := m.Replay(t.Context()); err == nil || left != 1 {
		t.Errorf("%d marks are left, %v", left, err)
	}
}
