package reseal_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value/seal"
	"github.com/keywright/keywright/value/seal/reseal"
	"github.com/redis/rueidis"
)

// TestWalkingProcess is no test: it is a process that rotates or adopts, and prints a
// line before each change, so that it can be killed in the middle.
func TestWalkingProcess(t *testing.T) {
	t.Parallel()
	url := os.Getenv("KEYWRIGHT_RESEAL_URL")
	if url == "" {
		return
	}
	r, err := seal.Open(t.Context(), seal.Environment("KEYWRIGHT_KEY_RING", os.Getenv))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, url)
	walk := w.walk(r)
	if walk.Client, err = keywright.Open(t.Context(), url,
		keywright.Options{Wrap: func(inner rueidis.Client) rueidis.Client { return teller{inner} }}); err != nil {
		t.Fatal(err)
	}
	defer walk.Client.Close()
	do := map[string]func(context.Context) (*reseal.Report, error){"rotate": walk.Rotate,
		"adopt": walk.Adopt}[os.Getenv("KEYWRIGHT_RESEAL_DO")]
	report, err := do(t.Context())
	fmt.Println("end", report, err)
}

// teller says when something is about to be changed.
type teller struct{ rueidis.Client }

func (c teller) Do(ctx context.Context, command rueidis.Completed) rueidis.RedisResult {
	if strings.HasPrefix(command.Commands()[0], "EVAL") {
		fmt.Println("change")
	}
	return c.Client.Do(ctx, command)
}

func (c teller) DoMulti(ctx context.Context, commands ...rueidis.Completed) []rueidis.RedisResult {
	if strings.HasPrefix(commands[0].Commands()[0], "EVAL") {
		fmt.Println("change")
	}
	return c.Client.DoMulti(ctx, commands...)
}

// walking runs a rotation or an adoption as a process of its own, and kills it before
// change n; 0: it may end. It reports whether it came to its end.
func walking(t *testing.T, do, url string, ring []byte, n int) (ended bool) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWalkingProcess$")
	c.Env = append(os.Environ(), "KEYWRIGHT_RESEAL_DO="+do, "KEYWRIGHT_RESEAL_URL="+url,
		"KEYWRIGHT_KEY_RING="+string(ring))
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines, all := bufio.NewScanner(out), ""
	for changes := 0; lines.Scan(); {
		all += lines.Text() + "\n"
		if strings.HasPrefix(lines.Text(), "end ") {
			ended = strings.HasSuffix(lines.Text(), "<nil>")
		}
		if lines.Text() == "change" {
			if changes++; changes == n {
				_ = c.Process.Kill()
			}
		}
	}
	_ = c.Wait()
	if n == 0 && !ended {
		t.Fatalf("%s failed:\n%s", do, all)
	}
	return ended
}

// records are written all the time, each by one writer. A record remembers the
// last value that was acknowledged.
type records struct {
	*world
	ring *seal.Ring
	mu   sync.RWMutex // writers hold it for reading
	last []int
	at   []keywright.Place
}

func newRecords(w *world, r *seal.Ring) *records {
	all := &records{world: w, ring: r}
	for n := range 150 {
		all.at = append(all.at, keywright.Place{Schema: "shop", Key: fmt.Sprint("t:", n)},
			keywright.Place{Schema: "shop", Key: fmt.Sprint("h:", n), Field: "phone"})
	}
	for n := range 3000 {
		all.at = append(all.at, keywright.Place{Schema: "shop", Key: fmt.Sprint("m:", n%30), Field: fmt.Sprint("f", n)})
	}
	all.last = make([]int, len(all.at))
	for i := range all.at {
		all.write(i, 1)
	}
	return all
}

func (r *records) write(i, value int) {
	at := r.at[i]
	text, err := r.ring.Seal(at, strconv.Itoa(value))
	if err != nil {
		r.Error(err)
	}
	raw := r.client.Raw()
	command := raw.B().Set().Key(at.Key).Value(text).Build()
	if at.Field != "" {
		command = raw.B().Hset().Key(at.Key).FieldValue().FieldValue(at.Field, text).Build()
	}
	if err := raw.Do(context.Background(), command).Error(); err != nil {
		r.Error(err)
	}
	r.last[i] = value
}

// load writes until ctx ends.
func (r *records) load(ctx context.Context, first, step int) {
	for n := 2; ctx.Err() == nil; n++ {
		for i := first; i < len(r.at) && ctx.Err() == nil; i += step {
			r.mu.RLock()
			r.write(i, n)
			r.mu.RUnlock()
		}
	}
}

// check holds the writers, and reads everything: each record opens and has the
// value that was written last.
func (r *records) check(ring *seal.Ring, when string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	raw, wrong := r.client.Raw(), 0
	for i, at := range r.at {
		command := raw.B().Get().Key(at.Key).Build()
		if at.Field != "" {
			command = raw.B().Hget().Key(at.Key).Field(at.Field).Build()
		}
		text, err := raw.Do(context.Background(), command).ToString()
		if err == nil {
			text, err = ring.Open(at, text)
		}
		if err != nil || text != strconv.Itoa(r.last[i]) {
			if wrong++; wrong < 5 {
				r.Errorf("%s: %s %s is %q, %v; want %d", when, at.Key, at.Field, text, err, r.last[i])
			}
		}
	}
}

// TestKills: rotations under live writers, killed in the middle again and again.
// After each kill every record opens and no write is undone; a key is said to be
// removable when nothing is under it, and then it is.
func TestKills(t *testing.T) {
	t.Parallel()
	kills := gate.Count(t, "KEYWRIGHT_KILLS", 1, 8)
	s := keywrighttest.Start(t, keywrighttest.Redis)
	w := newWorld(t, s.URL())
	var mu sync.Mutex
	text := servertest.RingText("k0")
	live, err := seal.Open(t.Context(),
		func(context.Context) ([]byte, error) { mu.Lock(); defer mu.Unlock(); return text, nil })
	if err != nil {
		t.Fatal(err)
	}
	all := newRecords(w, live)
	next := func(to []byte) {
		all.mu.Lock() // no write is under way that was sealed with the ring before
		defer all.mu.Unlock()
		mu.Lock()
		text = to
		mu.Unlock()
		if err := live.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for i := range 2 {
		writers.Go(func() { all.load(ctx, i, 2) })
	}
	defer func() { stop(); writers.Wait() }()
	for killed, key := 0, 0; killed < kills; key++ {
		before, after := fmt.Sprint("k", key), fmt.Sprint("k", key+1)
		next(servertest.RingText(before, after)) // first everybody can open with the new key
		both := servertest.RingText(after, before)
		for n := range min(5, kills-killed) {
			if walking(t, "rotate", s.URL(), both, 1+n%3) {
				t.Fatal("it came to its end before it was killed")
			}
			all.check(live, fmt.Sprintf("after kill %d", killed+n+1))
			killed++
		}
		if still := w.status(live).Unused(); len(still) > 0 && still[0] == before {
			t.Errorf("%s is said to be removable", before)
		}
		next(both) // then everybody seals with it
		walking(t, "rotate", s.URL(), both, 0)
		if got := w.status(live).Unused(); len(got) != 1 || got[0] != before {
			t.Fatalf("removable: %q, want %s", got, before)
		}
		next(servertest.RingText(after))
		all.check(live, "without "+before)
	}
	t.Logf("%d kills, %d records, last values %d to %d", kills, len(all.at), all.last[0], all.last[len(all.last)-1])
}

// TestLostReplies: a change whose reply is lost is not made twice, and the rotation
// comes to its end.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	w := newWorld(t, s.URL())
	texts := w.fill(ring(t, "older"))
	if _, err := w.walk(ring(t, "old", "older")).Rotate(t.Context()); err != nil { // now the server knows the script
		t.Fatal(err)
	}
	proxy := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	walk := w.walk(ring(t, "new", "old", "older"))
	c, err := keywright.Open(t.Context(), "redis://"+proxy.Addr(), keywright.Options{Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	walk.Client = c
	proxy.LoseReplyTo("EVAL")
	r, err := walk.Rotate(t.Context())
	if err != nil || !proxy.Lost() {
		t.Fatal(err, proxy.Lost())
	}
	w.equal("at last", r.Total().Keys, map[string]int64{"new": texts - 2, "older": 2})
	if r.Raced == 0 {
		t.Error("nothing was asked for a second time")
	}
}
