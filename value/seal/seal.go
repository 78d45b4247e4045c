// Package seal seals what a declaration calls encrypted: AES-256-GCM with keys
// from a key ring. A sealed text is bound to its place, the declaration's
// package, the Redis key and the field: copied elsewhere it does not open.
//
// It is no key management: a ring comes from a file, the environment or a
// program, and where that keeps its keys is its affair. It hides values, not
// that they are there, their lengths, or names of keys and fields; and a program that
// may write can put an older sealed text back into its own place.
//
// What a sealed text is made of and how keys are changed: docs/encryption.md.
//
// API: may change until 1.0.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/keywright/keywright"
)

// The layout of a sealed text: version, length of the key's id, the id, nonce,
// ciphertext, tag.
const (
	version   = 1
	nonceSize = 12
	tagSize   = 16
	keySize   = 32
	maxID     = 32
)

// Overhead returns how many bytes a sealed text is longer than the plain one, with a
// key whose id has that many bytes.
func Overhead(id int) int { return 2 + id + nonceSize + tagSize }

// The reasons why a text does not open. They are wrapped: errors.Is tells them.
var (
	// ErrNotSealed: it is no sealed text, or of a later version. It may be plain.
	ErrNotSealed = errors.New("is not a sealed text")
	// ErrUnknownKey: it is sealed with a key that the ring does not have.
	ErrUnknownKey = errors.New("is sealed with a key that the ring does not have")
	// ErrForged: it was changed, or sealed for another place, or with another key
	// of that id.
	ErrForged = errors.New("does not open here: it was changed, or sealed for another place or with another key")

	errLooksSealed = errors.New(
		"begins as a sealed text does, and cannot be written as plain text while others are adopted")
)

// KeyID returns the id of the key that a text says it is sealed with; ok is false if
// it is no sealed text. It says nothing about whether the text opens.
func KeyID(sealed string) (id string, ok bool) {
	if len(sealed) < 2 || sealed[0] != version {
		return "", false
	}
	n := int(sealed[1])
	if n == 0 || n > maxID || len(sealed) < Overhead(n) {
		return "", false
	}
	id = sealed[2 : 2+n]
	return id, legalID(id) == nil
}

// key represents one key of a ring: what HKDF has extracted from its secret.
type key struct{ pseudorandom []byte }

func newKey(secret []byte) (key, error) {
	p, err := hkdf.Extract(sha256.New, secret, []byte("keywright seal 1"))
	return key{p}, err
}

// at returns the cipher of one place. Each place has a key of its own, so that the
// 2^32 texts that random nonces allow are those of one field of one record.
func (k key) at(about []byte) (cipher.AEAD, error) {
	secret, err := hkdf.Expand(sha256.New, k.pseudorandom, string(about), keySize)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// about returns what a text is bound to: format, key id and place. Each part has its
// length in front, so that no two places read the same.
func about(id string, at keywright.Place) []byte {
	out := make([]byte, 0, 1+4*8+len(id)+len(at.Schema)+len(at.Key)+len(at.Field))
	out = append(out, version)
	for _, part := range []string{id, at.Schema, at.Key, at.Field} {
		out = binary.BigEndian.AppendUint64(out, uint64(len(part)))
		out = append(out, part...)
	}
	return out
}

// Seal seals a text for its place with the active key. It costs about 2 µs and
// the length of the text; no round trip.
func (r *Ring) Seal(at keywright.Place, plain string) (string, error) {
	s, err := r.now()
	if err != nil {
		return "", err
	}
	bound := about(s.active, at)
	aead, err := s.keys[s.active].at(bound)
	if err != nil {
		return "", err
	}
	out := make([]byte, 0, Overhead(len(s.active))+len(plain))
	out = append(append(out, version, byte(len(s.active))), s.active...)
	return string(aead.Seal(out, nil, []byte(plain), bound)), nil
}

// Open opens a text at its place with the key that it names. The error is one
// of ErrNotSealed, ErrUnknownKey and ErrForged; none shows the text.
func (r *Ring) Open(at keywright.Place, sealed string) (string, error) {
	s, err := r.now()
	if err != nil {
		return "", err
	}
	id, ok := KeyID(sealed)
	if !ok {
		return "", ErrNotSealed
	}
	k, known := s.keys[id]
	if !known {
		return "", fmt.Errorf("%w: %s", ErrUnknownKey, id)
	}
	bound := about(id, at)
	aead, err := k.at(bound)
	if err != nil {
		return "", err
	}
	plain, err := aead.Open(nil, nil, []byte(sealed[2+len(id):]), bound)
	if err != nil {
		return "", ErrForged
	}
	return string(plain), nil
}
