package compare_test

import (
	"bytes"
	"errors"
	"testing"

	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/compare"
)

// keptBytes returns the file of an archive of a server.
func keptBytes(t testing.TB, url string, largest int64) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := archive.NewWriter(&out, archive.Meta{ID: "00"}, archive.Deflate)
	must(t, err)
	_, err = reader(t, url, largest).All(t.Context(), func(batch []source.Content) error {
		for i := range batch {
			r := archive.Of(&batch[i], archive.Undeclared)
			if err := w.Add(&r); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, err)
	_, err = w.Close()
	must(t, err)
	return out.Bytes()
}

// What is good of an archive that was cut is compared, and the cut is an error.
func TestCutArchive(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	for _, key := range []string{"a", "b", "c"} {
		s.Do("SET", key, "x")
	}
	file := keptBytes(t, s.URL(), 0)
	cut := func() compare.Side {
		a, cut := archive.Recover(bytes.NewReader(file[:len(file)-20]), int64(len(file)-20))
		chain, err := archive.NewChain(a)
		must(t, err)
		side := compare.NewArchive(chain, -1)
		side.Cut = cut
		return side
	}
	for name, b := range map[string]compare.Side{"server": reader(t, s.URL(), 0),
		"archive": compare.NewArchive(kept(t, s.URL(), 0), -1)} {
		r, err := compare.Run(t.Context(), cut(), b, compare.Options{})
		adds(t, r)
		if !errors.As(err, new(*archive.CutError)) || r.Same != 3 || r.Keys != 3 {
			t.Errorf("%s: %v, %+v", name, err, r)
		}
	}
}
