package command

import (
	"context"
	"fmt"
	"slices"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/server"
)

// libraryHelp explains what becomes of libraries of functions.
const libraryHelp = `Libraries of functions (Redis 7) belong to no key: they are meant where all keys are.`

// whole reports whether libraries of functions are meant: they belong to no key, and to no database.
func whole(a *cli.App, ks *keyspace.Keyspace, s *cli.Selecting, db int) bool {
	return len(a.AskedFor(ks, s)) == 0 && db < 0
}

// libraryPart describes a library of functions in an archive; its JSON names are stable.
type libraryPart struct {
	Library string `json:"library"`
	Engine  string `json:"engine"`
	Bytes   int64  `json:"bytes"`
	Digest  string `json:"digest"`
}

// librariesOf returns the libraries of an archive.
func librariesOf(index *archive.Index) (out []libraryPart) {
	for _, l := range index.Libraries {
		digest, _ := l.Digest.MarshalText()
		out = append(out, libraryPart{l.Name, l.Engine, l.Bytes, string(digest)})
	}
	return out
}

// tellLibraries says which libraries an archive has.
func tellLibraries(a *cli.App, all []libraryPart) {
	if len(all) == 0 {
		return
	}
	var names []string
	for _, l := range all {
		names = append(names, l.Library)
	}
	a.Print("%s", librariesNamed(names))
}

// librariesNamed counts and names libraries of functions.
func librariesNamed(names []string) string {
	names = slices.Sorted(slices.Values(names))
	return fmt.Sprintf("libraries of functions: %s (%s)", terminal.Count(int64(len(names))),
		finding.Printable(source.Named(names)))
}

func namesOf(all []source.LibraryFact) (out []string) {
	for _, l := range all {
		out = append(out, l.Name)
	}
	return out
}

// collecting makes a request give libraries of functions to a list.
func collecting(req server.ContentsRequest) (server.ContentsRequest, *source.Libraries) {
	all := &source.Libraries{}
	req.Library = func(at string, code []byte) error {
		all.Add(at, code)
		return nil
	}
	return req, all
}

// librariesAt returns the libraries of functions of a server.
func librariesAt(r *server.Reader) func(context.Context) (*source.Libraries, error) {
	return func(ctx context.Context) (*source.Libraries, error) {
		all := &source.Libraries{}
		why, err := r.Libraries(ctx, func(at string, code []byte) error {
			all.Add(at, code)
			return nil
		})
		all.Reasons = all.Reasons.Add(why...)
		return all, err
	}
}

// librariesIn returns the libraries of functions of archives.
func librariesIn(c *archive.Chain) func(context.Context) (*source.Libraries, error) {
	return func(context.Context) (*source.Libraries, error) {
		all := &source.Libraries{}
		return all, c.Libraries(func(lib source.Library) error {
			all.Add("", lib.Code)
			return nil
		})
	}
}
