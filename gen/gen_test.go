package gen

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestWords(t *testing.T) {
	for name, want := range map[string][]string{
		"product_detail": {"product", "detail"}, "productId": {"product", "id"},
		"priority+created_at": {"priority", "created", "at"},
		"HTTPServer":          {"http", "server"}, "userID2": {"user", "id2"}, "a": {"a"}, "": nil, "_x__y_": {"x", "y"},
		"顧客": {"顧客"}, "index.kind": {"index", "kind"},
	} {
		if got := Words(name); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestNamesAreUniqueAndSteady(t *testing.T) {
	var n Names
	got := []string{n.Take("get"), n.Take("get"), n.Take("type", "type"), n.Take("get")}
	if want := []string{"get", "get2", "type2", "get3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCheck(t *testing.T) {
	dir := fstest.MapFS{"a.go": {Data: []byte("// " + Marker + "\nold")}, "hand.go": {Data: []byte("package x")},
		"same.go": {Data: []byte("same")}}
	for name, want := range map[string]State{"a.go": Stale, "hand.go": Foreign, "same.go": Fresh, "none.go": Missing} {
		if got := Check(dir, File{name, []byte("same")}); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// TestOursACL: an ACL file cannot say that it was generated; one that someone
// gave passwords is not replaced.
func TestOursACL(t *testing.T) {
	line := "user web on resetkeys resetchannels -@all +get ~cache:* &news\n"
	for text, want := range map[string]bool{line: true, line + line: true, line + "user x on >secret +@all\n": false,
		"user web on >secret resetkeys resetchannels -@all +get\n": false, strings.TrimSpace(line) + " #abc\n": false,
		"user default on nopass\n": false} {
		if Ours([]byte(text)) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}
