package keygen

import (
	"regexp"
	"testing"
)

// The makers promise distinct values and a shape; the shapes are those of the
// keyspace language.
func TestMakers(t *testing.T) {
	tests := map[string]struct {
		make     Maker
		shape    string
		distinct bool
	}{
		"ID":          {ID, `[1-9][0-9]{0,8}`, true},
		"UUID":        {UUID, `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`, true},
		"ULID":        {ULID, `[0-7][0-9A-HJKMNP-TV-Z]{25}`, true},
		"Hex32":       {Hex32, `[0-9a-f]{32}`, true},
		"Slug":        {Slug, `[a-z]+-[a-z]+-[0-9a-z]+`, true},
		"Email":       {Email, `[a-z]+\.[0-9a-z]+@example\.com`, true},
		"IPv4":        {IPv4, `10(\.[0-9]{1,3}){3}`, true},
		"Day":         {Day, `2026-[01][0-9]-[0-3][0-9]`, false},
		"UnixSeconds": {UnixSeconds, `1[78][0-9]{8}`, false},
		"EnglishWord": {EnglishWord, `[a-z]+`, false},
		"OneOf":       {OneOf("a", "b"), `[ab]`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			shape := regexp.MustCompile("^(?:" + tc.shape + ")$")
			r, seen := New(7), map[string]bool{}
			for serial := range uint64(100_000) {
				value := string(tc.make(nil, r, serial))
				if !shape.MatchString(value) {
					t.Fatalf("serial %d: %q does not match %s", serial, value, tc.shape)
				}
				if tc.distinct && seen[value] {
					t.Fatalf("serial %d: %q was made before", serial, value)
				}
				seen[value] = true
			}
		})
	}
}

func TestTemplate(t *testing.T) {
	makers := map[string]Maker{"id": OneOf("42"), "name": OneOf("x")}
	tests := []struct{ pattern, want string }{
		{"a:{id}", "a:42"},
		{"lock_{id}_{name}", "lock_42_x"},
		{"coupon:{#{id}}:stock", "coupon:{42}:stock"},
		{"{#jobs}:ready", "{jobs}:ready"},
		{"plain", "plain"},
	}
	for _, tc := range tests {
		if got := string(MustParse(tc.pattern, makers).Append(nil, New(1), 0)); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.pattern, got, tc.want)
		}
	}
	for _, bad := range []string{"a:{unknown}", "a:{id"} {
		if _, err := Parse(bad, makers); err == nil {
			t.Errorf("%s: want an error", bad)
		}
	}
}

func TestRandIsPinned(t *testing.T) {
	r := New(1)
	got := [3]uint64{r.Uint64(), r.Uint64(), r.Uint64()}
	want := [3]uint64{0x910a2dec89025cc1, 0xbeeb8da1658eec67, 0xf893a2eefb32555e}
	if got != want {
		t.Errorf("splitmix64 of seed 1 = %#x, want %#x", got, want)
	}
	for range 10_000 {
		if n := r.Between(3, 5); n < 3 || n > 5 {
			t.Fatalf("Between(3, 5) = %d", n)
		}
	}
}
