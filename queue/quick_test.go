package queue_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/mutation"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
)

// state represents a queue that was written by hand, and a call of fetch.
type state struct {
	jobs    [][]string // commands
	lanes   int
	settled []string // two per group: token, id
	args    []string // wanted, look, order
	over    bool     // more leases are over than jobs are wanted, and others are due: only the long way brings those
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// anyState draws one, most of whose jobs are what most jobs are.
func anyState(r *rand.Rand) (s state) {
	s.lanes = 1 + r.IntN(2)
	odd := pick(r, 0, 6, 12) // of a hundred
	is := func() bool { return r.IntN(100) < odd }
	places := []string{pick(r, "lane", "due", "left"), pick(r, "lane", "due", "left", "later", "alive", "mine")}
	wanted, left, due := r.IntN(5), 0, 0
	for i := range r.IntN(9) {
		id, lane := fmt.Sprint("job", i), pick(r, 1, 1, 1, s.lanes)
		key, job := "{mail}:job:"+id, "q1 1 "+[]string{"", "-", "low"}[lane]+" 0 - -\nx"
		if is() {
			job = pick(r, "q1 1 - 3 - {mail}:unique:u\nx", "q2 newer", "no job of ours", "q1 1 gone 0 - -\nx")
		}
		place := pick(r, places...)
		run := pick(r, "", "", "- 7 1 0 0 0 r1\n\n", "- 8000000000000000 2 1 0 3 r1\nfailed\nhalf")
		switch place {
		case "left", "alive", "mine":
			run = pick(r, "w/1 7 1 0 0 0 r1\n\n", "w/1 8000000000000000 2 1 0 3 r1\nfailed\nhalf", "w/1 7 2 0 0 1 r1\n\n",
				"w/1 7 3 1 0 2 r1\n\n")
		}
		if is() {
			run = pick(r, "", "- 7 1 0 1 0 r1\n\n", "w/1 7 1 0 1 0 r1\n\n", "x 7 r2\n", "w/1 7 1 4 0 3 r1\n\n",
				"nothing of ours", "-w/1 7 1 0 0 0 r1\n\n")
		}
		score := strconv.Itoa(1 + r.IntN(2))
		switch place {
		case "lane":
			s.jobs = append(s.jobs, []string{"RPUSH", []string{"", "mail", "{mail}:low"}[lane], id})
			if is() {
				s.jobs = append(s.jobs, []string{"RPUSH", "mail", id})
			}
		case "due":
			due++
			s.jobs = append(s.jobs, []string{"ZADD", "{mail}:delayed", score, id})
		case "later":
			s.jobs = append(s.jobs, []string{"ZADD", "{mail}:delayed", "100000000000000", id})
		case "left":
			left++
			s.jobs = append(s.jobs, []string{"ZADD", "{mail}:leases", score, id})
		case "alive", "mine":
			s.jobs = append(s.jobs, []string{"ZADD", "{mail}:leases", "100000000000000", id})
		}
		if place == "mine" || place == "left" && r.IntN(8) == 0 || is() {
			s.settled = append(s.settled, pick(r, "w/1", "w/1", "w/2"), id)
		}
		if run != "" {
			s.jobs = append(s.jobs, []string{"HSET", "{mail}:runs", id, run})
		}
		if !is() {
			s.jobs = append(s.jobs, []string{"SET", key, job})
		} else if is() {
			s.jobs = append(s.jobs, []string{"HSET", key, "a", "b"})
		}
	}
	if r.IntN(16) == 0 {
		s.jobs = append(s.jobs, []string{"HSET", "{mail}:state", pick(r, "paused", "format"), pick(r, "1", "2")})
	}
	s.over = left >= wanted && due > 0
	look := "more"
	if wanted == 0 || r.IntN(3) == 0 {
		look = ""
	}
	order := "1"
	if s.lanes == 2 {
		order = pick(r, "1 2", "1 2", "2 1")
	}
	s.args = []string{strconv.Itoa(wanted), look, order}
	return s
}

// call sends a script to a queue in that state.
func (st state) call(s *keywrighttest.Server, script string) (before, reply, after string) {
	s.Do("FLUSHALL")
	for _, c := range st.jobs {
		s.Do(c...)
	}
	keys, names := []string{"{mail}:leases", "{mail}:delayed", "{mail}:dead", "{mail}:state", "{mail}:runs", "mail"}, "- "
	if st.lanes == 2 {
		keys, names = append(keys, "{mail}:low"), "- low "
	}
	args := []string{"me/1", st.args[0], "60000", st.args[1], "5", "0", "{mail}:job:", "", "{mail}:result:", "", "10",
		"25", "0", "0", "0", st.args[2], names, "{mail}:ready", "0", "", "me 0"}
	args = append(args, strconv.Itoa(len(st.settled)/2))
	for i := 0; i < len(st.settled); i += 2 {
		args = append(args, st.settled[i]+" ", "1", st.settled[i+1])
	}
	before = contents(s)
	said := s.Do(append(append([]string{"EVAL", script, strconv.Itoa(len(keys))}, keys...), args...)...)
	return before, timeless(fmt.Sprint(said)), contents(s)
}

// dump gives what each key holds, in its order if it has one.
const dump = `local out, keys = {}, redis.call('SCAN', 0, 'COUNT', 1000)[2]
table.sort(keys)
for _, key in ipairs(keys) do
  local type, held = redis.call('TYPE', key).ok, {}
  if type == 'hash' then
    local all = redis.call('HGETALL', key)
    for n = 1, #all, 2 do held[#held + 1] = all[n] .. '=' .. all[n + 1] end
    table.sort(held)
  elseif type == 'list' then
    held = redis.call('LRANGE', key, 0, -1)
  elseif type == 'zset' then
    held = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  end
  out[#out + 1] = key .. ': ' .. table.concat(held, ' ')
end
return table.concat(out, '\n')`

// contents returns all that a queue holds.
func contents(s *keywrighttest.Server) string {
	return timeless(fmt.Sprint(s.Do("EVAL", dump, "0"))) + "\n"
}

var today = regexp.MustCompile(`\b1[6-9]\d{11}(\d{3})?\b|1\.[6-9]\d+e\+12`)

// timeless returns a text without the times of today, in ms or µs.
func timeless(text string) string { return today.ReplaceAllString(text, "today") }

// differ compares the ways in some states, and gives the first difference.
func differ(s *keywrighttest.Server, quick, slow string, states uint64) (difference string, ways map[bool]int) {
	ways = map[bool]int{}
	for seed := range states {
		st := anyState(rand.New(rand.NewPCG(seed, 1)))
		before, reply, after := st.call(s, quick)
		ways[reply != "slow"]++
		if reply == "slow" {
			if after != before {
				return fmt.Sprintf("state %d: it is left to the long way, and was changed:\n%s\n%s", seed, before, after), ways
			}
			continue
		}
		_, want, left := st.call(s, slow)
		if st.over {
			left = after
		}
		if reply != want || left != after {
			return fmt.Sprintf("state %d: %v\n%squick: %s\n%s\nlong:  %s\n%s", seed, st.args, before, reply, after, want,
				left), ways
		}
	}
	return "", ways
}

// TestQuick: the quick way of a claim leaves and answers what the long way does, in
// any state of a queue; where it does not go, it has changed nothing.
func TestQuick(t *testing.T) {
	t.Parallel()
	quick, slow := queue.Fetch()
	states, least := uint64(120), 30
	if gate.All() {
		states, least = 400, 100
	}
	difference, ways := differ(keywrighttest.Start(t, keywrighttest.Redis), quick, slow, states)
	if difference != "" {
		t.Fatal(difference)
	}
	if t.Logf("%d times quick, %d times not", ways[true], ways[false]); ways[true] < least || ways[false] < least {
		t.Error("one of the ways is hardly tried")
	}
}

// TestQuickMutations: without any of its guards the quick way is another one.
func TestQuickMutations(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	quick, slow := queue.Fetch()
	for name, m := range map[string][2]string{
		"a job that runs is begun again":       {"k > unleased and r.owner ~= '-'", "false"},
		"an id twice":                          {"or taken[id]", ""},
		"what is settled is claimed":           {"for k = 1, done do taken[all[k]] = true end", ""},
		"a job that kills its workers":         {"if r.crashes >= crashes_most and k <= unleased then return nil end", ""},
		"a worker's death is no crash":         {"r.crashes, r.doubt = r.crashes + 1, 2", "r.doubt = 2"},
		"a lease that has ended is forgotten":  {"math.min(r.doubt + 1, 2)", "math.min(r.doubt, 2)"},
		"a worker's death is an attempt":       {"r.attempt = math.max(r.attempt - 1, 0)", ""},
		"an attempt is not counted":            {"r.attempt + 1", "r.attempt + 0"},
		"a new lease is one that has begun":    {"if r.doubt == 3 then r.doubt = 2 end", ""},
		"any form will do":                     {"form ~= 49 or q ~= 113 or space ~= 32", "not text"},
		"any lane will do":                     {"#KEYS > 6 and", "false and"},
		"what is due overtakes what waits":     {"quick = not next(popped)", ""},
		"it is not said when something is due": {"quick = quick and found == wanted", ""},
		"nothing more is said to be due":       {"unleased + first_due > 0 and 0 or -1", "-1"},
		"a cancelled job is begun":             {"or r.cancelled or", "or"},
		"a paused queue begins a job":          {"and not told[1]", ""},
		"a newer queue is worked on":           {"and not told[3]", ""},
		"a fence falls back":                   {"fence_after(r.fence, micros)", "micros"},
		"what was due is still there":          {"redis.call('ZREMRANGEBYRANK', delayed, 0, first_due - 1)", ""},
		"a job of another worker is settled":   {"quick and owns(was[k], tokens[k])", "quick"},
	} {
		if !strings.Contains(quick, m[0]) {
			t.Errorf("%s: the script has no %q any more", name, m[0])
		} else if !mutation.All() {
			continue
		} else if difference, _ := differ(s, strings.Replace(quick, m[0], m[1], 1), slow, 3000); difference == "" {
			t.Errorf("%s: no difference", name)
		}
	}
}
