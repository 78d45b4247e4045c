package command

import (
	"bufio"
	"context"
	"os"
	"runtime/debug"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/compare"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/server"
)

// place is where keys are: a server, an archive or a snapshot.
type place struct {
	Side   compare.Side
	name   string // without a password
	kind   string // "server", "archive" or "snapshot"
	reader *server.Reader
	url    string
	close  func()
}

// placing are the flags that say how places are read.
type placing struct {
	scan server.Options
	role string
}

// isURL tells a server from a file.
func isURL(name string) bool { return strings.Contains(name, "://") }

// serverAt is the Config of a server that is named in the arguments; "": of the flags.
func (a *app) serverAt(url string) (connect.Config, error) {
	inner := *a
	if url != "" {
		inner.url = url
	}
	return inner.server()
}

// openPlace opens what a name means; "" is the server of the flags.
func (a *app) openPlace(ctx context.Context, name string, o placing, req server.ContentsRequest) (*place, error) {
	if name != "" && !isURL(name) {
		return a.openFile(ctx, name, o, req)
	}
	config, err := a.serverAt(name)
	if err != nil {
		return nil, err
	}
	r, err := server.NewReader(ctx, config, o.scan, req)
	if err != nil {
		return nil, err
	}
	return &place{Side: r, name: config.String(), kind: "server", reader: r, url: name, close: r.Close}, nil
}

// openFile opens an archive.
func (a *app) openFile(ctx context.Context, name string, o placing, req server.ContentsRequest) (*place, error) {
	in := a.In
	closing := func() {}
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usage("name an archive, a snapshot or the URL of a server", "%v", err)
		}
		in, closing = f, func() { _ = f.Close() }
	}
	buffered := bufio.NewReaderSize(&cancelled{ctx, in}, 256<<10)
	first, _ := buffered.Peek(len(archive.Magic))
	if !archive.Is(first) {
		closing()
		return nil, usage("an archive is what `keywright backup` writes", "%s is no archive", name)
	}
	r, err := archive.NewReader(buffered, archivefile.Codecs()...)
	if err != nil {
		closing()
		return nil, usage("an archive is what `keywright backup` writes", "%s: %v", name, err)
	}
	return &place{Side: compare.NewArchive(r, o.scan.OnlyDB), name: name, kind: "archive", close: closing}, nil
}

// spill is a file without a name, for what has no room in memory.
func spill() (compare.Spill, error) {
	f, err := os.CreateTemp("", "keywright-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// lean keeps the memory of verbs that hold two places against each other small: garbage
// is collected before the heap grows. It returns what ends that.
func lean() func() {
	const heap = 40 << 20
	before := debug.SetMemoryLimit(heap)
	return func() { debug.SetMemoryLimit(before) }
}
