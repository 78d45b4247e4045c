package sources

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/dumpfile"
	"github.com/keywright/keywright/cmd/keywright/internal/replay"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
	"github.com/keywright/keywright/source/server"
)

// replayed represents an append-only folder that a throw-away server has loaded.
type replayed struct {
	*replay.Server
	name, note string
}

// startReplay loads the folder that the flags name, which become those of the server that has loaded it.
func startReplay(a *cli.App, o *Sourcing) (*replayed, error) {
	folder, err := dumpfile.FolderOf(o.Name)
	if err != nil {
		return nil, err
	}
	s, err := replay.Start(context.Background(), folder.Manifest)
	if err != nil {
		return nil, &cli.Exit{Code: cli.ExitPartial, Message: err.Error(),
			Hint: "install the server that wrote the folder, or one that is newer"}
	}
	r := &replayed{s, o.Name, fmt.Sprintf("%s has loaded a copy of the folder, commands: %d, files: %d; what has expired "+
		"since they were written is gone", s.Program, folder.Commands, folder.Files)}
	if s.Cut {
		r.note += "; the last file ends in the middle of a command, which is left out"
	}
	o.Name, o.replay, o.loaded = s.URL(), false, true
	return r, nil
}

// Tell says in a summary what was read.
func (r *replayed) Tell(sum *source.Summary) {
	sum.Endpoint = r.name
	sum.Notes = append(sum.Notes, r.note)
}

// replayedSource is source of an append-only folder whose commands are wanted, too.
func replayedSource(a *cli.App, o *Sourcing) (source.Source, source.Request, func(), error) {
	r, err := startReplay(a, o)
	if err != nil {
		return nil, source.Request{}, nil, err
	}
	src, req, done, err := OpenSource(a, o)
	if err != nil {
		r.Close()
		return nil, req, nil, err
	}
	return scanOf{src, r}, req, func() { done(); r.Close() }, nil
}

// scanOf is the source of a folder that was replayed.
type scanOf struct {
	source.Source
	r *replayed
}

// Scan implements source.Source.
func (s scanOf) Scan(ctx context.Context, req source.Request, each func([]source.Key) error) (source.Summary, error) {
	sum, err := s.Source.Scan(ctx, req, each)
	s.r.Tell(&sum)
	return sum, err
}

// replayedContents is contents of an append-only folder whose commands are wanted, too.
func replayedContents(a *cli.App, o *Sourcing) (ContentReader, func(), error) {
	r, err := startReplay(a, o)
	if err != nil {
		return nil, nil, err
	}
	read, done, err := Contents(a, o)
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	told := func(ctx context.Context, req server.ContentsRequest, each func([]source.Content) error) (source.Summary,
		error) {
		sum, err := read(ctx, req, each)
		r.Tell(&sum)
		return sum, err
	}
	return told, func() { done(); r.Close() }, nil
}

// ContentReader reads whole values, wherever they are.
type ContentReader func(context.Context, server.ContentsRequest, func([]source.Content) error) (source.Summary, error)

// Contents opens what the flags name. done closes it.
func Contents(a *cli.App, o *Sourcing) (read ContentReader, done func(), err error) {
	if o.replay {
		return replayedContents(a, o)
	}
	if o.IsFile() {
		return contentsOfFile(a, o)
	}
	if o.IsURL() {
		a.URL = o.Name
	}
	config, err := a.Server()
	if err != nil {
		return nil, nil, err
	}
	read = server.New(config, o.Scan).Contents
	if o.Snapshot {
		read = server.NewSnapshot(config,
			server.SnapshotOptions{Role: o.Scan.Role, MaxForks: o.Forks, OnlyDB: o.Scan.OnlyDB}).Contents
	}
	return read, func() {}, nil
}

// contentsOfFile opens a snapshot file.
func contentsOfFile(a *cli.App, o *Sourcing) (ContentReader, func(), error) {
	if archivefile.Is(o.Name) {
		return nil, nil, cli.Usage("copy it; or name a server or a snapshot file", "%s is an archive already", o.Name)
	}
	f, err := dumpfile.Open(o.Name, a.In)
	if err != nil {
		return nil, nil, err
	}
	return contentsOfDump(a, f, o.noCRC, o.Scan.OnlyDB), f.Close, nil
}

// contentsOfDump reads an open snapshot file.
func contentsOfDump(a *cli.App, f *dumpfile.File, noCRC bool, onlyDB int) ContentReader {
	options := dumpOptions(a, f, noCRC, onlyDB)
	return func(ctx context.Context, req server.ContentsRequest, each func([]source.Content) error) (source.Summary,
		error) {
		one := rdb.ContentsRequest{Wants: req.Wants, Largest: req.Largest, Progress: req.Progress,
			Begin: func(shard source.Shard, taken time.Time) error { return req.Begin([]source.Shard{shard}, taken) },
		}
		if req.Library != nil {
			one.Library = func(code []byte) error { return req.Library(options.Name, code) }
		}
		sum, err := rdb.New(f, options).Contents(ctx, one, each)
		if failed := (*rdb.Error)(nil); errors.As(err, &failed) && !errors.Is(err, rdb.ErrNotRDB) && ctx.Err() == nil {
			err = nil // the summary has it: what came before it is good
		}
		return sum, err
	}
}

// NotWritten returns an archive that could not be written to its end.
func NotWritten(path string, err error) error {
	return &cli.Exit{Code: cli.ExitPartial, Message: fmt.Sprintf("%s could not be written to its end: %s",
		filepath.Base(path), cli.OneLine(err)),
		Hint: "is the disk full? What is in " + path + archivefile.Part + " is good as far as it goes"}
}
