package node

import "testing"

func TestIdentifier(t *testing.T) {
	for name, want := range map[string]string{"Item": "item", "userName": "user_name", "user-name": "user_name",
		"a.b:c d": "a_b_c_d", "가격": "", "1st": "", "x1": "x1"} {
		if got := identifier(name, false); got != want {
			t.Errorf("identifier(%q) = %q, want %q", name, got, want)
		}
	}
	if got := identifier("user-Id", true); got != "user_Id" {
		t.Errorf("with capitals %q", got)
	}
}
