package limit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"pgregory.net/rapid"
)

// question describes what a process asks of a limit, and answer what it gets.
type question struct {
	Key, Algorithm  string
	Limit, Burst, N int64
}

type outcome struct {
	Result
	Err string
}

// rule returns the rule that a question is about: of an hour.
func (q question) rule() Rule {
	return map[string]Rule{"gcra": GCRA(q.Limit, time.Hour, max(q.Burst, 1)), "sliding": Sliding(q.Limit, time.Hour),
		"fixed": Fixed(q.Limit, time.Hour)}[q.Algorithm]
}

const askerURL = "KEYWRIGHT_LIMIT_ASKER"

// TestAsker is no test: it is a process that asks what its standard input says, with
// the clock of the server alone, until that ends.
func TestAsker(t *testing.T) {
	url := os.Getenv(askerURL)
	if url == "" {
		return
	}
	c := open(t, url, keywright.Options{})
	lines, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var q question
		if err := lines.Decode(&q); err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			return
		}
		l, a := New(keywright.Binding{Client: c, Entry: expires(100 * time.Hour)}, q.rule()).Of(q.Key, nil), outcome{}
		var err error
		if q.N == 0 {
			a.Result, err = l.Peek(t.Context())
		} else {
			a.Result, err = l.AllowN(t.Context(), q.N)
		}
		if err != nil {
			a.Err = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			t.Fatal(err)
		}
	}
}

// asker represents a process that asks.
type asker struct {
	in  io.WriteCloser
	out *bufio.Reader
}

func startAsker(t *testing.T, url string) *asker {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestAsker$")
	cmd.Env, cmd.Stderr = append(os.Environ(), askerURL+"="+url), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _, _ = io.Copy(io.Discard, out); _ = cmd.Wait() })
	return &asker{in, bufio.NewReader(out)}
}

func (a *asker) begin(q question) error { return json.NewEncoder(a.in).Encode(q) }

func (a *asker) end() (got outcome, err error) {
	line, err := a.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &got)
	}
	if err == nil && got.Err != "" {
		err = fmt.Errorf("%s", got.Err)
	}
	return got, err
}

// quota is Fixed as a window that the first one opens, in whole milliseconds.
type quota struct {
	limit, per, count, end int64 // in ms
}

func (q *quota) ask(n, now int64) Result {
	ms := now / 1000
	allowed := max(n, 1) <= q.limit-q.count
	if n > 0 && (allowed && q.count == 0 || q.count > 0 && q.end-ms > q.per) {
		q.end = ms + q.per
	}
	if n > 0 && allowed {
		q.count += n
	}
	left := int64(0)
	if q.count > 0 {
		left = (q.end - ms) * 1000
	}
	return answer(allowed, q.limit-q.count, map[bool]int64{false: left}[allowed], left)
}

func modelOf(q question) func(n, now int64) Result {
	const per = 60 * minute
	each := (per + q.Limit - 1) / q.Limit
	return map[string]func(n, now int64) Result{
		"gcra":    (&bucket{each: each, most: each * q.Burst, level: each * q.Burst}).ask,
		"sliding": (&log{limit: q.Limit, width: per / 60, passes: map[int64]int64{}}).ask,
		"fixed":   (&quota{limit: q.Limit, per: per / 1000}).ask,
	}[q.Algorithm]
}

// TestLimitsOfTwoProcesses: the answers that two processes get, one after the other or both at
// once, is what the model says to the one that came first, also when the server's clock
// is put forward or back meanwhile. That clock stays where it is between its steps: every
// answer is exact. A key is over only when the model says that all is free again.
func TestLimitsOfTwoProcesses(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey, keywrighttest.MovableClock())
	processes := []*asker{startAsker(t, s.URL()), startAsker(t, s.URL())}
	keys := 0
	rapid.Check(gate.Fixed(t), func(rt *rapid.T) {
		keys++
		q := question{Key: fmt.Sprint("rate:", keys),
			Algorithm: rapid.SampledFrom([]string{"gcra", "sliding", "fixed"}).Draw(rt, "algorithm"),
			Limit:     rapid.Int64Range(1, 40).Draw(rt, "limit"), Burst: rapid.Int64Range(1, 40).Draw(rt, "burst")}
		model, now, kept := modelOf(q), int64(1_795_000_000_000_000), false
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			now += rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(0, 2*minute), rapid.Int64Range(0, 180*minute),
				rapid.Int64Range(-120*minute, 0)).Draw(rt, "us")
			s.FreezeClock(time.UnixMicro(now))
			there := s.Do("EXISTS", q.Key).(int64) == 1
			if kept && !there {
				if free := model(0, now); free.ResetAfter > 0 {
					rt.Fatalf("%+v: the key is gone %v too early", q, free.ResetAfter)
				}
				model = modelOf(q)
			}
			asking := processes
			if !rapid.Bool().Draw(rt, "both at once") {
				i := rapid.IntRange(0, 1).Draw(rt, "process")
				asking = processes[i : i+1]
			}
			q.N = rapid.Int64Range(0, q.rule().limit).Draw(rt, "n")
			ask(rt, q, asking, model, now)
			kept = s.Do("EXISTS", q.Key).(int64) == 1
		}
	})
}

// ask lets processes ask one thing at once, and holds their answers against the model,
// in some order.
func ask(rt *rapid.T, q question, asking []*asker, model func(n, now int64) Result, now int64) {
	for _, p := range asking {
		if err := p.begin(q); err != nil {
			rt.Fatal(err)
		}
	}
	var got, want []Result
	for _, p := range asking {
		one, err := p.end()
		if err != nil {
			rt.Fatal(err)
		}
		got, want = append(got, one.Result), append(want, model(q.N, now))
	}
	last := len(got) - 1
	if got[0] != want[0] {
		got[0], got[last] = got[last], got[0] // the other one came first
	}
	if got[0] != want[0] || got[last] != want[last] {
		rt.Fatalf("%+v: %+v; the model says %+v", q, got, want)
	}
}
