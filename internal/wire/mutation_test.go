package wire

import (
	"testing"

	"github.com/keywright/keywright/internal/mutation"
)

// TestMutations: with a guard taken out, a test fails by what it asserts.
func TestMutations(t *testing.T) {
	const asked, hostile = "TestAGuardRefusesAReplyToNothing", "TestAGuardRefusesWhatExhaustsItsReader"
	mutation.Run(t, []mutation.Row{
		{"a reply to nothing passes", "return expected{}, false", "return expected{}, true", asked},
		{"a confirmation passes without a subscription", "if !a.subscribed.Load() {\n\t\treturn false",
			"if !a.subscribed.Load() {\n\t\treturn true", asked},
		{"a confirmation passes that is one too many", "case h == nil || h.form != confirmation:\n\t\treturn false",
			"case h == nil || h.form != confirmation:\n\t\treturn true", asked},
		{"an end passes between confirmations", "h.form == confirmation && h.begun {\n\t\t\treturn false",
			"h.form == confirmation && h.begun {\n\t\t\treturn true", asked},
		{"a reply passes between confirmations", " || g.now.form == confirmation && g.now.begun", "", asked},
		{"a transaction has fewer results", "n != int64(g.now.n)", "n > int64(g.now.n)", asked},
		{"a result has more elements than keys", "n > int64(g.now.most)", "n > int64(g.now.most)+1", asked},
		{"QUEUED answers a subscription", "g.kind == '-' && !bytes.Equal(line, queued)", "g.kind == '-'",
			asked},
		{"anything is a PONG", `return bytes.Equal(line, []byte("+PONG\r\n"))`, "return true", asked},
		{"an error like a PONG ends a subscription", `bytes.HasPrefix(line, []byte("-BUSY")) ||`, "", asked},
		{"an error about a ping ends a subscription", `bytes.Contains(line, []byte("'ping'"))`, "false", asked},
		{"a list answers a PING", `"PING": scalar, `, "", asked},
		{"a message of a sentinel may be short", "return bytes.Count(message, []byte(\" \"))+1 >= n",
			"return true", "TestMessagesOfASentinel"},
		{"of a replica too", "\t\tn = 6\n", "", "TestMessagesOfASentinel"},
		{"a message of a sentinel is no text", "(g.kind != '$' || head[1] == '-')", "false",
			"TestMessagesOfASentinel"},
		{"an address has no port", "f == address && n != 2", "false", "TestNoSentinelEndsAProgram"},
		{"a null push passes", "form != pairs && g.kind != '>'", "form != pairs", hostile},
		{"a push passes in a reply", "case g.kind == '>' && len(g.open) > 0:",
			"case g.kind == '>' && len(g.open) > 9:", hostile},
		{"levels have no end", "len(g.open) > guardDepth", "len(g.open) > guardItems", hostile},
		{"elements have no end", "g.total > g.most", "n > g.most", "TestAGuardCountsWhatHasCome"},
		{"an own reply is not bounded in depth", "depth > MaxDepth || ", "", "TestAnyIsBoundedInDepth"},
	})
}
