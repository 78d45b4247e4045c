package export_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/archive/export"
)

// TestVersionIsThatOfTheValues: an RDB file has the version that the values of the archive have, whatever the servers
// call themselves: a build between two releases has a name that is above all versions.
func TestVersionIsThatOfTheValues(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	fill(t, s)
	dump := s.Do("DUMP", "set").(string)
	want := int(dump[len(dump)-10])
	for _, c := range []struct {
		largest int64
		newest  int // that is asked for
		want    int
	}{{1 << 40, 0, want}, {1 << 40, want + 1, want}, {1 << 40, 9, 9}, {1, 0, 10}} {
		a := archived(t, s, c.largest)
		for _, in := range a.Archives() {
			in.Meta.Shards[0].Version = "255.255.255"
		}
		var out bytes.Buffer
		r, err := export.RDB(t.Context(), &out, a, export.Options{RDB: c.newest})
		must(t, err)
		if got := strings.TrimLeft(out.String()[5:9], "0"); got != strconv.Itoa(c.want) {
			t.Errorf("%+v: the file has version %s", c, got)
		}
		if c.want >= want && r.Refused > 0 {
			t.Errorf("%+v: %+v", c, r)
		}
	}
}
