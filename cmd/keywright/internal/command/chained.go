package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/source/archive"
	"github.com/spf13/cobra"
)

// chaining holds the flags of verbs that read archives, also those that add to others.
type chaining struct {
	unlocking
	bases []string
}

// chainHelp explains them.
const chainHelp = unlockHelp + `
One of backup --since is read together with the archives that it adds to: name those
with --base, in any order.`

func (o *chaining) Flags(c *cobra.Command) {
	o.unlocking.Flags(c)
	f := c.Flags()
	f.StringArrayVar(&o.bases, "base", nil, "an archive that the one to be read adds to (again: and this one)")
	f.Lookup("base").Annotations = map[string][]string{cli.NoVariable: {"files of each run"}}
}

// chained represents an archive together with those that it adds to.
type chained struct {
	*archive.Chain
	Cut   error // why it is not whole; nil: it is
	files []*archivefile.Opened
}

// Close closes the files.
func (c *chained) Close() { closeAll(c.files) }

// openChained opens an archive, and what it adds to: of --base, and of the other archives
// that were named.
func openChained(ctx context.Context, a *cli.App, path string, o *chaining, others ...string) (*chained, error) {
	keys := archiveKeys(ctx, a, &o.unlocking)
	in, err := archivefile.Open(path, keys)
	if err != nil {
		return nil, noArchive(path, err)
	}
	return o.complete(in, path, keys, others)
}

// spooledChain opens an archive that comes from standard input.
func spooledChain(ctx context.Context, a *cli.App, in io.Reader, o *chaining, others ...string) (*chained, error) {
	const name = "standard input"
	keys := archiveKeys(ctx, a, &o.unlocking)
	opened, err := archivefile.Spooled(&cancelled{ctx, in}, name, keys)
	if err != nil {
		return nil, noArchive(name, err)
	}
	return o.complete(opened, name, keys, others)
}

// complete opens what an archive adds to, if it does.
func (o *chaining) complete(in *archivefile.Opened, path string, keys archivefile.Keys, others []string) (_ *chained,
	err error) {
	c := &chained{Cut: in.Cut, files: []*archivefile.Opened{in}}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if in.Meta.Base == "" {
		c.Chain, err = archive.NewChain(in.Archive)
		return c, err
	}
	var older []*archive.Archive
	for _, other := range slices.Concat(slices.DeleteFunc(others, func(name string) bool { return !archivefile.Is(name) }),
		o.bases) {
		base, err := archivefile.Open(other, keys)
		if err != nil {
			return nil, noArchive(other, err)
		}
		c.files = append(c.files, base)
		if base.Cut == nil {
			older = append(older, base.Archive)
		}
	}
	if in.Cut != nil {
		return nil, &cli.Exit{Code: cli.ExitPartial, Message: fmt.Sprintf("%s: %v", path, in.Cut),
			Hint: "take another copy of it: of several archives each must be whole"}
	}
	if c.Chain, err = archive.NewChain(in.Archive, older...); errors.As(err, new(*archive.BaseError)) {
		return nil, cli.Usage("name the archives that it adds to with --base FILE, each of them whole",
			"%s only has what has changed since another archive", path)
	}
	return c, err
}

// cancelled represents a reader that ends with a context.
type cancelled struct {
	ctx context.Context
	in  io.Reader
}

func closeAll(chain []*archivefile.Opened) {
	for _, in := range chain {
		_ = in.Close()
	}
}

func (c *cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.in.Read(p)
}
