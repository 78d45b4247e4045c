package acl

import "testing"

// TestAllIsOneDifference: a user that may run everything has one right too many, and not
// one for each command that there is.
func TestAllIsOneDifference(t *testing.T) {
	categories := map[string][]string{"read": {"get", "mget"}, "write": {"set", "del"},
		"admin": {"config|get", "flushall"}}
	u := User{Name: "u", Commands: []string{"get"}}
	var removed []string
	for _, c := range Diff([]User{u}, []Actual{{Name: "u", Flags: []string{"on"}, Commands: "+@all"}}, categories) {
		if !c.Add {
			removed = append(removed, c.Rule)
		}
	}
	if len(removed) != 1 || removed[0] != "+@all" {
		t.Errorf("%q", removed)
	}
}
