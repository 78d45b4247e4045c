package fallback_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/fallback/storetest"
	"github.com/keywright/keywright/internal/gate"
	"pgregory.net/rapid"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(l fallback.Limits) (fallback.Store, error) { return fallback.NewMemory(l), nil })
}

// TestBytes: what is written is read, and one changed or missing byte is noticed.
func TestBytes(t *testing.T) {
	moment := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "zero") {
			return time.Time{}
		}
		return time.Unix(0, rapid.Int64().Draw(t, "ns"))
	})
	text := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes")) })
	fields := rapid.MapOfN(text, text, 1, 4)
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		r := fallback.Record{Fields: fields.Draw(t, "fields"), Version: rapid.Int64().Draw(t, "version"),
			Expires: moment.Draw(t, "expires"),
			AsOf:    moment.Draw(t, "as of"), Gone: rapid.Bool().Draw(t, "gone"),
			Pending: rapid.IntRange(0, 99).Draw(t, "pending")}
		e := fallback.Entry{Seq: rapid.Uint64().Draw(t, "seq"), ID: text.Draw(t, "id"), Base: rapid.Int64().Draw(t, "base"),
			Deadline: moment.Draw(t, "deadline"),
			At:       moment.Draw(t, "at"), Ambiguous: rapid.Bool().Draw(t, "ambiguous"),
			Change: fallback.Change{Kind: fallback.Update, Fields: r.Fields, Drop: []string{text.Draw(t, "drop")},
				Expires: r.Expires, If: -1}}
		c := e.Against(r)
		var r2 fallback.Record
		var e2 fallback.Entry
		var c2 fallback.Conflict
		for _, x := range []struct {
			in  interface{ MarshalBinary() ([]byte, error) }
			out interface{ UnmarshalBinary([]byte) error }
		}{{r, &r2}, {e, &e2}, {c, &c2}} {
			data, _ := x.in.MarshalBinary()
			if err := x.out.UnmarshalBinary(data); err != nil ||
				!reflect.DeepEqual(reflect.ValueOf(x.out).Elem().Interface(), x.in) {
				t.Fatalf("%+v became %+v, %v", x.in, x.out, err)
			}
			at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
			data[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			if err := x.out.UnmarshalBinary(data); err != fallback.ErrDamaged {
				t.Fatalf("a changed bit: %v", err)
			}
			data[at] ^= 1
			if err := x.out.UnmarshalBinary(data[:at]); err != fallback.ErrDamaged {
				t.Fatalf("cut off: %v", err)
			}
		}
	})
}

func FuzzUnmarshal(f *testing.F) {
	data, _ := fallback.Entry{ID: "a", Change: fallback.Change{Fields: fallback.Fields{"a": "b"}}}.MarshalBinary()
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var e fallback.Entry
		var r fallback.Record
		var c fallback.Conflict
		_, _, _ = e.UnmarshalBinary(data), r.UnmarshalBinary(data), c.UnmarshalBinary(data)
	})
}
