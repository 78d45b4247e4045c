package examples

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/pressure"
	"github.com/keywright/keywright/examples/harca/harcakeys"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/kernel/guard"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value/seal"
)

// sealing returns a client of harca's keyspace with a guard and a key ring.
func sealing(t *testing.T, url string) *keywright.Client {
	t.Helper()
	ks, _ := load.File(os.DirFS("harca"), "keyspace.yaml")
	g, err := guard.New(ks, guard.Options{})
	check(t, err)
	text, _, err := seal.Generate()
	check(t, err)
	ring, err := seal.Parse(text)
	check(t, err)
	c, err := keywright.Open(t.Context(), url, keywright.Options{Wrap: g.Wrap, Sealer: ring})
	check(t, err)
	t.Cleanup(c.Close)
	return c
}

var check = expect.NoError

// TestPressure: harca's declared answer to short memory, on a server of a few
// megabytes that refuses writes when it is full: items of low priority are
// shortened at 80 %, and released at 90 % until the server is at 85 %.
func TestPressure(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			s := keywrighttest.Start(t, brand)
			k := harcakeys.New(sealing(t, s.URL()))
			remember(t, k, 1500, 1, 3, 9)
			w := k.Pressure(pressure.Options{Pause: time.Nanosecond, Rest: time.Nanosecond})
			priority := func(n int) string { return fmt.Sprintf("harca:memory:short:idx:priority:%d", n) }
			level := func(ratio float64) pressure.Report {
				used, _ := strconv.ParseFloat(s.Info("used_memory"), 64)
				s.Do("CONFIG", "SET", "maxmemory", strconv.Itoa(int(used/ratio)))
				reports, err := w.Once(t.Context())
				check(t, err)
				if len(reports) == 0 {
					t.Fatalf("nothing was done at %v", ratio)
				}
				return reports[0]
			}
			if r := level(.85); r.Shortened != 3000 || r.End != pressure.Through {
				t.Errorf("at 85 %%: %+v", r)
			}
			if r := level(1.3); r.Released < 1500 || r.End != pressure.Below || r.After.Ratio() >= .85 {
				t.Errorf("when it is full: %+v", r)
			}
			if s.Do("ZCARD", priority(1)) != int64(0) || s.Do("ZCARD", priority(9)) != int64(1500) {
				t.Errorf("%v of priority 1 and %v of priority 9 are left", s.Do("ZCARD", priority(1)), s.Do("ZCARD", priority(9)))
			}
			remember(t, k, 10, 9) // there is room again
		})
	}
}

// remember makes items of some priorities, to live for an hour.
func remember(t *testing.T, k *harcakeys.Keyspace, each int, priorities ...int64) {
	t.Helper()
	long := json.RawMessage(`{"note":"` + strings.Repeat("x", 1000) + `"}`)
	var running sync.WaitGroup
	room := make(chan struct{}, 64)
	for _, p := range priorities {
		for range each {
			room <- struct{}{}
			running.Go(func() {
				defer func() { <-room }()
				id := newID()
				item := harcakeys.ItemValue{ID: id, Type: "fact", Content: []byte(`{}`), ContextID: "global", Priority: p,
					Metadata: long}
				if _, err := k.ItemStore().Create(context.Background(), id, item, keywright.ExpiresIn(time.Hour)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	running.Wait()
}

var ids struct {
	sync.Mutex
	last int
}

func newID() string {
	ids.Lock()
	defer ids.Unlock()
	ids.last++
	return fmt.Sprintf("01932f6e-7c1a-4d3e-8f60-%012x", ids.last)
}
