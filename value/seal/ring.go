package seal

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Ring represents some keys, one of them active: it seals, all of them open. It is a
// keywright.Sealer, safe for concurrent use. However it is printed, no key is.
type Ring struct {
	source  Source
	reloads sync.Mutex // one at a time: an older ring does not come after a newer one
	state   atomic.Pointer[state]
}

type state struct {
	active string
	keys   map[string]key
}

// maxKeys bounds a ring, maxText its text in bytes.
const (
	maxKeys = 256
	maxText = 64 << 10
)

// Open reads a ring from where it comes.
func Open(ctx context.Context, from Source) (*Ring, error) {
	r := &Ring{source: from}
	return r, r.Reload(ctx)
}

// Parse makes a ring of its text; Reload leaves it as it is.
func Parse(text []byte) (*Ring, error) {
	return Open(context.Background(), func(context.Context) ([]byte, error) { return text, nil })
}

// Reload reads the ring again from where it came. Texts under way are sealed and
// opened with the old one or the new one. When that fails, the old one stays.
func (r *Ring) Reload(ctx context.Context) error {
	if r.source == nil {
		return errNoRing
	}
	r.reloads.Lock()
	defer r.reloads.Unlock()
	text, err := r.source(ctx)
	if err != nil {
		return err
	}
	d, err := readDocument(text)
	if err != nil {
		return fmt.Errorf("the key ring %w", err)
	}
	s, err := d.state()
	if err != nil {
		return fmt.Errorf("the key ring %w", err)
	}
	r.state.Store(s)
	return nil
}

var errNoRing = errors.New("there is no key ring: make it with seal.Open")

func (r *Ring) now() (*state, error) {
	if r != nil {
		if s := r.state.Load(); s != nil {
			return s, nil
		}
	}
	return nil, errNoRing
}

// Active returns the id of the key that seals, "" without a ring.
func (r *Ring) Active() string {
	s, err := r.now()
	if err != nil {
		return ""
	}
	return s.active
}

// IDs returns the ids of all keys, sorted.
func (r *Ring) IDs() []string {
	s, err := r.now()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.keys))
}

// redacted returns all that a ring shows of itself.
func (r *Ring) redacted() string { return fmt.Sprintf("seal.Ring(active %s)", r.Active()) }

// Format implements fmt.Formatter: ids, and no key by any verb.
func (r *Ring) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, r.redacted()) }

// MarshalJSON implements json.Marshaler: ids, and no key.
func (r *Ring) MarshalJSON() ([]byte, error) { return json.Marshal(r.redacted()) }

// MarshalText implements encoding.TextMarshaler: ids, and no key.
func (r *Ring) MarshalText() ([]byte, error) { return []byte(r.redacted()), nil }

// LogValue implements slog.LogValuer: ids, and no key.
func (r *Ring) LogValue() slog.Value { return slog.StringValue(r.redacted()) }

// document represents the text of a ring:
//
//	{"ring": 1, "active": "9f3c21d0", "keys": {"9f3c21d0": "<32 bytes as base64>"}}
type document struct {
	Ring   int    `json:"ring"`
	Active string `json:"active"`
	Keys   keys   `json:"keys"`
}

// keys holds those of a ring by id; one id twice is an error.
type keys map[string]secret

// UnmarshalJSON implements json.Unmarshaler. Its errors show nothing of the text.
func (k *keys) UnmarshalJSON(text []byte) error {
	*k = keys{}
	return members(text, errBadKey, func(id string, decode *json.Decoder) error {
		var s secret
		if err := decode.Decode(&s); err != nil {
			return errBadKey
		}
		(*k)[id] = s
		return nil
	})
}

// UnmarshalJSON implements json.Unmarshaler. A member twice is an error, as is one
// in other letters: another reader may take the one that this one does not.
func (d *document) UnmarshalJSON(text []byte) error {
	into := map[string]any{"ring": &d.Ring, "active": &d.Active, "keys": &d.Keys}
	return members(text, errForm, func(name string, decode *json.Decoder) error {
		if into[name] == nil {
			return errForm
		}
		return decode.Decode(into[name])
	})
}

// members reads the members of a JSON object, each once. bad is what is wrong with
// a text that is none.
func members(text []byte, bad error, read func(name string, decode *json.Decoder) error) error {
	decode := json.NewDecoder(bytes.NewReader(text))
	if first, err := decode.Token(); err != nil || first != json.Delim('{') {
		return bad
	}
	seen := map[string]bool{}
	for decode.More() {
		name, err := decode.Token()
		text, ok := name.(string)
		if err != nil || !ok {
			return bad
		}
		if seen[text] {
			return errTwice
		}
		seen[text] = true
		if err := read(text, decode); err != nil {
			return err
		}
	}
	return nil
}

var errForm = errors.New(`is not {"ring": 1, "active": ID, "keys": {ID: KEY}} as it should be`)

var errTwice = errors.New("has one member or one id twice")

// secret represents a key in the text of a ring.
type secret []byte

// Format implements fmt.Formatter.
func (secret) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "[a key]") }

// UnmarshalJSON implements json.Unmarshaler. Its errors show nothing of the text.
func (k *secret) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) != nil {
		return errBadKey
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != keySize {
		return errBadKey
	}
	*k = b
	return nil
}

var errBadKey = errors.New("has a key that is not 32 bytes in base64; `keywright seal key` makes one")

// readDocument reads strictly: a ring that is misread is a ring that seals with
// the wrong key.
func readDocument(text []byte) (d document, err error) {
	if len(text) > maxText {
		return d, fmt.Errorf("is longer than %d KiB", maxText>>10)
	}
	decode := json.NewDecoder(bytes.NewReader(text))
	if err := decode.Decode(&d); err != nil {
		for _, known := range []error{errBadKey, errTwice} {
			if errors.Is(err, known) {
				return d, known
			}
		}
		return d, errForm
	}
	if _, err := decode.Token(); err != io.EOF {
		return d, errors.New("has something after its end")
	}
	return d, d.check()
}

func (d *document) check() error {
	if d.Ring != 1 {
		return errors.New(`has no "ring": 1, or is of a later version`)
	}
	if len(d.Keys) == 0 || len(d.Keys) > maxKeys {
		return fmt.Errorf("has %d keys; 1 to %d are possible", len(d.Keys), maxKeys)
	}
	if _, ok := d.Keys[d.Active]; !ok {
		return errors.New("has no key of the id that it says is active")
	}
	seen := map[string]bool{string(make([]byte, keySize)): true}
	for id, secret := range d.Keys {
		if err := legalID(id); err != nil {
			return err
		}
		if seen[string(secret)] {
			return errors.New("has one key under two ids, or a key of zeros")
		}
		seen[string(secret)] = true
	}
	return nil
}

// legalID: what is in headers, in tables and on command lines.
func legalID(id string) error {
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return errBadID
		}
	}
	if id == "" || len(id) > maxID {
		return errBadID
	}
	return nil
}

var errBadID = fmt.Errorf("has an id that is not 1 to %d of A-Z, a-z, 0-9, dot, - and _", maxID)

func (d *document) state() (*state, error) {
	s := &state{active: d.Active, keys: make(map[string]key, len(d.Keys))}
	for id, secret := range d.Keys {
		k, err := newKey(secret)
		if err != nil {
			return nil, errors.New("has a key that cannot be used: " + err.Error())
		}
		s.keys[id] = k
	}
	return s, nil
}

// Generate makes the text of a ring with one new key, which is active.
func Generate() (text []byte, id string, err error) {
	d := document{Ring: 1, Keys: keys{}}
	id = d.add()
	d.Active = id
	text, err = d.text()
	return text, id, err
}

// Add makes a text with one more key of the text of a ring. It opens from now
// on, and seals only if activate says so: first every process must know it.
func Add(ring []byte, activate bool) (text []byte, id string, err error) {
	d, err := readDocument(ring)
	if err != nil {
		return nil, "", fmt.Errorf("the key ring %w", err)
	}
	id = d.add()
	if activate {
		d.Active = id
	}
	return d.changed(id)
}

// Activate makes a text in which another key of the ring seals.
func Activate(ring []byte, id string) (text []byte, err error) {
	d, err := readDocument(ring)
	if err != nil {
		return nil, fmt.Errorf("the key ring %w", err)
	}
	if _, ok := d.Keys[id]; !ok {
		return nil, errors.New("the key ring has no key " + id)
	}
	d.Active = id
	text, _, err = d.changed(id)
	return text, err
}

// Remove makes a text without one of the keys; not without the active one. What
// is sealed with it does not open any more: `keywright seal status` counts that.
func Remove(ring []byte, id string) (text []byte, err error) {
	d, err := readDocument(ring)
	if err != nil {
		return nil, fmt.Errorf("the key ring %w", err)
	}
	if _, ok := d.Keys[id]; !ok {
		return nil, errors.New("the key ring has no key " + id)
	}
	if id == d.Active {
		return nil, errors.New("the key " + id + " is active: make another one active first")
	}
	delete(d.Keys, id)
	text, _, err = d.changed(id)
	return text, err
}

func (d *document) changed(id string) ([]byte, string, error) {
	if err := d.check(); err != nil {
		return nil, "", fmt.Errorf("the key ring would be wrong: it %w", err)
	}
	text, err := d.text()
	return text, id, err
}

// add puts a new key into the ring and gives its id: 32 random bits.
func (d *document) add() string {
	for {
		var name [4]byte
		_, _ = rand.Read(name[:]) // never fails
		id := hex.EncodeToString(name[:])
		if _, taken := d.Keys[id]; !taken {
			k := make(secret, keySize)
			_, _ = rand.Read(k)
			d.Keys[id] = k
			return id
		}
	}
}

// text returns the ring as JSON: the one place where keys are written out.
func (d *document) text() ([]byte, error) {
	keys := map[string]string{}
	for id, k := range d.Keys {
		keys[id] = base64.StdEncoding.EncodeToString(k)
	}
	text, err := json.MarshalIndent(map[string]any{"ring": d.Ring, "active": d.Active, "keys": keys}, "", "  ")
	return append(text, '\n'), err
}
