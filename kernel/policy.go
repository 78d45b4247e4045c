package kernel

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Policy describes what an entry's declaration demands of the TTL of its keys.
type Policy uint8

// The policies.
const (
	Undecided Policy = iota // any: a writer may set a TTL or leave what is there
	Forever                 // none: never expires
	Expires                 // must expire, within Max
)

// TTL represents the declared policy of an entry.
type TTL struct {
	Policy  Policy
	Default time.Duration // written when the writer asks for nothing
	Min     time.Duration
	Max     time.Duration
	Jitter  float64 // 0.1 widens what is written by up to 10 % on both sides
	Sliding bool    // renewed on use
	Text    string  // as declared, "15m in 1m..24h"
}

// none is asked for by a TTL of 0, which no policy allows.
const none time.Duration = -1

// written returns a TTL as its writer has it.
func written(asked time.Duration) time.Duration {
	if asked == none {
		return 0
	}
	return asked
}

// choose returns the TTL that one write gets: the asked one (0: none was asked for)
// checked against the bounds, with jitter; in milliseconds, 0 for no TTL.
func (t *TTL) choose(asked time.Duration) (int64, error) {
	switch t.Policy {
	case Forever:
		if asked != 0 {
			return 0, fmt.Errorf("a TTL of %v was asked for, and the declaration says that it never expires", written(asked))
		}
		return 0, nil
	case Undecided:
		if asked < 0 || asked > 0 && asked < time.Millisecond {
			return 0, fmt.Errorf("a TTL of %v was asked for; the least is 1ms", written(asked))
		}
		return asked.Milliseconds(), nil
	}
	if asked == 0 {
		asked = t.Default
	}
	if asked < t.Min || asked > t.Max {
		return 0, fmt.Errorf("a TTL of %v was asked for, and the declaration allows %s", written(asked), t.Text)
	}
	if t.Jitter > 0 {
		spread := time.Duration(float64(asked) * t.Jitter)
		asked += rand.N(2*spread+1) - spread
	}
	return max(asked.Milliseconds(), 1), nil
}

// WriteOption represents a choice of one write.
type WriteOption func(*write)

// write holds the choices of one write.
type write struct{ ttl time.Duration }

// ExpiresIn asks for a TTL of d instead of the declared default. Outside of the
// declared bounds the write is an error and nothing is sent.
func ExpiresIn(d time.Duration) WriteOption {
	return func(w *write) {
		if w.ttl = d; d == 0 {
			w.ttl = none
		}
	}
}

// Choose returns the TTL of a write to entry in milliseconds, 0 for none. asked is
// whether the writer chose it. It is for typed handles.
func (e *Entry) Choose(options []WriteOption) (ms int64, asked bool, err error) {
	asking := askedFor(options)
	if ms, err = e.TTL.choose(asking); err != nil {
		return 0, false, &Error{Class: Invalid, Entry: e.Name, Err: err, Hint: ttlHint(e.TTL)}
	}
	return ms, asking != 0, nil
}

// askedFor returns the TTL that the options ask for, 0 for none.
func askedFor(options []WriteOption) time.Duration {
	if len(options) == 0 {
		return 0
	}
	var w write
	for _, o := range options {
		o(&w)
	}
	return w.ttl
}

func ttlHint(t TTL) string {
	switch {
	case t.Policy == Forever:
		return "write without ExpiresIn, or change the entry's ttl"
	case t.Policy == Expires && t.Min == t.Max:
		return fmt.Sprintf("write without ExpiresIn, or declare bounds as in `ttl: %s in 1m..24h`", t.Text)
	}
	return "choose one within the bounds"
}

// Place describes where a sealed text is. It is bound to the text: what was sealed
// for one place does not open at another.
type Place struct {
	Schema string // the package of the declaration
	Key    string
	Field  string // of a hash; "" for the value of a key
}

// Sealer seals what is declared encrypted, and opens it. Package seal has one.
// Open refuses what Seal has not made, and what was sealed for another place: what
// is stored may be plain text. Errors never hold the text.
type Sealer interface {
	Seal(at Place, plain string) (sealed string, err error)
	Open(at Place, sealed string) (plain string, err error)
}

var errNoSealer = errors.New("it is declared encrypted, and the client has no key ring")

// Seal seals a text that is declared encrypted, by Options.Sealer. It is for
// typed handles, and for what they do not write: arguments of scripts.
func (c *Client) Seal(e *Entry, key, field, plain string) (string, error) {
	err := errNoSealer
	if c.sealer != nil {
		plain, err = c.sealer.Seal(Place{Schema: e.Schema, Key: key, Field: field}, plain)
	}
	if err != nil {
		return "", sealerMissing(e, err)
	}
	return plain, nil
}

// Unseal opens what Seal has sealed. What does not open is a *DecodeError.
func (c *Client) Unseal(e *Entry, key, field, sealed string) (string, error) {
	if c.sealer == nil {
		return "", sealerMissing(e, errNoSealer)
	}
	plain, err := c.sealer.Open(Place{Schema: e.Schema, Key: key, Field: field}, sealed)
	if err != nil {
		return "", &DecodeError{Entry: e.Name, Key: key, Field: field, Err: err}
	}
	return plain, nil
}

func sealerMissing(e *Entry, err error) error {
	return &Error{Class: Invalid, Entry: e.Name, Err: err,
		Hint: "give keywright.Options a Sealer: seal.Open reads a key ring"}
}
