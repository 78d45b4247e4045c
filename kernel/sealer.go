package kernel

import "errors"

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
