package wire

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// TestMutations: with a guard taken out, a test fails by what it asserts.
func TestMutations(t *testing.T) {
	const asked, hostile = "TestAGuardRefusesAReplyToNothing", "TestAGuardRefusesWhatExhaustsItsReader"
	mutation.Run(t, []mutation.Row{
		{"a reply to nothing passes", "answers.go", "return expected{}, false", "return expected{}, true", asked},
		{"a confirmation passes without a subscription", "answers.go", "if !a.subscribed.Load() {\n\t\treturn false",
			"if !a.subscribed.Load() {\n\t\treturn true", asked},
		{"a confirmation passes that is one too many", "answers.go",
			"case h == nil || h.form != confirmation:\n\t\treturn false",
			"case h == nil || h.form != confirmation:\n\t\treturn true", asked},
		{"an end passes between confirmations", "answers.go", "h.form == confirmation && h.begun {\n\t\t\treturn false",
			"h.form == confirmation && h.begun {\n\t\t\treturn true", asked},
		{"a reply passes between confirmations", "replies.go", " || g.now.form == confirmation && g.now.begun", "", asked},
		{"a transaction has fewer results", "guard.go", "n != int64(g.now.n)", "n > int64(g.now.n)", asked},
		{"a result has more elements than keys", "guard.go", "n > int64(g.now.most)", "n > int64(g.now.most)+1", asked},
		{"QUEUED answers a subscription", "replies.go", "g.kind == '-' && !bytes.Equal(line, queued)", "g.kind == '-'",
			asked},
		{"anything is a PONG", "replies.go", `return bytes.Equal(line, []byte("+PONG\r\n"))`, "return true", asked},
		{"an error like a PONG ends a subscription", "replies.go", `bytes.HasPrefix(line, []byte("-BUSY")) ||`, "", asked},
		{"an error about a ping ends a subscription", "replies.go", `bytes.Contains(line, []byte("'ping'"))`, "false", asked},
		{"a list answers a PING", "answers.go", `"PING": scalar, `, "", asked},
		{"a message of a sentinel may be short", "sentinel.go", "return bytes.Count(message, []byte(\" \"))+1 >= n",
			"return true", "TestMessagesOfASentinel"},
		{"of a replica too", "sentinel.go", "\t\tn = 6\n", "", "TestMessagesOfASentinel"},
		{"a message of a sentinel is no text", "guard.go", "(g.kind != '$' || head[1] == '-')", "false",
			"TestMessagesOfASentinel"},
		{"an address has no port", "guard.go", "f == address && n != 2", "false", "TestNoSentinelEndsAProgram"},
		{"a null push passes", "guard.go", "form != pairs && g.kind != '>'", "form != pairs", hostile},
		{"a push passes in a reply", "guard.go", "case g.kind == '>' && len(g.open) > 0:",
			"case g.kind == '>' && len(g.open) > 9:", hostile},
		{"levels have no end", "guard.go", "len(g.open) > guardDepth", "len(g.open) > guardItems", hostile},
		{"elements have no end", "guard.go", "g.total > g.most", "n > g.most", "TestAGuardCountsWhatHasCome"},
		{"an own reply is not bounded in depth", "wire.go", "depth > MaxDepth || ", "", "TestAnyIsBoundedInDepth"},
	})
}
