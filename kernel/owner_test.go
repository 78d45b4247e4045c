package kernel_test

import (
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
)

// TestAGroupHasOneClient: a batch runs on the client that its operations have; operations of
// another client are refused before anything is sent, in a transaction, too.
func TestAGroupHasOneClient(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	one, two := open(t, s.URL(), keywright.Options{}), open(t, s.URL()+"/1", keywright.Options{})
	first, other := everykeys.New(one).Str(1), everykeys.New(two).Str(1)
	var b keywright.Batch
	pending := keywright.Queue(&b, first.Set("x"))
	keywright.Queue(&b, other.Set("y"))
	err := b.Run(t.Context())
	class(t, err, keywright.Invalid)
	if _, failed := pending.Result(); failed == nil || !strings.Contains(failed.Error(), "several clients") {
		t.Errorf("the result of one says %v", failed)
	}
	class(t, one.Transact(t.Context(), func(tx *keywright.Tx) error {
		keywright.Queue(tx, first.Set("x"))
		keywright.Queue(tx, other.Set("y"))
		return nil
	}), keywright.Invalid)
	for name, h := range map[string]typed.String[string]{"the first": first, "the other": other} {
		if there, err := h.Exists().Do(t.Context()); there || err != nil {
			t.Errorf("%s was written: %t, %v", name, there, err)
		}
	}
	keywright.Queue(&b, other.Set("y"))
	must(t, b.Run(t.Context()))
	if got := s.Do("DBSIZE"); got != int64(0) {
		t.Errorf("database 0 has %v keys", got)
	}
}

// TestAHandleWithoutAClient: it was made by hand. Its operations say so.
func TestAHandleWithoutAClient(t *testing.T) {
	text := value.Text(0)
	h := typed.NewString(keywright.Binding{Entry: hourly("string"), Key: "k"}, &text)
	_, err := h.Get().Do(t.Context())
	class(t, err, keywright.Invalid)
	var b keywright.Batch
	keywright.Queue(&b, h.Set("x"))
	class(t, b.Run(t.Context()), keywright.Invalid)
}

// TestACachedReadInABatch: it is a read like any other.
func TestACachedReadInABatch(t *testing.T) {
	c := open(t, keywrighttest.Start(t, keywrighttest.Redis).URL(), keywright.Options{})
	h := everykeys.New(c).Str(1)
	must(t, h.Set("x").Do(t.Context()))
	var b keywright.Batch
	p := keywright.Queue(&b, h.Cached(1e9))
	must(t, b.Run(t.Context()))
	if got, err := p.Result(); got != "x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
