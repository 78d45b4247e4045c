package parts_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
)

var loaded = declared.File

// TestEveryKeyIsOnePart: each key of each entry is exactly one part of the entry's handle,
// so that no key of a construct is unknown to what makes handles and what writes code.
func TestEveryKeyIsOnePart(t *testing.T) {
	files, _ := filepath.Glob("../../examples/*/keyspace.yaml")
	inside, _ := filepath.Glob("../../internal/*/keyspace.yaml")
	seen := map[keyspace.Construct]bool{}
	for _, file := range append(files, inside...) {
		ks := loaded(t, file)
		for _, e := range ks.Entries {
			seen[e.Construct] = true
			used := map[*keyspace.Key]int{}
			for _, p := range parts.Of(e).All() {
				if p.Channel() {
					if p.Pattern != e.Notify.Pattern {
						t.Errorf("%s, %s: %s is another channel", file, e.Name, p.Name)
					}
					continue
				}
				used[p.Key]++
			}
			for _, k := range e.Keys {
				if k.Role == "pressure" { // of what acts when memory is short, one for all entries
					continue
				}
				if used[k] != 1 {
					t.Errorf("%s: %s is %d parts", file, k.Name, used[k])
				}
			}
			if len(used) > len(e.Keys) {
				t.Errorf("%s: the handle of %s has keys of other entries", file, e.Name)
			}
		}
	}
	if len(seen) < 10 {
		t.Errorf("only the constructs %v were seen", seen)
	}
}

// TestBusyAndMomentary: what is busy or momentary is a role of the construct, and none is
// momentary that holds what is to be kept.
func TestBusyAndMomentary(t *testing.T) {
	for construct, want := range map[keyspace.Construct]string{
		keyspace.Lock: ",waiters,shared", keyspace.Queue: "leases,workers", keyspace.Cache: "", keyspace.Entity: "",
		keyspace.Plain: "",
	} {
		if got := strings.Join(parts.Busy(construct), ","); got != want {
			t.Errorf("%s: busy are %q", construct, got)
		}
	}
	var momentary []string
	for _, k := range loaded(t, "../../internal/everykeys/keyspace.yaml").Keys {
		if parts.Momentary(k) {
			momentary = append(momentary, k.Name)
		}
	}
	slices.Sort(momentary)
	if got := strings.Join(momentary, " "); got != "ca.fill item.pressure item.sweep kept.sweep lk lk.shared lk.waiters q.workers" {
		t.Errorf("momentary are %s", got)
	}
}

// TestValues: what tells one handle from another is what the handle does not fill in.
func TestValues(t *testing.T) {
	ks := loaded(t, "../../examples/poppobuilder/keyspace.yaml")
	for _, e := range ks.Entries {
		if e.Construct == keyspace.Script {
			continue
		}
		values, own := parts.Values(e), parts.Of(e).Own()
		for _, p := range e.Keys[0].Pattern.Placeholders() {
			if slices.Contains(values, p.Name) == slices.Contains(own, p.Name) {
				t.Errorf("%s: %s is both or neither", e.Name, p.Name)
			}
		}
	}
}
