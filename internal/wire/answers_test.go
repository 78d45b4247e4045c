package wire

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// written returns how commands are sent.
func written(commands ...[]string) string {
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&b, "*%d\r\n", len(c))
		for _, a := range c {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
		}
	}
	return b.String()
}

// sent returns commands in words.
func sent(lines ...string) string {
	var all [][]string
	for _, line := range lines {
		all = append(all, strings.Fields(line))
	}
	return written(all...)
}

func push(mark string, words ...string) string {
	return mark + strings.TrimPrefix(written(words), "*")
}

// TestARefusedPing: an error that answers the PING after an UNSUBSCRIBE is one that
// rueidis expects there, any other stays as it is.
func TestARefusedPing(t *testing.T) {
	const down, disk = "-MASTERDOWN Link with MASTER is down\r\n", "-MISCONF Redis is configured to save\r\n"
	const unsubscribe, gone = "*2\r\n$11\r\nUNSUBSCRIBE\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n",
		">3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n"
	for _, step := range []struct{ writes, replies, want string }{
		{sent("HELLO 3", "GET UNSUBSCRIBE"), "%0\r\n" + down, "%0\r\n" + down},
		{sent("HELLO 3", "SUBSCRIBE a"), "%0\r\n" + down, "%0\r\n" + down},
		{sent("HELLO 3") + unsubscribe + sent("PING"), "%0\r\n" + gone + disk + disk,
			"%0\r\n" + gone + "-LOADING" + disk[8:] + disk},
		{sent("HELLO 3", "SUNSUBSCRIBE a", "PING", "GET a"),
			"%0\r\n" + push(">", "sunsubscribe", "a", "0") + "+PONG\r\n" + down,
			"%0\r\n" + push(">", "sunsubscribe", "a", "0") + "+PONG\r\n" + down},
	} {
		g := Guard(discard{&replay{in: strings.NewReader(step.replies), n: 1 << 20}})
		if _, err := g.Write([]byte(step.writes)); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(g); err != nil || string(got) != step.want {
			t.Errorf("after %q: %q became %q, %v", step.writes, step.replies, got, err)
		}
	}
}

// TestAGuardRefusesAReplyToNothing: rueidis panics at it, or takes it for the answer to
// the next command. What a server sends in order passes.
func TestAGuardRefusesAReplyToNothing(t *testing.T) {
	const ok, pong, login = "+OK\r\n", "+PONG\r\n", "%1\r\n+proto\r\n:3\r\n"
	const attribute = "|1\r\n+a\r\n+b\r\n"
	heard := push(">", "message", "a", "x")
	on := func(mark, kind string, names ...string) (all string) {
		for _, n := range names {
			all += push(mark, kind, n, "1")
		}
		return all
	}
	hello := sent("HELLO 3")
	subscribed, confirmed := hello+sent("SUBSCRIBE a b"), login+on(">", "subscribe", "a", "b")
	left := subscribed + sent("UNSUBSCRIBE", "PING")
	old, oldHeard := sent("SELECT 1", "SUBSCRIBE a"), ok
	transaction := sent("MULTI", "SET a b", "MULTI", "WATCH a", "GET a", "EXEC")
	queued := "+OK\r\n+QUEUED\r\n-ERR nested\r\n-ERR WATCH\r\n+QUEUED\r\n"
	cached := sent("CLIENT CACHING YES", "MULTI", "PTTL a", "PTTL b", "MGET a b", "EXEC")
	caching := "+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n"
	for name, step := range map[string]struct{ writes, replies, beyond string }{
		"nothing":                     {"", "", ok},
		"pushes and attributes":       {"", heard + attribute, ok},
		"a bulk string with commands": {sent("GET *1\r\n$4\r\nPI"), "$1\r\nx\r\n", ":1\r\n"},
		"two": {sent("GET a", "GET b"),
			"*2\r\n:1\r\n*1\r\n:2\r\n" + heard + attribute + "-ERR x\r\n" + heard, "-ERR y\r\n"},
		"an empty one":           {"*0\r\n" + sent("GET a"), ok, ok},
		"a name that is long":    {sent("SUBSCRIBESUBSCRIBESUBSCRIBE a"), ok, ok},
		"a refused subscription": {hello + sent("SUBSCRIBE a"), login + heard + "-NOPERM\r\n", ok},
		"confirmations": {subscribed + sent("GET a"),
			confirmed + heard + ok + on(">", "sunsubscribe", "x"), ok},
		"a third of two":       {subscribed + sent("GET a"), confirmed, on(">", "subscribe", "c")},
		"none":                 {hello + sent("GET a"), login, on(">", "subscribe", "c")},
		"an end of none":       {hello + sent("GET a"), login, on(">", "sunsubscribe", "c")},
		"an end between them":  {subscribed, login + on(">", "subscribe", "a"), on(">", "sunsubscribe", "a")},
		"a reply between them": {subscribed + sent("GET a"), login + on(">", "subscribe", "a"), "-ERR x\r\n"},
		"QUEUED":               {hello + sent("SUBSCRIBE a"), login, "-QUEUED\r\n"},
		"OK":                   {hello + sent("PSUBSCRIBE a"), login, ok},
		"a kind without a name": {hello + sent("SSUBSCRIBE a"),
			login + ">1\r\n$9\r\nsubscribe\r\n" + ">0\r\n" + ">2\r\n$-1\r\n:1\r\n" + on(">", "ssubscribe", "a"), ok},
		"a kind that is long":        {hello, login + ">2\r\n$22\r\nsubscribexxxxxxxxxxxxx\r\n:1\r\n", ok},
		"all ends":                   {left + sent("GET a"), confirmed + on(">", "unsubscribe", "a", "b") + pong + ok, ok},
		"an error for an end":        {left, confirmed, "-BUSY Redis is busy\r\n"},
		"a refused end":              {left + sent("GET a"), confirmed + "-NOSUB x\r\n" + pong + ok, ok},
		"a refused end, and no PONG": {left, confirmed + "-NOSUB x\r\n", ok},
		"a refused end like a PONG":  {left, confirmed, "-NOPERM 'ping'\r\n"},
		"an error of few letters":    {left, confirmed + on(">", "unsubscribe", "a"), "-ERR\r\n"},
		"no PONG":                    {left, confirmed + on(">", "unsubscribe", "a"), ok},
		"a PONG without an end":      {left, confirmed + pong, pong},
		"messages as lists": {old,
			oldHeard + on("*", "subscribe", "a") + push("*", "message", "a", "x") + push("*", "message", "a", "y"), ok},
		"PONG as a list": {old + sent("PING"), oldHeard + on("*", "subscribe", "a") + push("*", "pong", ""),
			push("*", "pong", "")},
		"PONG as a list after an end": {old + sent("UNSUBSCRIBE a", "PING"),
			oldHeard + on("*", "subscribe", "a") + on("*", "unsubscribe", "a") + push("*", "pong", ""), ok},
		"an empty list among messages":  {old, oldHeard + on("*", "subscribe", "a"), "*0\r\n"},
		"a null list for a subcription": {old, oldHeard, "*-1\r\n"},
		"a list for PING":               {sent("SELECT 1", "PING"), ok, on("*", "subscribe", "a")},
		"a null list for the last PONG": {old + sent("UNSUBSCRIBE a", "PING"), ok + on("*", "subscribe", "a"), "*-1\r\n"},
		"a second subscription":         {old, oldHeard + on("*", "subscribe", "a"), on("*", "subscribe", "a")},
		"a transaction":                 {transaction, queued + "*2\r\n+OK\r\n*1\r\n:1\r\n", ok},
		"a transaction that failed": {transaction + transaction + transaction,
			queued + "_\r\n" + queued + "*-1\r\n" + queued + "-EXECABORT\r\n", ok},
		"one result of two": {transaction, queued, "*1\r\n:1\r\n"},
		"no results":        {transaction, queued, "*0\r\n"},
		"a map of two":      {transaction, queued, "%1\r\n:1\r\n:1\r\n"},
		"a transaction without MULTI": {sent("MULTI", "GET a", "DISCARD", "EXEC"),
			"+OK\r\n+QUEUED\r\n+OK\r\n-ERR EXEC without MULTI\r\n", ok},
		"a cached one":              {cached, caching + "*3\r\n:1\r\n:1\r\n" + attribute + "*2\r\n+a\r\n+b\r\n", ok},
		"more of a cached one":      {cached, caching + "*3\r\n:1\r\n:1\r\n", "*3\r\n"},
		"a list for MULTI":          {cached, "+OK\r\n", "*2\r\n:1\r\n:1\r\n"},
		"a list for CLIENT CACHING": {cached, "", "*2\r\n:1\r\n:1\r\n"},
		"a list for PTTL":           {cached, "+OK\r\n-NOPERM\r\n:1\r\n", "*2\r\n:1\r\n:1\r\n"},
		"a list for CLIENT LIST":    {sent("client list", "client caching yes"), "*1\r\n:1\r\n", "*1\r\n:1\r\n"},
	} {
		for _, piece := range []int{1, 3, 1 << 10} {
			in := io.MultiReader(strings.NewReader(step.replies), strings.NewReader(step.beyond)) // no read is of both
			g := Guard(discard{&replay{in: in, n: 1 << 10}})
			for rest := []byte(step.writes); len(rest) > 0; {
				n := min(piece, len(rest))
				_, _ = g.Write(rest[:n])
				rest = rest[n:]
			}
			got, err := io.ReadAll(g)
			var refused *ProtocolError
			if string(got) != step.replies || !errors.As(err, &refused) {
				t.Errorf("%s, in pieces of %d: after %q %q and then %q: %q passes, %v", name, piece, step.writes, step.replies,
					step.beyond, got, err)
			}
			if piece < 100 && strings.Contains(step.replies, "-NOSUB") {
				continue // is refused, as its end is not seen
			}
			g = Guard(discard{&replay{in: strings.NewReader(step.replies), n: piece}})
			_, _ = g.Write([]byte(step.writes))
			if got, err := io.ReadAll(g); string(got) != step.replies || err != nil {
				t.Errorf("%s, read in pieces of %d: %q of %q, %v", name, piece, got, step.replies, err)
			}
		}
	}
}
