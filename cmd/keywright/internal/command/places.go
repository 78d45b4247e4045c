package command

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/dumpfile"
	"github.com/keywright/keywright/compare"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/server"
)

// place describes where keys are: a server, an archive or a snapshot.
type place struct {
	Side   compare.Side
	name   string // without a password
	kind   string // "server", "archive" or "snapshot"
	reader *server.Reader
	url    string
	close  func()

	torn      *archive.Chain                                   // archives, which may have torn values; nil: it is none
	libraries func(context.Context) (*source.Libraries, error) // of functions; of a snapshot once it was read
}

// placing holds the flags that say how places are read.
type placing struct {
	scan     server.Options
	role     string
	snapshot bool // a server sends a snapshot
	forks    int
	noCRC    bool
	replay   bool // append-only folders are loaded by a throw-away server, which is read
	chaining
	others []string // archives that were named, too
}

// isURL tells a server from a file.
func isURL(name string) bool { return strings.Contains(name, "://") }

// serverAt returns the Config of a server that is named in the arguments; "": of the flags.
func serverAt(a *cli.App, url string) (connect.Config, error) {
	inner := *a
	if url != "" {
		inner.URL = url
	}
	return inner.Server()
}

// openPlace opens what a name means; "" is the server of the flags.
func openPlace(ctx context.Context, a *cli.App, name string, o placing, req server.ContentsRequest) (*place, error) {
	if name != "" && !isURL(name) {
		return openFile(ctx, a, name, o, req)
	}
	config, err := serverAt(a, name)
	if err != nil {
		return nil, err
	}
	if o.snapshot {
		return snapshotPlace(&place{name: config.String(), kind: "snapshot", url: name, close: func() {}},
			snapshotOf(config, &o), req), nil
	}
	r, err := server.NewReader(ctx, config, o.scan, req)
	if err != nil {
		return nil, err
	}
	return &place{Side: r, name: config.String(), kind: "server", reader: r, url: name, close: r.Close,
		libraries: librariesAt(r)}, nil
}

// snapshotPlace makes what is read once the side of a place.
func snapshotPlace(p *place, read contentReader, req server.ContentsRequest) *place {
	req, all := collecting(req)
	p.Side = sideOnce(read, req)
	p.libraries = func(context.Context) (*source.Libraries, error) { return all, nil }
	return p
}

// snapshotOf reads what a server sends its replicas.
func snapshotOf(config connect.Config, o *placing) contentReader {
	return server.NewSnapshot(config,
		server.SnapshotOptions{Role: o.scan.Role, MaxForks: o.forks, OnlyDB: o.scan.OnlyDB}).Contents
}

// sideOnce returns a Side that is read once.
func sideOnce(read contentReader, req server.ContentsRequest) *compare.Once {
	moment := int64(0)
	req.Begin = func(_ []source.Shard, taken time.Time) error {
		moment = taken.UnixMilli()
		return nil
	}
	return &compare.Once{
		Read: func(ctx context.Context, each func([]source.Content) error) (source.Summary, error) {
			return read(ctx, req, each)
		},
		Taken: func() int64 { return moment },
	}
}

// openFile opens an archive or a snapshot file.
func openFile(ctx context.Context, a *cli.App, name string, o placing, req server.ContentsRequest) (*place, error) {
	if name == dumpfile.Stdin {
		in := bufio.NewReaderSize(a.In, 64<<10)
		first, _ := in.Peek(archivefile.Head)
		if archivefile.Begins(first) {
			return archivePlace("standard input", o.scan.OnlyDB)(spooledChain(ctx, a, in, &o.chaining, o.others...))
		}
		return openDump(a, name, in, o, req)
	}
	if _, err := os.Stat(name); err != nil {
		if why := begun(name); why != nil {
			return nil, why
		}
		return nil, cli.Usage("name an archive, a snapshot file or the URL of a server", "%v", err)
	}
	if archivefile.Is(name) {
		return archivePlace(name, o.scan.OnlyDB)(openChained(ctx, a, name, &o.chaining, o.others...))
	}
	return openDump(a, name, a.In, o, req)
}

// archivePlace returns an archive that was opened as a place.
func archivePlace(name string, db int) func(*chained, error) (*place, error) {
	return func(in *chained, err error) (*place, error) {
		if err != nil {
			return nil, err
		}
		side := compare.NewArchive(in.Chain, db)
		side.Cut = in.Cut
		return &place{Side: side, name: name, kind: "archive", close: in.Close, libraries: librariesIn(in.Chain),
			torn: in.Chain}, nil
	}
}

// openDump opens a snapshot file.
func openDump(a *cli.App, name string, in io.Reader, o placing, req server.ContentsRequest) (*place, error) {
	if o.replay && name != dumpfile.Stdin {
		inner := *a // the URL of the server that loads it is none of the flags
		read, done, err := replayedContents(&inner, &sourcing{name: name, scan: o.scan})
		if err != nil {
			return nil, err
		}
		return snapshotPlace(&place{name: name, kind: "snapshot", close: done}, read, req), nil
	}
	f, err := dumpfile.Open(name, in)
	if err != nil {
		return nil, err
	}
	return snapshotPlace(&place{name: f.Name, kind: "snapshot", close: f.Close},
		contentsOfDump(a, f, o.noCRC, o.scan.OnlyDB), req), nil
}

// spill returns a file without a name, for what has no room in memory.
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
