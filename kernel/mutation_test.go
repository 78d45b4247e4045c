package kernel_test

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// mutations lists the guards of this package, gather and event that are in no script, by
// the folder of the tests that must show them.
var mutations = map[string][]mutation.Row{
	".": {
		{"a forbidden channel fails all", "pubsub/settle.go", "case s.hooks.Denies(err):", "case false:",
			"TestAForbiddenChannelFailsAlone"},
		{"a listener is not told of a loss", "pubsub/settle.go", "tell(err)", "_ = tell", "TestAChannelIsTakenAway"},
		{"watches stay", "internal/conn/own.go", "keep = o.unwatch()", "", "TestAnErrorOfTheFunction"},
		{"a panic keeps the connection", "transact.go", "defer func() { conn.GiveBack(ctx, len(tx.keys) > 0, ran) }()",
			"defer func() { if ran { conn.GiveBack(ctx, len(tx.keys) > 0, ran) } }()", "TestAFunctionThatDoesNotReturn"},
		{"calls of callers are not bounded", "internal/conn/prompt.go", "s.n.Add(1) <= MostDirect/stripes", "s.n.Add(1) > 0",
			"TestCallsOfCallersAreBounded"},
		{"the question for nodes ends calls", "internal/conn/pernode.go", "node.Do(context.Background(),",
			"node.Do(func() context.Context { c, _ := context.WithTimeout(ctx, mapWait); return c }(),",
			"TestLookingForNodesEndsNoCall"},
		{"a silent node is asked again and again", "internal/conn/pernode.go", "if m.asked[addr] {", "if false {",
			"TestANodeIsAskedOnce"},
		{"transactions are not bounded", "internal/conn/prompt.go", "make(chan struct{}, MostOwn)", "make(chan struct{}, 4096)",
			"TestManyTransactions"},
		{"commands that block are not bounded", "internal/conn/prompt.go", "make(chan struct{}, MostBlocking)", "make(chan struct{}, 4096)",
			"TestEveryCallEndsWithItsContext"},
		{"subscriptions share the pool of transactions", "internal/conn/prompt.go", "return MostBlocking + MostOwn + 1<<14",
			"return MostBlocking + MostOwn", "TestEveryCallEndsWithItsContext"},
		{"a wait below a millisecond is endless", "op.go", "max(timeout.Milliseconds(), 1)", "timeout.Milliseconds()",
			"TestAWaitBelowAMillisecond"},
		{"a batch is not sent again", "batch.go", "if left = again(seen.ctx, left); len(left) == 0", "if true",
			"TestABatchIsSentAgain"},
		{"a batch is sent again out of order", "batch.go", "return over[k]", "return false", "TestABatchIsSentAgain"},
		{"a batch is sent again in reverse", "batch.go", "slices.Reverse(left)", "", "TestABatchIsSentAgain"},
		{"a silent node costs all keys of a batch", "internal/conn/pernode.go", "of = r.Nodes.Look(ctx)\n\t}", "}",
			"TestAFrozenNodeCostsItsOwnKeysOnly"},
		{"a right that lacks in a script is no refusal of rights", "errors.go",
			"strings.HasPrefix(text, \"The user executing the script can't \") ||", "", "TestPermanentRefusals"},
		{"without the right to track a client does not open", "client.go", "strings.Contains(err.Error(), \"NOPERM\")",
			"false", "TestAUserThatMayNotTrack"},
		{"a batch that fails does not pause", "batch.go", "|| !c.pause(seen.ctx, c.retry.delay(attempts))", "",
			"TestAServerThatIsDownIsNotAskedInALoop"},
		{"a refused transaction does not begin again", "transact.go",
			"again = refusal(err) != \"\" && refusals[refusal(cause)].again", "", "TestATransactionBeginsAgain"},
		{"any failed watch begins again", "transact.go", "tx.failed != nil && errors.Is(err, tx.failed), err",
			"tx.failed != nil, err", "TestATransactionThatWatchesBeginsAgain"},
		{"part of a transaction counts as refused", "transact.go", "if err == nil || written == 0 {", "if true {",
			"TestPartOfATransaction"},
		{"a transaction waits for its connection", "internal/conn/own.go", "conn, back := raw.Dedicate()",
			"conn, back := raw.Dedicate(); ctx = context.WithoutCancel(ctx)", "TestNothingIsTakenForACallerWhoLeft"},
		{"a call is sent for a caller that left", "internal/conn/prompt.go", "if d.state.CompareAndSwap(waiting, left) {",
			"if d.state.Load() == waiting {", "TestNothingIsSentForACallerWhoLeft"},
		{"a command that blocks counts as unsent", "internal/conn/prompt.go", "a.state.Swap(left) != mayBeSent", "true",
			"TestACommandThatBlocksIsLeft"},
		{"without a connection a call counts as sent", "internal/conn/prompt.go", "d.gate.unconnected() && ", "false && ",
			"TestWithoutAConnectionNothingIsSent"},
		{"the class does not say that nothing was sent", "errors.go", "errors.As(err, &u) ||",
			"errors.As(err, &u) && false ||", "TestNothingIsSentForACallerWhoLeft"},
		{"a caller waits for a server that was down", "internal/conn/dial.go", "if wait > 0 && patient {", "if false {",
			"TestDialErrorsAreNotSent"},
		{"messages of a sentinel are not counted", "internal/conn/dial.go", "if g.ofSentinel(d) {", "if false {",
			"TestASentinelCannotEndTheProgram"},
		{"a failed login counts as sent", "internal/conn/link.go", "case LoggingIn:\n\t\tvar network", "case -1:\n\t\tvar network",
			"TestALoginThatFails"},
		{"a closed client goes on", "internal/conn/prompt.go", "if r.life.Err() != nil {\n\t\treturn &Unsent{ErrClosed}",
			"if false {\n\t\treturn &Unsent{ErrClosed}", "TestAClosedClient"},
		{"notices for a slow hook are not bounded", "hooks.go", "if len(x.waiting) >= maxWaiting {", "if false {",
			"TestASlowHookIsToldWhatItMissed"},
		{"dropped notices are not counted", "hooks.go", "x.dropped++", "", "TestASlowHookIsToldWhatItMissed"},
		{"a login outlives Open", "internal/conn/dial.go", "defer g.mu.Unlock()\n\t\tg.cut()", "defer g.mu.Unlock()",
			"TestOpenEndsWithItsContext"},
		{"a login outlives Close", "client.go", "c.rooms.Gate.Close()", "", "TestCloseLeavesNoConnection"},
		{"a worker goes on without its client", "../queue/worker.go", "ctx, end := client.While(ctx)", "end := func() {}",
			"TestCloseEndsWhatRuns"},
		{"pressure goes on without its client", "../pressure/pressure.go", "ctx, end := w.client.While(ctx)",
			"end := func() {}", "TestCloseEndsWhatRuns"},
		{"a sweeper goes on without its client", "../entity/internal/upkeep/sweep.go", "ctx, end := s.Client.While(ctx)", "end := func() {}",
			"TestCloseEndsWhatRuns"},
	},
	"internal/conn": {
		{"each connection of a lost server is told", "internal/conn/link.go", "!l.Born.Before(o.back)", "true", "TestOneLossIsToldOnce"},
		{"a return is told out of order", "internal/conn/link.go", "g.Tell(notice.Notice{Kind: notice.Reconnected, Elapsed: o.back.Sub(o.since)})",
			"g.mu.Unlock(); g.Tell(notice.Notice{Kind: notice.Reconnected, Elapsed: o.back.Sub(o.since)}); g.mu.Lock()",
			"TestOneLossIsToldOnce"},
		{"an idle client forgets its loss", "internal/conn/dial.go", "if o.lost {\n\t\t\tkept", "if false {\n\t\t\tkept",
			"TestAnIdleClientKnowsOfItsLoss"},
	},
	"../internal/gather": {
		{"a question stays without its caller", "../internal/gather/gather.go",
			"g.pending.take(q)\n\t\treturn answer, nil, &NotAsked{why}", "return answer, nil, &NotAsked{why}",
			"TestCallersThatLeave"},
		{"a call that all have left is sent", "../internal/gather/flight.go", "if state == calledOff {", "if false {",
			"TestACallThatWaits"},
		{"a call that panics ends its flight", "../internal/gather/gather.go", "if f, batch := g.next(1, nil); f != nil {",
			"if recover() != nil {\n\t\t\treturn\n\t\t}\n\t\tif f, batch := g.next(1, nil); f != nil {", "TestLeaderPanics"},
		{"a call has no bound in bytes", "../internal/gather/gather.go", "weight > g.heavy && len(batch) > 0", "false",
			"TestHeavyQuestions"},
	},
	"../lock": {
		{"a lock of closed clients is tried on", "../lock/quorum.go", " || errors.Is(err, keywright.ErrClosed)", "",
			"TestQuorumOfClosedClients"},
	},
	"../event": {
		{"a deploy counts as a delivery", "../event/dispatch.go", "\t\td.count--\n", "", "TestDeploysMakeNoDeadLetters"},
		{"a handler is not told that it has lost its message", "../event/keep.go", "if time.Since(c.good) > c.o.Lease*9/10 {",
			"if false {", "TestSlowAndSilent"},
		{"signs of life wait for each other", "../event/keep.go", "const pulses = 8", "const pulses = 1",
			"TestSlowRepliesRobNobody"},
	},
}

// TestMutations: with a guard taken out, a test fails by what it asserts.
func TestMutations(t *testing.T) {
	for pkg, rows := range mutations {
		mutation.RunIn(t, pkg, rows)
	}
}
