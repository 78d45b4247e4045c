package sources

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/source/archive"
	"github.com/spf13/cobra"
)

// Chaining holds the flags of verbs that read archives, also those that add to others.
type Chaining struct {
	Unlocking
	bases []string
}

// ChainHelp explains them.
const ChainHelp = UnlockHelp + `
One of backup --since is read together with the archives that it adds to: name those
with --base, in any order.`

func (o *Chaining) Flags(c *cobra.Command) {
	o.Unlocking.Flags(c)
	f := c.Flags()
	f.StringArrayVar(&o.bases, "base", nil, "an archive that the one to be read adds to (again: and this one)")
}

// Chained represents an archive together with those that it adds to.
type Chained struct {
	*archive.Chain
	Cut   error // why it is not whole; nil: it is
	files []*archivefile.Opened
}

// Close closes the files.
func (c *Chained) Close() {
	for _, in := range c.files {
		_ = in.Close()
	}
}

// OpenChain opens an archive and those that add to it, oldest first: each names the one
// before it by its digest.
func OpenChain(paths []string, keys archivefile.Keys) (_ *Chained, err error) {
	c := &Chained{}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	base := ""
	for i, path := range paths {
		in, err := archivefile.Open(path, keys)
		if err != nil {
			return nil, NoArchive(path, err)
		}
		c.files = append(c.files, in)
		switch {
		case in.Cut != nil:
			return nil, cutOfSeveral(path, in.Cut)
		case i == 0 && in.Meta.Base != "":
			return nil, HasBase(path)
		case in.Meta.Base != base:
			return nil, cli.Usage("name them oldest first, none left out", "%s does not add to %s", path, paths[max(i-1, 0)])
		}
		base = in.Sum()
	}
	var all []*archive.Archive
	for _, in := range c.files {
		all = append(all, in.Archive)
	}
	c.Chain, err = archive.NewChain(all[len(all)-1], all...)
	return c, err
}

// HasBase refuses an archive that only has what changed.
func HasBase(path string) error {
	return cli.Usage("`keywright restore` takes it after the archives that it adds to, oldest first",
		"%s only has what has changed since another archive", path)
}

// cutOfSeveral refuses an archive that is not whole where several are read.
func cutOfSeveral(path string, cut error) error {
	return cli.Partial("take another copy of it: of several archives each must be whole", "%s: %v", path, cut)
}

// OpenChained opens an archive, and what it adds to: of --base, and of the other archives
// that were named.
func OpenChained(ctx context.Context, a *cli.App, path string, o *Chaining, others ...string) (*Chained, error) {
	keys := ArchiveKeys(ctx, a, &o.Unlocking)
	in, err := archivefile.Open(path, keys)
	if err != nil {
		return nil, NoArchive(path, err)
	}
	return o.complete(in, path, keys, others)
}

// spooledChain opens an archive that comes from standard input.
func spooledChain(ctx context.Context, a *cli.App, in io.Reader, o *Chaining, others ...string) (*Chained, error) {
	const name = "standard input"
	keys := ArchiveKeys(ctx, a, &o.Unlocking)
	opened, err := archivefile.Spooled(&Cancelled{ctx, in}, name, keys)
	if err != nil {
		return nil, NoArchive(name, err)
	}
	return o.complete(opened, name, keys, others)
}

// complete opens what an archive adds to, if it does.
func (o *Chaining) complete(in *archivefile.Opened, path string, keys archivefile.Keys, others []string) (_ *Chained,
	err error) {
	c := &Chained{Cut: in.Cut, files: []*archivefile.Opened{in}}
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
			return nil, NoArchive(other, err)
		}
		c.files = append(c.files, base)
		if base.Cut == nil {
			older = append(older, base.Archive)
		}
	}
	if in.Cut != nil {
		return nil, cutOfSeveral(path, in.Cut)
	}
	if c.Chain, err = archive.NewChain(in.Archive, older...); errors.As(err, new(*archive.BaseError)) {
		return nil, cli.Usage("name the archives that it adds to with --base FILE, each of them whole",
			"%s only has what has changed since another archive", path)
	}
	return c, err
}

// Each calls each with what a sequence yields, as long as ctx lasts.
func Each[T any](ctx context.Context, sequence iter.Seq2[T, error], each func(T) error) error {
	for one, err := range sequence {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = each(one)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Cancelled represents a reader that ends with a context.
type Cancelled struct {
	Ctx context.Context
	In  io.Reader
}

func (c *Cancelled) Read(p []byte) (int, error) {
	if err := c.Ctx.Err(); err != nil {
		return 0, err
	}
	return c.In.Read(p)
}
