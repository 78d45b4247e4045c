package sources

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
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/compare"
	"github.com/keywright/keywright/source/server"
)

// Place describes where keys are: a server, an archive or a snapshot.
type Place struct {
	Side   compare.Side
	Name   string // without a password
	Kind   string // "server", "archive" or "snapshot"
	Reader *server.Reader
	URL    string
	Close  func()

	Torn      *archive.Chain                                   // archives, which may have torn values; nil: no archives
	Libraries func(context.Context) (*source.Libraries, error) // of functions; of a snapshot once it was read
}

// Placing holds the flags that say how places are read.
type Placing struct {
	Scan     server.Options
	Role     string
	Snapshot bool // a server sends a snapshot
	Forks    int
	NoCRC    bool
	Replay   bool // append-only folders are loaded by a throw-away server, which is read
	Chaining
	Others []string // archives that were named, too
}

// IsURL tells a server from a file.
func IsURL(name string) bool { return strings.Contains(name, "://") }

// serverAt returns the Config of a server that is named in the arguments; "": of the flags.
func serverAt(a *cli.App, url string) (connect.Config, error) {
	inner := *a
	if url != "" {
		inner.URL = url
	}
	return inner.Server()
}

// OpenPlace opens what a name means; "" is the server of the flags.
func OpenPlace(ctx context.Context, a *cli.App, name string, o Placing, req server.ContentsRequest) (*Place, error) {
	if name != "" && !IsURL(name) {
		return openFile(ctx, a, name, o, req)
	}
	config, err := serverAt(a, name)
	if err != nil {
		return nil, err
	}
	if o.Snapshot {
		return snapshotPlace(&Place{Name: config.String(), Kind: "snapshot", URL: name, Close: func() {}},
			SnapshotOf(config, &o), req), nil
	}
	r, err := server.NewReader(ctx, config, o.Scan, req)
	if err != nil {
		return nil, err
	}
	return &Place{Side: r, Name: config.String(), Kind: "server", Reader: r, URL: name, Close: r.Close,
		Libraries: librariesAt(r)}, nil
}

// snapshotPlace makes what is read once the side of a place.
func snapshotPlace(p *Place, read ContentReader, req server.ContentsRequest) *Place {
	req, all := collecting(req)
	p.Side = SideOnce(read, req)
	p.Libraries = func(context.Context) (*source.Libraries, error) { return all, nil }
	return p
}

// SnapshotOf reads what a server sends its replicas.
func SnapshotOf(config connect.Config, o *Placing) ContentReader {
	return server.NewSnapshot(config,
		server.SnapshotOptions{Role: o.Scan.Role, MaxForks: o.Forks, OnlyDB: o.Scan.OnlyDB}).Contents
}

// SideOnce returns a Side that is read once.
func SideOnce(read ContentReader, req server.ContentsRequest) *compare.Once {
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
func openFile(ctx context.Context, a *cli.App, name string, o Placing, req server.ContentsRequest) (*Place, error) {
	if name == dumpfile.Stdin {
		in := bufio.NewReaderSize(a.In, 64<<10)
		first, _ := in.Peek(archivefile.Head)
		if archivefile.Begins(first) {
			return archivePlace("standard input", o.Scan.OnlyDB)(spooledChain(ctx, a, in, &o.Chaining, o.Others...))
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
		return archivePlace(name, o.Scan.OnlyDB)(OpenChained(ctx, a, name, &o.Chaining, o.Others...))
	}
	return openDump(a, name, a.In, o, req)
}

// archivePlace returns an archive that was opened as a place.
func archivePlace(name string, db int) func(*Chained, error) (*Place, error) {
	return func(in *Chained, err error) (*Place, error) {
		if err != nil {
			return nil, err
		}
		side := compare.NewArchive(in.Chain, db)
		side.Cut, side.Name = in.Cut, finding.Printable(name)
		return &Place{Side: side, Name: name, Kind: "archive", Close: in.Close, Libraries: librariesIn(in.Chain),
			Torn: in.Chain}, nil
	}
}

// openDump opens a snapshot file.
func openDump(a *cli.App, name string, in io.Reader, o Placing, req server.ContentsRequest) (*Place, error) {
	if o.Replay && name != dumpfile.Stdin {
		inner := *a // no flag has the URL of the server that loads it
		read, done, err := replayedContents(&inner, &Sourcing{Name: name, Scan: o.Scan})
		if err != nil {
			return nil, err
		}
		return snapshotPlace(&Place{Name: name, Kind: "snapshot", Close: done}, read, req), nil
	}
	f, err := dumpfile.Open(name, in)
	if err != nil {
		return nil, err
	}
	return snapshotPlace(&Place{Name: f.Name, Kind: "snapshot", Close: f.Close},
		contentsOfDump(a, f, o.NoCRC, o.Scan.OnlyDB), req), nil
}

// Spill returns a file without a name, for what has no room in memory.
func Spill() (compare.Spill, error) {
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
