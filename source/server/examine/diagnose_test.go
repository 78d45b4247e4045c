package examine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/servertest"
	kt "github.com/keywright/keywright/keywrighttest"
)

// What the user may not do is tried: each command is taken away, and is named.
func TestExaminePermissions(t *testing.T) {
	t.Parallel()
	servertest.Brands(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		for _, one := range trialList {
			if one.cluster {
				continue // TestExamineNamesEachCommandThatIsMissing
			}
			s.Do("ACL", "SETUSER", "u", "reset", "on", ">pw", "~*", "&*", "+@all",
				"-"+strings.ToLower(strings.Join(commandOf(one), "|")))
			x := examined(t, "redis://u:pw@"+s.Addr())
			if denied := x.Patients[0].Denied(one.purpose); !slices.Equal(denied, []string{one.name}) ||
				x.fact("missing permissions") != one.name {
				t.Errorf("%s: %v\n%v", one.name, denied, x.Facts())
			}
		}
		for _, command := range []string{"config|get", "acl|whoami", "time"} {
			s.Do("ACL", "SETUSER", "u", "reset", "on", ">pw", "~*", "&*", "+@all", "-"+command)
			x := examined(t, "redis://u:pw@"+s.Addr())
			if !strings.Contains(x.fact("topology"), "primary with 0 replicas") {
				t.Errorf("without %s: %v", command, x.Facts())
			}
		}
		if n := s.Do("DBSIZE"); fmt.Sprint(n) != "0" {
			t.Errorf("trying has written %v keys", n)
		}
	})
}

// commandOf returns a command as an ACL names it.
func commandOf(t trial) []string {
	if words := strings.Fields(t.name); words[0] != "OBJECT" && words[0] != "MEMORY" && words[0] != "SCRIPT" {
		return words[:1]
	}
	return strings.Fields(t.name)
}
