package restore_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/apply/copier"
	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/internal/gate"
	kt "github.com/keywright/keywright/keywrighttest"
)

// crowded starts a server that evicts keys, with those of another program in it, and room for so many bytes.
func crowded(t *testing.T, policy string, room int) *kt.Server {
	t.Helper()
	s := kt.Start(t, gate.Pick(t, kt.Brands())[0], kt.Config("maxmemory-policy", policy))
	for i := range 300 {
		s.Do("SET", fmt.Sprint("live:", i), strings.Repeat("x", 1000))
	}
	used, err := strconv.Atoi(s.Info("used_memory"))
	must(t, err)
	s.Do("CONFIG", "SET", "maxmemory", strconv.Itoa(used+room))
	return s
}

// evicted returns how many keys a server has evicted since its start.
func evicted(s *kt.Server) int64 {
	n, _ := strconv.ParseInt(s.Info("evicted_keys"), 10, 64)
	return n
}

// TestAServerThatEvicts: a copy into a server that makes room by evicting ends as soon as it does, and says how many
// keys went; what is known not to fit is not begun. With MayEvict it goes on, and the report has the number.
func TestAServerThatEvicts(t *testing.T) {
	t.Parallel()
	from := kt.Start(t, kt.Redis)
	var commands [][]string
	for i := range 10_000 {
		commands = append(commands, []string{"SET", fmt.Sprint("session:", i), strings.Repeat("y", 1000)})
	}
	from.Pipe(commands...)
	for name, c := range map[string]struct {
		o     restore.Options
		ends  func(error) bool
		begun bool
	}{
		"not known": {restore.Options{},
			func(err error) bool { return errors.As(err, new(*restore.EvictionError)) }, true},
		"known": {restore.Options{Needs: 10_000_000},
			func(err error) bool { return errors.As(err, new(*restore.RoomError)) }, false},
		"allowed": {restore.Options{Needs: 10_000_000, MayEvict: true},
			func(err error) bool { return err == nil }, true},
	} {
		to := crowded(t, "allkeys-random", 2<<20)
		before := evicted(to)
		o := copier.Options{Options: c.o, Rounds: -1}
		r, err := copier.Copy(t.Context(), applytest.Live(t, from.URL(), 0), applytest.Live(t, to.URL(), 0),
			applytest.Open(t, to.URL()), o)
		if !c.ends(err) {
			t.Errorf("%s: %v", name, err)
		}
		n := evicted(to) - before
		if c.begun && n == 0 || (r.Restored > 0) != c.begun || !c.o.MayEvict && r.Restored > 8000 {
			t.Errorf("%s: evicted %d, written %d", name, n, r.Restored)
		}
		if len(r.Memory) != 1 || !r.Memory[0].Evicts() || r.Memory[0].Limit == 0 ||
			(r.Memory[0].Evicted > 0) != c.begun || r.Memory[0].Evicted > n { // connecting alone may evict some

			t.Errorf("%s: %+v, evicted %d", name, r.Memory, n)
		}
		applytest.Adds(t, r.Report)
	}
}
