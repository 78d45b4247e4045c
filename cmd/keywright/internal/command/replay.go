package command

import (
	"context"
	"fmt"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/dumpfile"
	"github.com/keywright/keywright/cmd/keywright/internal/replay"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
)

// replayed represents an append-only folder that a throw-away server has loaded.
type replayed struct {
	*replay.Server
	name, note string
}

// startReplay loads the folder that the flags name, which become those of the server that has loaded it.
func startReplay(a *cli.App, o *sourcing) (*replayed, error) {
	folder, err := dumpfile.FolderOf(o.name)
	if err != nil {
		return nil, err
	}
	s, err := replay.Start(context.Background(), folder.Manifest)
	if err != nil {
		return nil, &cli.Exit{Code: cli.ExitPartial, Message: err.Error(), Hint: "install the server that wrote the folder, or one that is newer"}
	}
	r := &replayed{s, o.name, fmt.Sprintf("%s has loaded a copy of the folder, commands: %d, files: %d; what has expired "+
		"since they were written is gone", s.Program, folder.Commands, folder.Files)}
	if s.Cut {
		r.note += "; the last file ends in the middle of a command, which is left out"
	}
	o.name, o.replay, o.loaded = s.URL(), false, true
	return r, nil
}

// Tell says in a summary what was read.
func (r *replayed) Tell(sum *source.Summary) {
	sum.Endpoint = r.name
	sum.Notes = append(sum.Notes, r.note)
}

// replayedSource is source of an append-only folder whose commands are wanted, too.
func replayedSource(a *cli.App, o *sourcing) (source.Source, source.Request, func(), error) {
	r, err := startReplay(a, o)
	if err != nil {
		return nil, source.Request{}, nil, err
	}
	src, req, done, err := openSource(a, o)
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
func replayedContents(a *cli.App, o *sourcing) (contentReader, func(), error) {
	r, err := startReplay(a, o)
	if err != nil {
		return nil, nil, err
	}
	read, done, err := contents(a, o)
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	told := func(ctx context.Context, req server.ContentsRequest, each func([]source.Content) error) (source.Summary, error) {
		sum, err := read(ctx, req, each)
		r.Tell(&sum)
		return sum, err
	}
	return told, func() { done(); r.Close() }, nil
}
