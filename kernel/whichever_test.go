package kernel_test

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
)

// ours are keys in a line of MONITOR.
var ours = regexp.MustCompile(`"(\{?#?every:[^"\\]*)"`)

// keysOfCalls are the keys that each call names, as the server sees them.
func keysOfCalls(t *testing.T, s *keywrighttest.Server,
	all map[string]func(context.Context) error) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for range 2 { // the second time there is something
		for _, name := range slices.Sorted(maps.Keys(all)) {
			monitored := s.Monitor()
			briefly(t, all[name])
			for _, line := range monitored() {
				for _, key := range ours.FindAllStringSubmatch(line, -1) {
					if !slices.Contains(out[name], key[1]) {
						out[name] = append(out[name], key[1])
					}
				}
			}
		}
	}
	return out
}

// briefly makes a call that may wait for something.
func briefly(t *testing.T, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	return sound(ctx, call)
}

// TestWhateverKeyIsOfAWrongTypeIsNamed: whichever key of a call has a wrong type, its error names that key, and no
// other.
func TestWhateverKeyIsOfAWrongTypeIsNamed(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	all := everything(t, open(t, s.URL(), keywright.Options{Sealer: servertest.Ring(t, "a")}))
	of := map[string][]string{}
	for name, keys := range keysOfCalls(t, s, all) {
		for _, key := range keys {
			of[key] = append(of[key], name)
		}
	}
	refused := 0
	for _, key := range slices.Sorted(maps.Keys(of)) {
		wrong := []string{"SET", key, "in the way"}
		if s.Do("TYPE", key) == "string" {
			wrong = []string{"RPUSH", key, "in the way"}
		}
		for _, name := range of[key] {
			s.Do("DEL", key)
			s.Do(wrong...)
			err := briefly(t, all[name])
			if err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
				continue
			}
			text := err.Error()
			if refused++; !strings.Contains(text, key) ||
				strings.Contains(text, "(key ") && !strings.Contains(text, "(key "+key+")") {
				t.Errorf("%s with %v: %v", name, wrong, err)
			}
		}
		s.Do("DEL", key)
	}
	if t.Logf("%d keys, %d refused calls", len(of), refused); refused < 150 {
		t.Errorf("only %d calls were refused", refused)
	}
}
