package finding

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// A very long name is kept as its beginning and its length, and every form says so.
func TestKeptNames(t *testing.T) {
	long, other := bytes.Repeat([]byte("x"), 5000), bytes.Repeat([]byte("x"), 5001)
	kept := Cut(long)
	if len(kept) > 4200 || bytes.Equal(kept, Cut(other)) || !bytes.Equal(kept, Cut(kept)) ||
		!bytes.HasPrefix(long, kept[:4096]) {
		t.Errorf("%d bytes are kept: %s", len(kept), kept[4090:])
	}
	text, err := json.Marshal(JSONKey(kept))
	if err != nil || !strings.HasSuffix(string(text), `x","length":5000}`) || len(text) > 4200 {
		t.Errorf("%s, %v", text[4000:], err)
	}
	var back JSONKey
	if err := json.Unmarshal(text, &back); err != nil || !bytes.Equal(back, kept) {
		t.Errorf("%d bytes came back, %v", len(back), err)
	}
	if got := Key(kept); !strings.HasSuffix(got, "… (5000 bytes)") {
		t.Error(got)
	}
	x := strings.Repeat("x", 4096)
	for _, name := range []string{"", "short", x, x + "… (12 bytes)", x + x} {
		text, err := json.Marshal(JSONKey(name))
		if back = nil; err != nil || json.Unmarshal(text, &back) != nil || string(back) != name {
			t.Errorf("%d bytes: %d came back", len(name), len(back))
		}
	}
	invalid := bytes.Repeat([]byte{0xff}, 9000)
	if text, err := json.Marshal(JSONKey(Cut(invalid))); err != nil || json.Unmarshal(text, &back) != nil ||
		!bytes.Equal(back, Cut(invalid)) {
		t.Errorf("%v", err)
	}
}
