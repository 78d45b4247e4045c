package serve_test

import (
	"fmt"
	"math"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
)

// thousands is a keyspace of a thousand entries, of whose queue there are a thousand.
func thousands(t *testing.T) func(*observe.Options) {
	t.Helper()
	var text strings.Builder
	text.WriteString(declared)
	for i := range 1000 {
		fmt.Fprintf(&text, "  text%d: {key: \"shop:text%d:{id}\", type: string, ttl: 1h}\n", i, i)
	}
	ks, found := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(text.String())}}, "keyspace.yaml")
	if finding.Count(found).Errors > 0 {
		t.Fatal(found)
	}
	return func(o *observe.Options) { o.Declaration.Keyspace, o.Pace = ks, 1<<20 }
}

// heap returns the bytes in use that no collection frees.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers have let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestMemoryStaysFlat: what serve holds does not grow with time. A thousand entries are audited and a thousand queues
// are read again and again, while a page, Prometheus and a client without deltas ask; keys and jobs come and go. It is
// not parallel: the heap is that of the process.
func TestMemoryStaysFlat(t *testing.T) {
	rounds := gate.Count(t, "KEYWRIGHT_SOAK", 40, 200)
	r := newRig(t, thousands(t))
	r.runs.Store(true) // else its many requests are more than one may send
	r.redis.Do("EVAL", `for i = 1, 999 do redis.call('RPUSH', 'shop:jobs:q'..i..':high', 'j') end
for i = 0, 999 do redis.call('SET', 'shop:text'..i..':1', 'x', 'EX', 3600) end`, "0")
	changes, stop := r.target.Subscribe()
	defer stop()
	pages := []*reader{}
	paths := []string{"/api/v1/t/main/overview", "/api/v1/t/main/queues?limit=10000", "/api/v1/now", "/api/v1/targets"}
	for range paths {
		pages = append(pages, &reader{rig: r})
	}
	// A reading that is under way holds as much again for a moment. So each is the least of a quarter of the rounds.
	begin, end := int64(math.MaxInt64), int64(math.MaxInt64)
	for n := range rounds {
		r.redis.Do("SET", fmt.Sprintf("shop:text%d:%d", n%1000, n), "v", "EX", "60")
		r.redis.Do("RPUSH", fmt.Sprintf("shop:jobs:q%d:high", 1+n%999), fmt.Sprint("j", n))
		audited, read := r.target.State().Audits.At, r.target.State().Queues.At
		r.target.AuditNow()
		r.until(changes, func(s observe.State) bool { return s.Audits.At.After(audited) && s.Queues.At.After(read) })
		for i, path := range paths {
			pages[i].asks(path)
			r.get(http.StatusOK, path)
		}
		r.text("/metrics")
		switch {
		case n >= rounds/4 && n < rounds/2: // every buffer has been used, and every reading was made
			begin = min(begin, heap())
		case n >= rounds-rounds/4:
			end = min(end, heap())
		}
	}
	if queues := len(r.target.State().Queues.Value.Queues); queues != 1000 {
		t.Errorf("%d queues are read: the test says nothing", queues)
	}
	t.Logf("%d rounds: the heap had %.1f MB in their second quarter, and %.1f MB in the last", rounds, float64(begin)/1e6,
		float64(end)/1e6)
	if end > begin+begin/5+2<<20 {
		t.Errorf("the heap grows: from %d to %d bytes", begin, end)
	}
}
