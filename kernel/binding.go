package kernel

// Binding says what a handle works with: a client, what is declared of a key, and the
// key. Every constructor of a handle or a construct takes one.
type Binding struct {
	Client *Client
	Entry  *Entry
	Key    string // "" for a construct with several keys, which takes them beside it
	Err    error  // why a key could not be built, nil if all could
}

// Invalid returns what every operation of the handle fails with before anything is sent,
// where a key could not be built; nil where all could. op is what was asked for, "" where
// the operations say it.
func (b Binding) Invalid(op string) error {
	switch known := b.Err.(type) {
	case nil:
		return nil
	case *Error:
		return known
	}
	name := ""
	if b.Entry != nil {
		name = b.Entry.Name
	}
	return &Error{Class: Invalid, Op: op, Entry: name, Err: b.Err}
}

// To returns the binding of another key of the same entry, as a builder of keys gives it.
func (b Binding) To(key string, err error) Binding {
	b.Key, b.Err = key, err
	return b
}
