package wire

import (
	"strings"
	"sync"
	"sync/atomic"
)

// answers knows which replies the commands of a connection are to have. rueidis ends the
// program at many that a server never gives: one to nothing that was asked, a
// confirmation of no subscription, a transaction with fewer results than commands.
// Commands are added by the writer of a connection, before they are sent; all else is
// done by its reader.
type answers struct {
	asked      atomic.Int64
	subscribed atomic.Bool // SUBSCRIBE, UNSUBSCRIBE or one of their kinds was written
	listens    atomic.Bool // and HELLO 3 was not: messages are arrays

	answered int64
	next     expected // the first of the list, once it was looked at

	waiting atomic.Int64 // how many are in the list
	mu      sync.Mutex
	list    []expected
	begin   int // of those that were not looked at

	// Of the writer.
	resp3     bool
	unsub     bool // the command before was UNSUBSCRIBE: rueidis sends a PING after it
	multi     bool
	queued    int // commands since MULTI
	mostOfOne int // how many elements the last of them may give
}

// expected represents a command whose reply is to have a form.
type expected struct {
	number int64 // among all commands, from 1; 0: none
	form   form
	n      int  // channels that are still to be confirmed; results of a transaction
	begun  bool // there was a confirmation
	most   int  // elements of the last result of a transaction; 0: any number
}

type form byte

const (
	whatever form = iota
	scalar        // anything but an array, a map or a set
	confirmation
	pongAfter // as many confirmations as the server likes, and then a PONG or an error
	results
	address // of a server: a host and a port
)

// forms lists those of the commands whose reply has one.
var forms = map[string]form{
	"SUBSCRIBE": confirmation, "PSUBSCRIBE": confirmation, "SSUBSCRIBE": confirmation,
	"UNSUBSCRIBE": pongAfter, "PUNSUBSCRIBE": pongAfter, "SUNSUBSCRIBE": pongAfter,
	"MULTI": scalar, "CLIENT CACHING": scalar, "PTTL": scalar, "EXEC": results,
	"PING": scalar, "AUTH": scalar, // in RESP2, rueidis sends them where it takes lists for messages
	"SENTINEL GET-MASTER-ADDR-BY-NAME": address,
}

// ask takes a command, by its name and the number of its words.
func (a *answers) ask(name []byte, args int) {
	before := a.unsub
	if a.unsub = false; before && args == 1 && string(name) == "PING" {
		return // belongs to the UNSUBSCRIBE
	}
	number := a.asked.Load() + 1
	if number == 1 {
		a.resp3 = string(name) == "HELLO 3"
	}
	e := expected{number: number, n: args - 1}
	if len(name) > 0 && strings.IndexByte("ACEMPSU", name[0]) >= 0 {
		e.form = forms[string(name)]
	}
	switch e.form {
	case confirmation, pongAfter:
		a.unsub = e.form == pongAfter
		a.subscribed.Store(true)
		a.listens.Store(!a.resp3)
	case results:
		e.n, e.most = a.queued, a.mostOfOne
	}
	a.transaction(name, args)
	if e.form != whatever {
		a.add(e)
	}
	a.asked.Store(number)
}

// transaction counts the commands of one.
func (a *answers) transaction(name []byte, args int) {
	switch string(name) {
	case "MULTI":
		if !a.multi {
			a.multi, a.queued, a.mostOfOne = true, 0, 0
		}
		return // is refused within one, and not queued
	case "WATCH":
		if a.multi {
			return // as is this
		}
	case "EXEC", "DISCARD", "RESET":
		a.multi, a.queued, a.mostOfOne = false, 0, 0
		return
	}
	if a.multi {
		a.queued++
		if a.mostOfOne = 0; string(name) == "MGET" {
			a.mostOfOne = args - 1
		}
	}
}

func (a *answers) add(e expected) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begin > len(a.list)/2 {
		a.list, a.begin = a.list[:copy(a.list, a.list[a.begin:])], 0
	}
	a.list = append(a.list, e)
	a.waiting.Add(1)
}

// first returns what is expected of the next reply; nil: nothing was asked, or it may have any
// form.
func (a *answers) first() *expected {
	if a.answered >= a.asked.Load() {
		return nil
	}
	if a.next.number == 0 && a.waiting.Load() > 0 {
		a.mu.Lock()
		a.next = a.list[a.begin]
		if a.begin++; a.begin == len(a.list) {
			a.list, a.begin = a.list[:0], 0
		}
		a.mu.Unlock()
		a.waiting.Add(-1)
	}
	if a.next.number != a.answered+1 {
		return nil
	}
	return &a.next
}

// answer takes the next command as answered, and returns what was expected. ok is false
// if no command waits for an answer.
func (a *answers) answer() (was expected, ok bool) {
	if a.answered >= a.asked.Load() {
		return expected{}, false
	}
	if h := a.first(); h != nil {
		was, *h = *h, expected{}
	}
	a.answered++
	return was, true
}

// confirm takes a push that confirms something. It reports whether that was asked for.
func (a *answers) confirm(subscribes bool) bool {
	if !a.subscribed.Load() {
		return false
	}
	h := a.first()
	switch {
	case !subscribes:
		// Also a server that gives a slot away ends subscriptions, but not between
		// the confirmations of one command.
		if h != nil && h.form == confirmation && h.begun {
			return false
		}
		if h != nil {
			h.begun = h.form == pongAfter
		}
		return true
	case h == nil || h.form != confirmation:
		return false
	}
	h.begun = true
	if h.n--; h.n <= 0 {
		_, _ = a.answer()
	}
	return true
}
