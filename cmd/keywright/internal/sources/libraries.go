package sources

import (
	"context"
	"fmt"
	"slices"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/server"
)

// LibraryHelp explains what becomes of libraries of functions.
const LibraryHelp = `Libraries of functions (Redis 7) belong to no key: they are meant where all keys are.`

// Whole reports whether libraries of functions are meant: they belong to no key, and to no database.
func Whole(a *cli.App, ks *keyspace.Keyspace, s *cli.Selecting, db int) bool {
	return len(a.AskedFor(ks, s)) == 0 && db < 0
}

// LibraryPart describes a library of functions in an archive; its JSON names are stable.
type LibraryPart struct {
	Library string `json:"library"`
	Engine  string `json:"engine"`
	Bytes   int64  `json:"bytes"`
	Digest  string `json:"digest"`
}

// LibrariesOf returns the libraries of an archive.
func LibrariesOf(index *archive.Index) (out []LibraryPart) {
	for _, l := range index.Libraries {
		digest, _ := l.Digest.MarshalText()
		out = append(out, LibraryPart{l.Name, l.Engine, l.Bytes, string(digest)})
	}
	return out
}

// TellLibraries says which libraries an archive has.
func TellLibraries(a *cli.App, all []LibraryPart) {
	if len(all) == 0 {
		return
	}
	var names []string
	for _, l := range all {
		names = append(names, l.Library)
	}
	a.Print("%s", LibrariesNamed(names))
}

// LibrariesNamed counts and names libraries of functions.
func LibrariesNamed(names []string) string {
	names = slices.Sorted(slices.Values(names))
	return fmt.Sprintf("libraries of functions: %s (%s)", terminal.Count(int64(len(names))),
		finding.Printable(source.Named(names)))
}

func NamesOf(all []source.LibraryFact) (out []string) {
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
