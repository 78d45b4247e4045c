package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/servertest"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

// What processes have seen of Redis is not taken for nothing where it cannot be read: nothing is
// read or written until it is, or until a repair sets it aside by name. A dead process keeps the
// file that cannot be read.
func TestSeenThatCannotBeRead(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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

// TestNoPhaseWithoutRedis starts without a file that says the phase and without Redis: nothing is read or
// written, whether the file was lost or there was none yet. Once Redis has answered it may be away.
func TestNoPhaseWithoutRedis(t *testing.T) {
	t.Parallel()
	for _, at := range []phase.Phase{phase.Off, phase.Live} {
		server, root := kt.Start(t, kt.Redis), t.TempDir()
		i := id("string:a:1")
		m := open(t, root, server.URL(), oneOfEach, nil)
		to(t, m, "a", at)
		if err := errors.Join(m.Write(t.Context(), change(i, "1")), m.Close(),
			os.RemoveAll(filepath.Join(root, ".keywright"))); err != nil {
			t.Fatal(err)
		}
		proxy := kt.NewProxy(t, strings.TrimPrefix(server.URL(), "redis://"), kt.Rules{})
		m = throughProxy(t, root, proxy)
		read, err := m.Read(t.Context(), i)
		if class, _ := keywright.ClassOf(err); class != keywright.NotApplied || len(read) > 0 {
			t.Errorf("%s: read %v, %v", at, shown(read), err)
		}
		err = m.Write(t.Context(), change(i, "2"))
		if class, _ := keywright.ClassOf(err); class != keywright.NotApplied {
			t.Errorf("%s: written without a phase: %v", at, err)
		}
		proxy.Thaw()
		if at == phase.Live {
			continue // TestAheadIsAskedAgain goes on
		}
		eventually(t, func() error {
			read, err := m.Read(t.Context(), i)
			if err == nil && !slices.Equal(shown(read), []string{"1"}) {
				t.Fatalf("with Redis: %v", shown(read))
			}
			return err
		})
		path := filepath.Join(root, ".keywright", "test", "phase.json")
		eventually(t, func() error { _, err := os.Stat(path); return err })
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		m = throughProxy(t, root, kt.NewProxy(t, strings.TrimPrefix(server.URL(), "redis://"), kt.Rules{}))
		if err := m.Write(t.Context(), change(i, "3")); err != nil {
			t.Errorf("a file says that it is off, and Redis is away: %v", err)
		}
	}
}

// throughProxy opens a migration while its proxy is frozen.
func throughProxy(t *testing.T, root string, proxy *kt.Proxy) *migrate.Migration {
	t.Helper()
	c := servertest.Open(t, "redis://"+proxy.Addr(), keywright.Options{NoCache: true, Attempts: 1,
		Timeout: 300 * time.Millisecond})
	proxy.Freeze()
	m, err := migrate.Open(t.Context(), migrate.With(migrate.Config{Name: "test", Root: root, Client: c,
		Lease: 2 * time.Second, Wait: 2 * time.Second}, oneOfEach, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// TestThePhaseIsLostMeanwhile takes the file that says the phase away from a process that runs, and brings
// an older one: it knows better.
func TestThePhaseIsLostMeanwhile(t *testing.T) {
	t.Parallel()
	server, root := kt.Start(t, kt.Redis), t.TempDir()
	m := open(t, root, server.URL(), oneOfEach, nil)
	i, path := id("string:a:1"), filepath.Join(root, ".keywright", "test", "phase.json")
	to(t, m, "a", phase.Backfill)
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to(t, m, "a", phase.Live)
	if err := m.Write(t.Context(), change(i, "1")); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, lose := range []func() error{func() error { return os.Remove(path) },
		func() error { return os.WriteFile(path, old, 0o600) }} {
		if err := lose(); err != nil {
			t.Fatal(err)
		}
		if read, err := m.Read(t.Context(), i); !errors.Is(err, phase.ErrAhead) {
			t.Errorf("read %v, %v", shown(read), err)
		}
		if err := m.Write(t.Context(), change(i, "of an older phase")); !errors.Is(err, phase.ErrAhead) {
			t.Errorf("written: %v", err)
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if read, err := m.Read(t.Context(), i); err != nil || !slices.Equal(shown(read), []string{"1"}) {
			t.Errorf("when it is back: %v, %v", shown(read), err)
		}
	}
}

// TestAheadIsAskedAgain opens while Redis does not answer, where the files do not know the last phase: none says one,
// or an older one does. Once Redis answers, this process reads nothing more.
func TestAheadIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, older := range []bool{false, true} {
		server, root := kt.Start(t, kt.Redis), t.TempDir()
		folder := filepath.Join(root, ".keywright")
		path := filepath.Join(folder, "test", "phase.json")
		m := open(t, root, server.URL(), oneOfEach, nil)
		to(t, m, "a", phase.Backfill)
		old, err := os.ReadFile(path)
		expect.NoError(t, err)
		to(t, m, "a", phase.Live)
		i := id("string:a:1")
		expect.NoError(t, m.Write(t.Context(), change(i, "1")))
		expect.NoError(t, m.Close())
		if older {
			expect.NoError(t, os.WriteFile(path, old, 0o600))
		} else {
			expect.NoError(t, os.RemoveAll(folder))
		}
		proxy := kt.NewProxy(t, strings.TrimPrefix(server.URL(), "redis://"), kt.Rules{})
		m = throughProxy(t, root, proxy)
		proxy.Thaw()
		eventually(t, func() error {
			if got, err := m.Read(t.Context(), i); !errors.Is(err, phase.ErrAhead) {
				return errors.Join(fmt.Errorf("an older file: %v; read: %s", older, strings.Join(shown(got), ", ")), err)
			}
			return nil
		})
	}
}

// A write that has begun when a process ends is waited for: the process does not end between
// what looks whether it lives and what says that it works.
func TestCloseWaitsForWhatHasBegun(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	for _, what := range []string{"a write", "a push"} {
		m := open(t, t.TempDir(), server.URL(), oneOfEach, nil)
		if migrate.EndsWhileBegun(m, what) {
			t.Errorf("it ends in the middle of the begin of %s", what)
		}
	}
}

// TestTwoDeclarations has two versions of a program take part: a part that they declare alike goes on, one
// that they do not is neither imported nor advanced until the other version has ended. It may go back.
func TestTwoDeclarations(t *testing.T) {
	t.Parallel()
	server, root := kt.Start(t, kt.Redis, kt.Config("appendonly", "yes")), t.TempDir()
	writeFile(t, root, "state.json", `{"guilds": {"456": {"persona": "kind"}}}`)
	m := openDeclared(t, root, server.URL(), declaredMap(t, bot))
	both := func(m *migrate.Migration, change func(context.Context, string, migrate.ChangeOptions) (*migrate.Changed,
		error)) (errs []error) {
		for _, part := range []string{"history", "settings"} {
			if _, err := m.Plan(t.Context(), part); err != nil {
				t.Fatal(err)
			}
			_, err := change(t.Context(), part, migrate.ChangeOptions{Force: true})
			errs = append(errs, err)
		}
		return errs
	}
	if errs := both(m, m.Advance); errors.Join(errs...) != nil {
		t.Fatal(errs)
	}
	for what, text := range map[string]string{
		"another value": strings.Replace(bot, "to: persona, value: .", "to: persona, value: lower(.)", 1),
		"another key":   strings.Replace(bot, `"p:{g}"`, `"personas:{g}"`, 1),
		"without a move": strings.Replace(bot, `          - {from: "guild:/words/[]", to: words, member: .}
`, "", 1),
		"without the part": bot[:strings.Index(bot, "      settings:")],
	} {
		other := openDeclared(t, root, server.URL(), declaredMap(t, text))
		errs := both(m, m.Advance)
		if errs[0] != nil || !errors.Is(errs[1], migrate.ErrOtherwise) {
			t.Errorf("%s: advanced: %v", what, errs)
		}
		if class, _ := keywright.ClassOf(errs[1]); class != keywright.Refused {
			t.Errorf("%s: class %v", what, class)
		}
		if _, err := m.Import(t.Context(), "settings", migrate.ImportOptions{}); !errors.Is(err, migrate.ErrOtherwise) {
			t.Errorf("%s: imported: %v", what, err)
		}
		all, err := m.Processes("settings")
		if err != nil || len(all) != 2 || all[0].Otherwise == all[1].Otherwise {
			t.Errorf("%s: %+v, %v", what, all, err)
		}
		if _, err := m.Rollback(t.Context(), "history", migrate.ChangeOptions{}); err != nil {
			t.Errorf("%s: back: %v", what, err)
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if errs := both(m, m.Advance); errors.Join(errs...) != nil {
		t.Errorf("when it has ended: %v", errs)
	}
}
