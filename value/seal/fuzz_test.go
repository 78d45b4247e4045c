package seal

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// FuzzParse: no text of a key ring panics, takes much memory, or is shown in an error
// or by the ring that was made of it; what is read is read the same way again.
func FuzzParse(f *testing.F) {
	one, two := strings.Repeat("QUFB", 10)+"QUE=", strings.Repeat("QkJC", 10)+"QkI="
	for _, text := range []string{
		fmt.Sprintf(`{"ring": 1, "active": "aaaaaaaa", "keys": {"aaaaaaaa": %q, "bbbbbbbb": %q}}`, one, two),
		fmt.Sprintf(`{"ring": 1, "active": "aaaaaaaa", "keys": {"aaaaaaaa": %q, "aaaaaaaa": %q}}`, one, two),
		fmt.Sprintf(`{"ring": 1, "Active": "aaaaaaaa", "keys": {%q: 1}}`, one), strings.Repeat("[", 10_000),
		`{"ring": 1e999}`, "", "{", `{"keys": {"a": "` + one,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := Parse(text)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
			t.Errorf("%d bytes of text take %d of memory", len(text), used)
		}
		if err != nil {
			if piece := long.FindString(err.Error()); piece != "" {
				t.Errorf("%q is shown: %v", piece, err)
			}
			return
		}
		again, err := Parse(text)
		if err != nil || again.Active() != r.Active() || !slices.Equal(again.IDs(), r.IDs()) {
			t.Errorf("read again: %v, %v, %v", again, r, err)
		}
		d, err := readDocument(text)
		if err != nil {
			t.Fatal(err)
		}
		shown := strings.ReplaceAll(fmt.Sprintf("%v %+v %#v %s %q %d", r, r, r, r, r, r), r.Active(), "")
		for id, secret := range d.Keys {
			if strings.Contains(shown, base64.StdEncoding.EncodeToString(secret)) || strings.Contains(shown, string(secret)) {
				t.Errorf("the key %s is shown: %q", id, shown)
			}
		}
	})
}

// long says what may be a piece of a key, and is in no error.
var long = regexp.MustCompile(`[A-Za-z0-9+/=_-]{16,}`)
