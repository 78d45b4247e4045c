package queue_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
)

// TestSteps: what one call of the long way leaves and answers.
func TestSteps(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	job := func(id, text string) []string { return []string{"SET", "{mail}:job:" + id, text} }
	var due [][]string
	for i := range 30 {
		id := fmt.Sprintf("job%02d", i)
		due = append(due, job(id, "q1 1 - 0 - -\nx"), []string{"ZADD", "{mail}:delayed", "1", id})
	}
	for name, step := range map[string]struct {
		state
		reply, leaves string // what it begins with, what it has
	}{
		"a newer job stays": {state{jobs: [][]string{job("a", "q2 newer"), {"RPUSH", "mail", "a"}}, lanes: 1,
			args: []string{"1", "more", "1"}}, "[-1 [] []", "mail: a\n"},
		"a lane has its name": {state{jobs: [][]string{job("a", "q1 1 low 0 - -\nx"), {"ZADD", "{mail}:delayed", "1",
			"a"}}, lanes: 2, args: []string{"0", "tidy", "1 2"}}, "[-1 []", "{mail}:low: a\n"},
		"there is more": {state{jobs: due, lanes: 1, args: []string{"5", "tidy", "1"}},
			"[0 [] [job00 job01 job02 job03 job04]", "{mail}:delayed: job05 1 "},
		"many go into a lane": {state{jobs: append([][]string{job("a", "q1 1 - 0 - -\nx"), {"RPUSH", "mail", "a"}},
			due...), lanes: 1, args: []string{"1", "tidy", "1"}}, "[-1 [] [a]", "mail: job00 job01 "},
		"an id twice is one": {state{jobs: [][]string{job("a", "q1 1 - 0 - -\nx"), {"RPUSH", "mail", "a", "a"}}, lanes: 1,
			args: []string{"2", "", "1"}}, "[-1 [] [a] [", "{mail}:leases: a "},
		"a lane that is gone": {state{jobs: [][]string{job("a", "q1 1 gone 0 - -\nx"), {"ZADD", "{mail}:delayed", "1",
			"a"}}, lanes: 2, args: []string{"0", "tidy", "1 2"}}, "[-1 []", "mail: a\n"},
		"what is due is known": {state{jobs: [][]string{job("a", "q1 1 - 0 - -\nx"), {"RPUSH", "mail", "a"}, {"ZADD",
			"{mail}:delayed", "100000000000000", "b"}}, lanes: 1, args: []string{"2", "more", "1"}}, "[9", "b 100000000000000"},
	} {
		t.Run(name, func(t *testing.T) {
			_, slow := queue.Fetch()
			_, reply, after := step.call(s, slow)
			if !strings.HasPrefix(reply, step.reply) || !strings.Contains(after, step.leaves) {
				t.Errorf("it answers %s and leaves\n%s", reply, after)
			}
		})
	}
}
