package dumpfile_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"runtime"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/dumpfile"
	"github.com/klauspost/compress/zstd"
)

// ceiling is the memory that no snapshot may take more of.
const ceiling = 256 << 20

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// weighing throws away what it is given, and measures what is in use meanwhile.
type weighing struct {
	n    int64
	peak uint64
}

func (w *weighing) Write(p []byte) (int, error) {
	if before := w.n; before>>26 != (before+int64(len(p)))>>26 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		w.peak = max(w.peak, m.HeapAlloc)
	}
	w.n += int64(len(p))
	return len(p), nil
}

// A file that expands a thousandfold is passed through in bounded memory, whatever
// window its compressor asks for.
func TestAFileThatExpandsIsBounded(t *testing.T) {
	const size = 512 << 20
	packed := map[string][]byte{}
	for name, pack := range map[string]func(io.Writer) (io.WriteCloser, error){
		"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, gzip.BestSpeed) },
		"zstd": func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(128<<20),
				zstd.WithEncoderConcurrency(1))
		},
		"zstd, a larger window": func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(256<<20),
				zstd.WithEncoderConcurrency(1))
		},
	} {
		var out bytes.Buffer
		z, err := pack(&out)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(z, zeros{}, size); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		packed[name] = out.Bytes()
	}
	runtime.GC()
	for name, p := range packed {
		f, err := dumpfile.Open(dumpfile.Stdin, bytes.NewReader(p))
		if err != nil {
			t.Fatal(name, err)
		}
		var w weighing
		n, err := io.Copy(&w, f)
		f.Close()
		if refused := name == "zstd, a larger window"; refused != (err != nil) || !refused && n != size {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
		if w.peak > ceiling {
			t.Errorf("%s: %d MiB", name, w.peak>>20)
		}
		t.Logf("%s: %d bytes, %d MiB", name, len(p), w.peak>>20)
	}
}
