package migrate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

// What processes have seen of Redis is not taken for nothing where it cannot be read: nothing is
// read or written until it is, or until a repair sets it aside by name. A dead process keeps the
// file that cannot be read.
func TestSeenThatCannotBeRead(t *testing.T) {
	for name, damage := range map[string]func(own string) string{
		"seen.json":   func(own string) string { return filepath.Join(own, "seen.json") },
		"of the dead": func(own string) string { return filepath.Join(own, "processes", "1-dead.beat") },
	} {
		t.Run(name, func(t *testing.T) {
			server, root := kt.Start(t, kt.Redis), t.TempDir()
			c := dial(t, server.URL())
			m := open(t, root, server.URL(), oneOfEach, nil)
			to(t, m, "a", phase.Live)
			i := id("string:a:1")
			if err := m.Write(t.Context(), change(i, "1")); err != nil {
				t.Fatal(err)
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			own := filepath.Join(root, ".keywright", "test")
			path := damage(own)
			if lock, is := strings.CutSuffix(path, ".beat"); is {
				writeFile(t, filepath.Dir(path), filepath.Base(lock)+".lock", "")
			}
			writeFile(t, filepath.Dir(path), filepath.Base(path), `{"seen": {"a": 9000000000000000`)
			redis(t, c, "HSET", fence, "ticket:a", "1") // as after a failover without the last writes
			m = open(t, root, server.URL(), oneOfEach, nil)
			if got, err := m.Read(t.Context(), i); !errors.Is(err, migrate.ErrUnseen) {
				t.Errorf("read: %v %v", shown(got), err)
			}
			err := m.Write(t.Context(), change(i, "2"))
			if class, _ := keywright.ClassOf(err); !errors.Is(err, migrate.ErrUnseen) || class != keywright.Refused {
				t.Errorf("written: %v", err)
			}
			if _, err := m.Rollback(t.Context(), "a", migrate.ChangeOptions{Force: true}); !errors.Is(err, migrate.ErrUnseen) {
				t.Errorf("rolled back: %v", err)
			}
			_, _, _ = m.Replay(t.Context()) // takes over what the dead have left
			if _, err := os.Stat(path); err != nil {
				t.Errorf("it is gone: %v", err)
			}
			o := migrate.RepairOptions{From: phase.Redis}
			if _, err := m.Repair(t.Context(), "a", o); !errors.Is(err, migrate.ErrUnseen) {
				t.Errorf("repaired without a word: %v", err)
			}
			o.Accept = true
			if _, err := m.Repair(t.Context(), "a", o); err != nil {
				t.Fatal(err)
			}
			if err := m.Write(t.Context(), change(i, "3")); err != nil {
				t.Errorf("after a repair: %v", err)
			}
		})
	}
}

// A process whose word cannot be read, and that has its lock, is one that has not confirmed.
func TestAProcessWhoseWordCannotBeRead(t *testing.T) {
	server, root := kt.Start(t, kt.Redis), t.TempDir()
	m := open(t, root, server.URL(), oneOfEach, nil)
	folder := filepath.Join(root, ".keywright", "test", "processes")
	writeFile(t, folder, "1-other.beat", "{")
	writeFile(t, folder, "1-other.lock", "")
	free, err := migrate.HoldLock(filepath.Join(folder, "1-other.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	all, err := m.Processes("a")
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v %v", all, err)
	}
	for _, p := range all {
		if p.ID == "1-other" && (!p.Live || p.Confirmed != 0) {
			t.Errorf("%+v", p)
		}
	}
}

// What a process that was killed while it wrote has left goes with it.
func TestLeftOfTheDead(t *testing.T) {
	server, root := kt.Start(t, kt.Redis), t.TempDir()
	folder := filepath.Join(root, ".keywright", "test", "processes")
	for _, kind := range []string{"lock", "beat.tmp", "marks.tmp"} {
		writeFile(t, folder, "1-dead."+kind, "")
	}
	m := open(t, root, server.URL(), oneOfEach, nil)
	if _, _, err := m.Replay(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { // the process itself may be at it
		left, err := filepath.Glob(filepath.Join(folder, "1-dead.*"))
		if len(left) > 0 {
			return errors.New(strings.Join(left, ", "))
		}
		return err
	})
}

// That Redis was later than the files is found out when it answers, also by a process that has
// begun without it.
func TestAheadIsAskedAgain(t *testing.T) {
	server, root := kt.Start(t, kt.Redis), t.TempDir()
	m := open(t, root, server.URL(), oneOfEach, nil)
	to(t, m, "a", phase.Live)
	i := id("string:a:1")
	if err := m.Write(t.Context(), change(i, "1")); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(root, ".keywright")); err != nil {
		t.Fatal(err)
	}
	proxy := kt.NewProxy(t, strings.TrimPrefix(server.URL(), "redis://"), kt.Rules{})
	c, err := keywright.Open(t.Context(), "redis://"+proxy.Addr(), keywright.Options{NoCache: true, Attempts: 1,
		Timeout: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	proxy.Freeze()
	m, err = migrate.Open(t.Context(), migrate.With(migrate.Config{Name: "test", Root: root, Client: c,
		Lease: 2 * time.Second, Wait: 2 * time.Second}, oneOfEach, nil))
	proxy.Thaw()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	eventually(t, func() error {
		if got, err := m.Read(t.Context(), i); !errors.Is(err, phase.ErrAhead) {
			return errors.Join(errors.New("read: "+strings.Join(shown(got), ", ")), err)
		}
		return nil
	})
}

// A write that has begun when a process ends is waited for: the process does not end between
// what looks whether it lives and what says that it works.
func TestCloseWaitsForWhatHasBegun(t *testing.T) {
	server := kt.Start(t, kt.Redis)
	for _, what := range []string{"a write", "a push"} {
		m := open(t, t.TempDir(), server.URL(), oneOfEach, nil)
		if migrate.EndsWhileBegun(m, what) {
			t.Errorf("it ends in the middle of the begin of %s", what)
		}
	}
}
