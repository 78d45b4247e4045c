package server

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/internal/fleet"
)

// all are the commands that something cannot do without.
func all() []string { return append(ToRestoreKeys(), fleet.ToReadValues...) }

// TestMissingCommandsAreNamed: each command that a configuration has disabled, or that the user may not run, is named
// before anything is done, and nothing else is. A user of few keys lacks none.
func TestMissingCommandsAreNamed(t *testing.T) {
	t.Parallel()
	brand := gate.Pick(t, kt.Brands())[0]
	missing := func(config connect.Config, want, hint string) {
		t.Helper()
		err := Has(t.Context(), config, all())
		var refused *connect.Error
		if !errors.As(err, &refused) || refused.Kind != connect.Denied || refused.Err.Error() != want ||
			!strings.Contains(refused.Hint, hint) {
			t.Errorf("%v, not %s", err, want)
		}
	}
	for _, n := range fleet.Needs {
		if !slices.Contains(all(), n.Name) {
			t.Errorf("nothing needs %s", n.Name)
		}
		hint := map[bool]string{true: "--snapshot", false: "rename-command"}[n.Out != ""]
		s := kt.Start(t, brand, kt.Config("rename-command", n.Name, ""))
		missing(servertest.Config(t, s.URL()), "the server has no "+n.Name+": its configuration has renamed or disabled it", hint)
		s.Kill()
	}
	s := kt.Start(t, brand)
	s.Do("ACL", "SETUSER", "u", "on", ">pw", "~*", "+@all", "-restore", "-unlink")
	s.Do("ACL", "SETUSER", "few", "on", ">pw", "~app:*", "+@all")
	missing(servertest.Config(t, "redis://u:pw@"+s.Addr()), "the user may not run RESTORE, UNLINK", "acl print --self")
	for _, user := range []string{"few:pw@", ""} {
		if err := Has(t.Context(), servertest.Config(t, "redis://"+user+s.Addr()), all()); err != nil {
			t.Errorf("%s: %v", user, err)
		}
	}
	if n := s.Do("DBSIZE"); n != int64(0) {
		t.Errorf("%v keys were made", n)
	}
	c := kt.StartCluster(t, brand, 2, 0)
	if err := Has(t.Context(), servertest.Config(t, "redis+cluster://"+c.Nodes[0].Addr()), all()); err != nil {
		t.Errorf("a cluster: %v", err)
	}
}

// TestValuesWithoutDump: values are not read at all where DUMP is missing, and the names of keys are.
func TestValuesWithoutDump(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis, kt.Config("rename-command", "DUMP", ""))
	s.Do("SET", "a", "x")
	config := servertest.Config(t, s.URL())
	r, err := NewReader(t.Context(), config, Options{OnlyDB: -1}, ContentsRequest{})
	expect.NoError(t, err)
	defer r.Close()
	refused := func(err error) {
		t.Helper()
		if !connect.IsKind(err, connect.Denied) || !strings.Contains(err.Error(), "has no DUMP") {
			t.Errorf("%v", err)
		}
	}
	nothing := func([]source.Content) error { t.Error("a value"); return nil }
	_, err = r.All(t.Context(), nothing)
	refused(err)
	refused(r.Ask(t.Context(), 0, [][]byte{[]byte("a")}, nothing))
	names := 0
	_, err = r.Names(t.Context(), func(_ int, list [][]byte) error { names += len(list); return nil })
	if expect.NoError(t, err); names != 1 {
		t.Errorf("%d names", names)
	}
}

// TestValuesWithoutSizes: where the server tells no sizes all values are read, large ones in parts, and that is said
// once.
func TestValuesWithoutSizes(t *testing.T) {
	t.Parallel()
	sized, s := kt.Start(t, kt.Redis), kt.Start(t, kt.Redis, kt.Config("rename-command", "MEMORY", ""))
	for _, to := range []*kt.Server{sized, s} {
		to.Do("CONFIG", "SET", "rdbcompression", "no")
		for i := range 300 {
			to.Do("SET", "text:"+strconv.Itoa(i), strings.Repeat("x", i))
		}
		to.Do("EVAL", `for i = 1, 20000 do redis.call('HSET', 'large', 'field' .. i, string.rep('v', 40)) end
			redis.call('SET', 'long', string.rep('x', 3000000))`, "0")
	}
	of := func(s *kt.Server) (parts map[string]int, notes []string) {
		parts = map[string]int{}
		got, sum := contentsOf(t, servertest.Config(t, s.URL()), ContentsRequest{})
		for _, k := range got {
			parts[string(k.Name)]++
			if int64(len(k.Payload)) > 512<<10 {
				t.Errorf("%s came whole: %d bytes", k.Name, len(k.Payload))
			}
		}
		if len(sum.Incomplete) > 0 || sum.Keys != 302 {
			t.Errorf("%+v", sum)
		}
		return parts, sum.Notes
	}
	want, _ := of(sized)
	got, notes := of(s)
	if len(got) != len(want) || got["large"] < 2 || got["long"] < 2 {
		t.Errorf("%d keys, %d; parts: %d, %d", len(got), len(want), got["large"], got["long"])
	}
	if n := len(slices.DeleteFunc(notes, func(n string) bool { return !strings.Contains(n, "MEMORY USAGE") })); n != 1 {
		t.Errorf("said %d times: %q", n, notes)
	}
	r, err := NewReader(t.Context(), servertest.Config(t, s.URL()), Options{OnlyDB: -1}, ContentsRequest{})
	expect.NoError(t, err)
	defer r.Close()
	asked := map[string]bool{}
	expect.NoError(t, r.Ask(t.Context(), 0, [][]byte{[]byte("large"), []byte("text:3"), []byte("none")},
		func(batch []source.Content) error {
			for _, k := range batch {
				asked[string(k.Name)] = true
			}
			return nil
		}))
	if len(asked) != 2 {
		t.Errorf("%v", asked)
	}
}
