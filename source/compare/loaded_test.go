package compare_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/gate"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive/export"
	"github.com/keywright/keywright/source/compare"
	"github.com/keywright/keywright/source/rdb"
)

// file returns a snapshot file as a side.
func file(text []byte, largest int64) compare.Side {
	now := int64(0)
	return &compare.Once{Taken: func() int64 { return now },
		Read: func(ctx context.Context, each func([]source.Content) error) (source.Summary, error) {
			return rdb.New(bytes.NewReader(text), rdb.Options{OnlyDB: -1}).Contents(ctx, rdb.ContentsRequest{Largest: largest,
				Begin: func(_ source.Shard, taken time.Time) error {
					now = taken.UnixMilli()
					return nil
				}}, each)
		}}
}

// loads starts a server with a snapshot file.
func loads(t testing.TB, brand kt.Brand, text []byte) *kt.Server {
	t.Helper()
	s := kt.Start(t, brand)
	s.Kill()
	must(t, os.WriteFile(filepath.Join(s.Dir, "dump.rdb"), text, 0o600))
	s.Restart()
	return s
}

// older returns what a server has as a file of a server that did not count what groups have read.
func older(t testing.TB, s *kt.Server) []byte {
	t.Helper()
	var out bytes.Buffer
	_, err := export.RDB(t.Context(), &out, kept(t, s.URL(), 1<<40), export.Options{RDB: 9})
	must(t, err)
	return out.Bytes()
}

// A file is the same as the server that has loaded it, also where the server computes what the file does not have, or
// keeps a number in another way.
func TestFileAndWhoLoadedIt(t *testing.T) {
	t.Parallel()
	groups := kt.Start(t, kt.Redis)
	for _, id := range []string{"2-0", "3-0", "4-0", "5-5"} {
		groups.Do("XADD", "stream", id, "a", "b")
		groups.Do("XADD", "rest", id, "a", "b")
		groups.Do("XADD", "none", id, "a", "b")
	}
	groups.Do("XDEL", "rest", "2-0", "4-0")
	groups.Do("XTRIM", "none", "MAXLEN", "0")
	for _, key := range []string{"stream", "rest", "none"} {
		for _, at := range []string{"0", "1-0", "2-0", "2-1", "3-0", "4-0", "5-5", "9-0"} {
			groups.Do("XGROUP", "CREATE", key, "from "+at, at)
		}
	}
	files := map[string][]byte{"groups": older(t, groups)}
	for _, name := range []string{"redis6-stream", "negzero"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".rdb"))
		must(t, err)
		files[name] = text
	}
	for name, text := range files {
		for _, brand := range gate.Pick(t, kt.Brands()) {
			t.Run(name+"/"+string(brand), func(t *testing.T) {
				t.Parallel()
				s := loads(t, brand, text)
				for _, largest := range []int64{1 << 40, 1} {
					for _, most := range []int64{1 << 40, 1} {
						r, err := compare.Run(t.Context(), file(text, largest), reader(t, s.URL(), most), compare.Options{})
						must(t, err)
						if r.Same != r.Keys || r.Keys == 0 {
							t.Errorf("%d and %d bytes: %+v", largest, most, r.Named)
						}
					}
				}
			})
		}
	}
}
