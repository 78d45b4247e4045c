package dump_test

import (
	"testing"

	"github.com/keywright/keywright/source/rdb/dump"
)

// TestOlder: what is written for servers has at most the version that it is from, and one that they load.
func TestOlder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ own, to, want int }{
		{11, 0, 11}, {12, 0, 12}, {80, 0, 80}, // for any: as it is
		{12, 13, 12}, {12, 12, 12}, {12, 11, 11}, {10, 15, 10}, // within Redis
		{80, 80, 80}, {81, 80, 81}, {11, 80, 11}, {12, 80, 11}, {10, 80, 10}, // for Valkey, which loads no 12 to 79
		{80, 11, 11}, {80, 13, 13},
		{0, 0, 10}, {0, 9, 9}, {0, 80, 80}, // values in parts have no version
	} {
		if got := dump.Older(c.own, c.to); got != c.want {
			t.Errorf("of %d for %d: %d, not %d", c.own, c.to, got, c.want)
		}
	}
}
