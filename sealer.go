package keywright

import "errors"

// Place is where a sealed text stands. It is bound to the text: what was sealed
// for one place does not open at another.
type Place struct {
	Schema string // the package of the declaration
	Key    string
	Field  string // of a hash; "" for the value of a key
}

// Sealer seals what is declared encrypted, and opens it. Package seal has one.
// Errors never hold the text.
type Sealer interface {
	Seal(at Place, plain string) (sealed string, err error)
	Open(at Place, sealed string) (plain string, err error)
}

var errNoSealer = errors.New("it is declared encrypted, and the client has no key ring")

// Seal seals a text that is declared encrypted, by Options.Sealer. It is for
// typed handles.
func (c *Client) Seal(e *Entry, key, field, plain string) (string, error) {
	return c.sealing(e, key, field, plain, Sealer.Seal)
}

// Unseal opens what Seal has sealed.
func (c *Client) Unseal(e *Entry, key, field, sealed string) (string, error) {
	return c.sealing(e, key, field, sealed, Sealer.Open)
}

func (c *Client) sealing(e *Entry, key, field, text string, do func(Sealer, Place, string) (string, error)) (string, error) {
	err := errNoSealer
	if c.sealer != nil {
		text, err = do(c.sealer, Place{Schema: e.Schema, Key: key, Field: field}, text)
	}
	if err != nil {
		return "", &Error{Class: Invalid, Entry: e.Name, Err: err, Hint: "give keywright.Options a Sealer: seal.Open reads a key ring"}
	}
	return text, nil
}
