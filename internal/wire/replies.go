package wire

import "bytes"

// wants say what a reply was to be.
var wants = [...]string{
	scalar:       "a reply that is no list",
	confirmation: "a confirmation or an error",
	pongAfter:    "a confirmation and PONG",
	results:      "the results of a transaction",
	address:      "a host and a port",
}

// reply takes the beginning of each reply: a line, or a part of it. Pushes are no answers,
// and neither are attributes, which come before a reply.
func (g *Guarded) reply(line []byte) error {
	g.now, g.push, g.naming = expected{}, 0, false
	switch form := shape(g.kind); {
	case g.kind == '|':
		return nil
	case g.kind == '>', g.answers.listens.Load() && (form == list || form == pairs):
		g.push = g.kind
		return nil
	}
	return g.answer(line)
}

var (
	newline = []byte("\r\n")
	queued  = []byte("-QUEUED\r\n") // rueidis panics at it after SUBSCRIBE
)

// answer takes a reply to the next command. An error that answers an UNSUBSCRIBE comes
// before the PONG, and must not be one of those that rueidis takes for the PONG: that
// would then be taken for the answer to the next command.
func (g *Guarded) answer(line []byte) error {
	if h := g.answers.first(); h != nil && h.form == pongAfter && g.kind == '-' && !h.begun {
		h.begun = true // Valkey: NOSUB, if there is no subscription
		if !bytes.HasSuffix(line, newline) || bytes.HasPrefix(line, []byte("-LOADING")) ||
			bytes.HasPrefix(line, []byte("-BUSY")) ||
			bytes.Contains(line, []byte("'ping'")) || bytes.Equal(line, queued) {
			return g.refused(line, wants[pongAfter])
		}
		return nil
	}
	var ok bool
	if g.now, ok = g.answers.answer(); !ok {
		return g.refused(line, "no reply, as nothing was asked")
	}
	if g.now.form == pongAfter && g.kind == '-' && !g.pong(line) || g.now.form == confirmation && g.now.begun {
		return g.refused(line, wants[g.now.form])
	}
	return nil
}

// pong makes of an error that answers the PING after an UNSUBSCRIBE one that rueidis
// takes for a PONG: it knows few, and panics after each other. It reports whether it could.
func (g *Guarded) pong(line []byte) bool {
	if len(line) < len("-LOADING\r\n") {
		return false
	}
	copy(line, "-LOADING")
	g.now = expected{}
	return true
}

// wanted reports whether the line with which a reply begins is as expected.
func (g *Guarded) wanted(line []byte) bool {
	form := shape(g.kind)
	switch g.now.form {
	case scalar:
		return form != list && form != pairs
	case confirmation:
		return g.kind == '-' && !bytes.Equal(line, queued)
	case pongAfter:
		return bytes.Equal(line, []byte("+PONG\r\n"))
	}
	return g.kind == '*' || g.kind == '-' || g.kind == '_'
}

// kinds lists the pushes that confirm something: true, a subscription.
var kinds = map[string]bool{
	"subscribe": true, "psubscribe": true, "ssubscribe": true,
	"unsubscribe": false, "punsubscribe": false, "sunsubscribe": false,
}

// pushed notes that a bulk string is complete: that may be the kind of a push.
func (g *Guarded) pushed() error {
	if !g.naming {
		return nil
	}
	g.naming = false
	word := g.word[:g.named]
	if g.push != '>' && string(word) == "pong" { // RESP2: a PONG among messages is an array, too
		return g.listed(scalar)
	}
	if subscribes, ok := kinds[string(word)]; ok && g.open[0].left > 1 && !g.answers.confirm(subscribes) {
		return g.refused(word, "no confirmation, as nothing was asked")
	}
	return nil
}

// null notes that an element is there that has no elements. At the top, of lists only a
// push is no answer.
func (g *Guarded) null() error {
	g.naming = false
	if len(g.open) == 0 && g.push != 0 && g.push != '>' {
		if err := g.listed(whatever); err != nil {
			return err
		}
	}
	g.complete()
	return nil
}

// listed notes that what could have been a message is a reply: also to this form.
func (g *Guarded) listed(also form) error {
	if err := g.answer(nil); err != nil {
		return err
	}
	if f := g.now.form; f != whatever && f != also && (f != pongAfter || also != scalar) {
		return g.refuse(wants[f])
	}
	return nil
}

func (g *Guarded) refused(what []byte, want string) error {
	g.size = copy(g.head[:], what)
	return g.refuse(want)
}
