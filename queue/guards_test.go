package queue_test

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// goGuards say what keeps harm away in Go: the file, the guard, what is there without
// it, and the test that must show it.
var goGuards = []mutation.Row{
	{"a server that throws jobs away", `policy == "noeviction" ||`, `policy != "" ||`, "TestEviction"},
	{"a server that cannot be asked", "strings.Contains(info, \"maxmemory:0\\r\\n\") {\n\t\treturn err",
		"strings.Contains(info, \"maxmemory:0\\r\\n\") {\n\t\treturn nil", "TestUnknownDurability"},
	{"a nil handler", "case handle == nil:", "case false:", "TestRefusedOptions"},
	{"a negative option", "o.Concurrency < 0 || o.Batch < 0 || o.Grace < 0", "false", "TestRefusedOptions"},
	{"an option of the queue that is negative", "o.Backoff < 0, o.MaxBackoff < 0, ", "", "TestRefusedOptions"},
	{"a lane that is another key", "if lane.Key == key {", "if key == \"\" {", "TestLaneNames"},
	{"a lane that a job may have", "if id, ok := strings.CutPrefix(lane.Key, family.Before); ok &&",
		"if id, ok := strings.CutPrefix(lane.Key, family.Before); false && ok &&", "TestLaneNames"},
	{"one lane twice", "if other.Name == lane.Name || other.Key == lane.Key {", "if other.Key == \"\" {",
		"TestLaneNames"},
	{"a pause is for those that wait in a process", "|| r.paused.Load() {", "{", "TestNothingBeginsInAPause"},
	{"a job whose lease is over begins", "if j.ctx.Err() != nil { // it", "if false { // it",
		"TestLostBeforeItBegan"},
	{"a job begins without a word", "if j.doubtful && !r.begins(j) {", "if false {",
		"TestDoubtfulJobThatIsLost"},
	{"each runner says for itself that its job begins", "	c.beginFirst(out)\n", "", "TestDrains"},
	{"a job that is another worker's by now begins", "j.Doubtful = err != nil || lost[i]",
		"j.Doubtful = false && (err != nil || lost[i])", "TestDoubtfulJobThatIsLost"},
	{"the server is told of a job that is over", "left > 0 {", "left != 0 {", "TestNoWordOfAJobThatIsOver"},
	{"a goroutine that has ended", "defer r.loops.Go(r.work)", "", "TestGoexit"},
	{"a panic in OnError", "defer func() { _ = recover() }()", "", "TestGoexit"},
	{"calls are waited for at the end", "calls := time.AfterFunc(grace, c.cancelCalls)",
		"calls := time.AfterFunc(time.Hour, c.cancelCalls)", "TestStopKeepsToItsGrace"},
	{"a job goes on without its client", "c.free(keywright.ErrClosed); c.cancelCalls()", "",
		"TestCloseEndsItsJobs"},
	{"a sign of life is given up early", "ctx, cancel := c.call(c.q.lease())\n\tdefer cancel()\n\tsent",
		"ctx, cancel := c.call(c.q.lease()/3)\n\tdefer cancel()\n\tsent", "TestSlowReplies"},
	{"signs of life wait for each other", "const mostBeats = 4", "const mostBeats = 1",
		"TestSignsOfLifeGoOn"},
	{"a late answer postpones what is due", "all && call > c.dueSeq", "all", "TestAnswersThatOvertake"},
	{"a page that has moved", "again < overlap/2 {", "again < 0 {", "TestPagesOverlap"},
	{"not all was seen", "case c.more:", "case false:", "TestLooksUntilAllIsSeen"},
	{"a call by hand is repeated", "q.one(ctx, keywright.Writes, verb, id",
		"q.one(ctx, keywright.Idempotent, verb, id", "TestByHandIsSentOnce"},
	{"what was not sent", "e.Class, e.Hint = keywright.NotApplied, \"\"", "", "TestAJobThatWasNotSent"},
	{"a queue that is not used", "delete(s.all, key)", "_ = key", "TestUnusedQueuesTakeNoMemory"},
}

// TestGuards: with a guard taken out, a test fails by what it asserts.
func TestGuards(t *testing.T) { mutation.Run(t, goGuards) }
