package keyspace

import "testing"

func TestNearest(t *testing.T) {
	properties := Properties("zset")
	for word, want := range map[string]string{
		"tll": "ttl", "TTL": "ttl", "tpye": "type", "onwer": "owner", "memeber": "member", "scores": "score", "reader": "readers",
		"x": "", "frobnicate": "", "": "", "ke": "key", "kye": "key", "doc": "doc",
	} {
		if got := nearest(word, properties); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"ab", "ba", 1}, {"abc", "acb", 1}, {"ca", "abc", 3}, {"kitten", "sitting", 3}, {"idle", "idel", 1}} {
		if got := distance(test.a, test.b); got != test.want || distance(test.b, test.a) != got {
			t.Errorf("distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

func TestIdentifier(t *testing.T) {
	for name, want := range map[string]string{"Item": "item", "userName": "user_name", "user-name": "user_name", "a.b:c d": "a_b_c_d", "가격": "", "1st": "", "x1": "x1"} {
		if got := identifier(name, false); got != want {
			t.Errorf("identifier(%q) = %q, want %q", name, got, want)
		}
	}
	if got := identifier("user-Id", true); got != "user_Id" {
		t.Errorf("with capitals %q", got)
	}
}
