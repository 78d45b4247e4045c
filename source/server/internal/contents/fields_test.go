package contents

import (
	"errors"
	"testing"
)

// A hash whose fields expire is never read in parts, which have no expiries of fields.
func TestFieldsThatExpire(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		brand, version string
		want           bool
	}{
		{"redis", "7.0.15", false}, {"redis", "7.2.4", false}, {"redis", "7.4.0", true}, {"redis", "7.10.1", true},
		{"redis", "8.0", true},
		{"valkey", "7.2.5", false}, {"valkey", "8.0.1", false}, {"valkey", "8.1.0", false}, {"valkey", "9.0.0", true},
		{"redis", "", false},
	} {
		if got := fieldsExpire(c.brand, c.version); got != c.want {
			t.Errorf("%s %s: %v", c.brand, c.version, got)
		}
	}
	for _, c := range []struct {
		reply any
		ends  bool
	}{
		{[]any{int64(-1), int64(-1), int64(-2)}, false}, {[]any{int64(-1), int64(4102444800000)}, true}, {[]any{"x"}, true},
		{nil, false},
	} {
		if err := anyEnds(c.reply); errors.Is(err, errFieldEnds) != c.ends {
			t.Errorf("%v: %v", c.reply, err)
		}
	}
}
