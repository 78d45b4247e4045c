package migrate_test

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"

	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// Updates of one record by several callers of two processes are one after the other, while
// the phase goes forward and back.
func TestUpdates(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	root := t.TempDir()
	a, b := open(t, root, server.URL(), oneOfEach, nil), open(t, root, server.URL(), oneOfEach, nil)
	to(t, a, "a", phase.Shadow)
	i := id("string:a:n")
	const callers, times = 3, 8
	var work sync.WaitGroup
	for _, m := range []*migrate.Migration{a, b} {
		for range callers {
			work.Go(func() {
				for range times {
					if err := m.Update(t.Context(), i, increase(i)); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	to(t, a, "a", phase.Live)
	to(t, a, "a", phase.DualWrite)
	to(t, a, "a", phase.RampDown)
	work.Wait()
	if _, left, err := a.Replay(t.Context()); left > 0 || err != nil {
		t.Error(left, err)
	}
	read, err := b.Read(t.Context(), i)
	if want := []string{strconv.Itoa(2 * callers * times)}; err != nil || !slices.Equal(shown(read), want) {
		t.Errorf("%v %v, want %v", shown(read), err, want)
	}
	for _, at := range []phase.Phase{phase.RampDown, phase.Shadow} {
		to(t, a, "a", at)
		no := errors.New("no")
		if err := a.Update(t.Context(), i, func([]*record.Record) ([]*record.Record, error) {
			return nil,
				no
		}); !errors.Is(err, no) {
			t.Errorf("%s: %v", at, err)
		}
		if now, err := a.Read(t.Context(), i); err != nil || !slices.Equal(shown(now), shown(read)) {
			t.Errorf("%s: a refused update has changed it: %v %v", at, shown(now), err)
		}
	}
}

func increase(i record.ID) func([]*record.Record) ([]*record.Record, error) {
	return func(old []*record.Record) ([]*record.Record, error) {
		n := 0
		if len(old) > 0 {
			n, _ = strconv.Atoi(string(old[0].Value))
		}
		return records(i, strconv.Itoa(n+1)), nil
	}
}
