package infer_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/infer/page"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/source"
)

// ceiling says how much memory a draft may need, whatever it is drawn from.
const ceiling = 256 << 20

// heap returns what is in use after a collection. What tests before it left may go at any time: signed, so that less is
// less.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// More keys than are kept, all of them different, each with a value: memory stays
// below the ceiling, the draft says that its counts are about so, and its parts
// still add up to all keys.
func TestBounds(t *testing.T) {
	gate.Skip(t, "draws a million keys")
	before := heap()
	in, err := infer.New(infer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	value := &source.Value{Str: []byte(`{"a":1,"b":"x","c":[1,2],"d":true}`)}
	name := make([]byte, 0, 64)
	batch := make([]source.Key, 1)
	const n = 1_100_000
	for i := range n {
		switch {
		case i%10 == 0:
			name = fmt.Appendf(name[:0], "user:%d:cart", i)
		default:
			name = fmt.Appendf(name[:0], "%s:%s-%d:%s", randomWord(r, 3), randomWord(r, 3), r.IntN(1000), randomWord(r, 9))
		}
		batch[0] = source.Key{Name: name, Kind: source.String, TTL: source.NoTTL, Bytes: 100}
		if i%50 == 0 {
			batch[0].Value = value
		}
		in.Add(batch)
		if i%500_000 == 499_999 {
			if used := heap() - before; used > ceiling/2 {
				t.Fatalf("%d MiB after %d keys", used>>20, i+1)
			}
		}
	}
	d := in.Draft()
	if used := heap() - before; used > ceiling/2 {
		t.Errorf("%d MiB in use", used>>20)
	}
	if nodes := in.Nodes(); nodes == 0 || nodes > 100_000 {
		t.Errorf("%d nodes", nodes)
	}
	if got := sum(d); got != d.All || d.All.Keys != n {
		t.Errorf("the parts are %+v of %+v", got, d.All)
	}
	text := d.YAML()
	loaded(t, text)
	if !strings.Contains(string(text), "about 110,000 keys, 10.5 MiB") {
		t.Errorf("%.3000s", text)
	}
	runtime.KeepAlive(in)
}

// TestMoreThanIsKept: when names need more room than there is, what comes later is counted, and the draft says that it
// is about so.
func TestMoreThanIsKept(t *testing.T) {
	in, err := infer.New(infer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const users, names = 500, 11_000
	long := strings.Repeat("x", 4000)
	add := func(n int, format string, of ...any) {
		for i := range n {
			in.Add([]source.Key{{Name: fmt.Appendf(nil, format, append(of, i)...), Kind: source.String, TTL: source.NoTTL,
				Bytes: 100}})
		}
	}
	add(users, "user:%d:cart")
	add(names, "%s:%d", long)
	add(users, "user:9%d:cart")
	d := in.Draft()
	if got := sum(d); !d.About || got != d.All || got.Keys != names+2*users {
		t.Errorf("about: %t, the parts are %+v of %+v", d.About, got, d.All)
	}
	text := d.YAML()
	loaded(t, text)
	if !strings.Contains(string(text), "about 1,000 keys") || !strings.Contains(string(text), "key: user:{user_id}:cart") {
		t.Errorf("%.3000s", text)
	}
}

// A page of the greatest length is read within the ceiling.
func TestPageBounds(t *testing.T) {
	gate.Skip(t, "reads 4 MiB")
	before := heap()
	text := []byte(strings.Repeat("| `ka:{a}:x` | hash | 1h |\n", (4<<20)/27))
	read := page.Read(text)
	if used := heap() - before; used > ceiling/2 {
		t.Errorf("%d MiB in use", used>>20)
	}
	runtime.KeepAlive(read)
}
