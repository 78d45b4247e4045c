package value

import (
	"encoding/base64"
	"encoding/json"
)

// Seals turns the text of a field into the one that is stored, or back. The
// field is "" for a whole value.
type Seals func(field, text string) (string, error)

func apply(seal Seals, field, text string) (string, error) {
	if seal == nil {
		return "", errNoSeal
	}
	return seal(field, text)
}

var errNoSeal = Bad("is declared encrypted, and there is nothing to seal or open it with")

// Encrypted makes a column out of another whose text is stored sealed.
func Encrypted[T any](c Column[T]) Column[T] { c.Sealed = true; return c }

// HasSealed reports whether a column is stored sealed.
func (f *Fields[T]) HasSealed() bool {
	for i := range f.Columns {
		if f.Columns[i].Sealed {
			return true
		}
	}
	return false
}

// Encrypt makes the codec of values that are stored sealed as a whole.
func Encrypt[T any](c Codec[T]) Codec[T] {
	return sealing(
		func(v T, seal Seals) (string, error) {
			plain, err := c.Encode(v)
			if err != nil {
				return "", err
			}
			return apply(seal, "", plain)
		},
		func(text string, open Seals) (v T, err error) {
			if text, err = apply(open, "", text); err != nil {
				return v, err
			}
			return c.Parse(text)
		})
}

// SealedObject makes the codec of JSON objects some of whose members are sealed.
func SealedObject[T any](columns []ObjectColumn[T]) Codec[T] {
	return sealing(
		func(v T, seal Seals) (string, error) {
			text, err := marshalObject(columns, &v, seal)
			return string(text), err
		},
		func(text string, open Seals) (v T, err error) {
			err = unmarshalObject(columns, []byte(text), &v, open)
			return v, err
		})
}

// sealing returns a codec that cannot be used before it is bound to a place: no plain
// text is stored because someone forgot to seal it.
func sealing[T any](seal func(T, Seals) (string, error), open func(string, Seals) (T, error)) Codec[T] {
	return Codec[T]{
		Append: func(dst []byte, _ T) ([]byte, error) { return dst, errNoSeal },
		Parse:  func(string) (v T, err error) { return v, errNoSeal },
		bind: func(s, o Seals) *Codec[T] {
			return &Codec[T]{
				Append: func(dst []byte, v T) ([]byte, error) {
					text, err := seal(v, s)
					return append(dst, text...), err
				},
				Text:  func(v T) (string, error) { return seal(v, s) },
				Parse: func(text string) (T, error) { return open(text, o) },
			}
		},
	}
}

// Sealed reports whether values are stored sealed, in whole or in part: then the
// codec must be bound to a place before it is used.
func (c *Codec[T]) Sealed() bool { return c.bind != nil }

// Bind returns the codec at a field of a key, "" for its whole value; seal and open
// know the key. A sealed member of a JSON object has its own name as field, after
// that of the field that holds the object: "payload.address".
func (c *Codec[T]) Bind(field string, seal, open Seals) *Codec[T] {
	if c.bind == nil {
		return c
	}
	return c.bind(inside(field, seal), inside(field, open))
}

func inside(field string, do Seals) Seals {
	if field == "" {
		return do
	}
	return func(member, text string) (string, error) {
		if member == "" {
			return do(field, text)
		}
		return do(field+"."+member, text)
	}
}

// EncryptedMember makes a member of a JSON object out of another whose JSON is
// stored sealed, as base64.
func EncryptedMember[T any](c ObjectColumn[T]) ObjectColumn[T] { c.sealed = true; return c }

// SealMember seals the JSON of a member of an object: it becomes a text, as base64.
func SealMember(name string, plain []byte, seal Seals) ([]byte, error) {
	text, err := apply(seal, name, string(plain))
	if err != nil {
		return nil, err
	}
	if text == string(plain) { // a sealer that still writes plain text
		return plain, nil
	}
	return Marshal(base64.StdEncoding.EncodeToString([]byte(text)))
}

// OpenMember opens a member. What does not have the form of package seal is given
// to open as it is stored: whether plain text is taken is for the sealer to say. A
// sealer that refuses it is then given what the base64 holds, which may have its
// own form.
func OpenMember(name string, stored []byte, open Seals) ([]byte, error) {
	var text string
	var sealed []byte
	isSealed := json.Unmarshal(stored, &text) == nil
	if isSealed {
		var err error
		sealed, err = base64.StdEncoding.DecodeString(text)
		isSealed = err == nil
	}
	if isSealed && sealedForm(sealed) {
		plain, err := apply(open, name, string(sealed))
		return []byte(plain), err
	}
	plain, err := apply(open, name, string(stored))
	if err != nil && isSealed {
		if own, failed := apply(open, name, string(sealed)); failed == nil {
			return []byte(own), nil
		}
	}
	return []byte(plain), err
}

// sealedForm reports whether bytes begin as sealed texts of all versions do: the
// version, far from any letter, and how long the name of the key is.
func sealedForm(b []byte) bool { return len(b) > 2 && b[0] < ' ' && b[1] > 0 && b[1] <= ' ' }
