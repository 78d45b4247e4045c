package bbolt_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/fallback/bbolt"
)

// faulted returns a child whose file is cut to so many bytes while it is open: the memory
// that the file is mapped to is no longer there.
func faulted(path, size string) error {
	f, err := bbolt.Open(path, bbolt.Options{})
	if err != nil {
		return err
	}
	s, err := f.Store("notes", fallback.Limits{LogEntries: 1 << 20, LogBytes: 1 << 40})
	if err != nil {
		return err
	}
	for i := range 100 {
		if _, err := write(s, fmt.Sprint("a", i), 10_000); err != nil {
			return err
		}
	}
	bytes, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return err
	}
	if err := os.Truncate(path, bytes); err != nil {
		return err
	}
	var all sync.WaitGroup
	failed := make(chan error, 16)
	for w := range 8 {
		all.Go(func() { failed <- damagedSoon(s, w) })
	}
	all.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	if _, _, err := s.Get(ctx, "a1"); !errors.Is(err, fallback.ErrDamaged) ||
		!strings.HasSuffix(err.Error(), fallback.ErrDamaged.Error()) {
		return fmt.Errorf("after the fault the file is touched again: %w", err)
	}
	fmt.Println("all calls ended,", f.Close())
	return nil
}

// damagedSoon reads and writes until the store says that it is damaged.
func damagedSoon(s *bbolt.Store, w int) error {
	for i := range 100 {
		var err error
		if (w+i)%2 == 0 {
			_, err = write(s, fmt.Sprint("b", w), 10_000)
		} else {
			_, _, err = s.Get(ctx, fmt.Sprint("a", i))
		}
		if errors.Is(err, fallback.ErrDamaged) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("no damage: %w", err)
		}
	}
	return errors.New("nothing was noticed")
}

// A file that is cut while it is open ends no program: every call under way and after
// it says that the file is damaged, and the next Open puts it aside.
func TestAFileThatIsCutWhileItIsOpenEndsNoProgram(t *testing.T) {
	for _, size := range []int{0, os.Getpagesize(), 2 * os.Getpagesize(), 20 * os.Getpagesize()} {
		path := filepath.Join(t.TempDir(), "second")
		cmd, out := start(t, "KEYWRIGHT_TEST_FILE="+path, fmt.Sprintf("KEYWRIGHT_TEST_CUT=%d", size))
		late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		text, _ := io.ReadAll(out)
		err := cmd.Wait()
		if !late.Stop() || err != nil || !strings.Contains(string(text), "all calls ended") {
			t.Errorf("cut to %d bytes: %v, %s", size, err, text)
			continue
		}
		var damaged *bbolt.Damaged
		if _, err := bbolt.Open(path, bbolt.Options{}); !errors.As(err, &damaged) || damaged.Aside == "" {
			t.Errorf("cut to %d bytes, opened: %v", size, err)
			continue
		}
		if err := file(t, path).Close(); err != nil {
			t.Error(err)
		}
	}
}
