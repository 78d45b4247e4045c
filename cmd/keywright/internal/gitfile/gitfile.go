// Package gitfile reads files as they are in a commit, as an fs.FS over the
// user's git. It changes nothing, checks nothing out and follows no links.
package gitfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Error represents a commit or repository that cannot be read.
type Error struct {
	What string
	Hint string
}

func (e *Error) Error() string { return e.What }

// Tree represents the files of one commit below one folder.
type Tree struct {
	ctx    context.Context
	dir    string // a folder of the work tree, to run git in
	commit string
	prefix string // of the folder, from the root of the repository
}

// At opens the commit that ref names, as it is below dir, a folder of the work
// tree. The errors are *Error.
func At(ctx context.Context, dir, ref string) (*Tree, error) {
	if strings.HasPrefix(ref, "-") || ref == "" {
		return nil, &Error{fmt.Sprintf("%q is not a git ref", ref), "name a branch, a tag or a commit"}
	}
	if _, err := exec.LookPath("git"); err != nil {
		return nil, &Error{"git is not installed", "compare with a file instead: --against old.yaml"}
	}
	t := &Tree{ctx: ctx, dir: dir}
	prefix, err := t.git("rev-parse", "--show-prefix")
	if err != nil {
		return nil, &Error{fmt.Sprintf("%s is in no git repository", filepath.ToSlash(dir)),
			"compare with a file instead: --against old.yaml"}
	}
	t.prefix = strings.TrimSpace(string(prefix))
	commit, err := t.git("rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return nil, &Error{fmt.Sprintf("there is no file and no git ref %q", ref),
			"in a shallow clone fetch it first: " + fetch(ref)}
	}
	t.commit = strings.TrimSpace(string(commit))
	return t, nil
}

// fetch returns a command after which ref is there.
func fetch(ref string) string {
	if branch, remote := strings.CutPrefix(ref, "origin/"); remote {
		return "git fetch --depth=1 origin " + branch + ":refs/remotes/origin/" + branch
	}
	return "git fetch --depth=1 origin " + ref + ", and compare with FETCH_HEAD"
}

// In returns the same commit below another folder, named from the root of the
// repository.
func (t *Tree) In(folder string) *Tree {
	other := *t
	other.prefix = folder
	return &other
}

func (t *Tree) git(args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = t.dir
	out, failed := bounded{limit: maxFile, full: cancel}, bounded{limit: 4 << 10}
	cmd.Stdout, cmd.Stderr = &out, &failed
	err := cmd.Run()
	if out.over {
		return nil, ErrLarge
	}
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(failed.kept)))
	}
	return out.kept, nil
}

// maxFile bounds a file of a commit: far more than a declaration may have, and what
// a repository holds is not for this program to keep in memory.
const maxFile = 8 << 20

// ErrLarge reports a file of a commit that is larger than any declaration.
var ErrLarge = fmt.Errorf("the file is larger than %d MiB", maxFile>>20)

// bounded keeps the beginning of what is written to it, and passes the rest by.
type bounded struct {
	kept  []byte
	limit int
	over  bool
	full  func() // called when there is more; may be nil
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.limit-len(b.kept))
	b.kept = append(b.kept, p[:n]...)
	if n < len(p) {
		if b.over = true; b.full != nil {
			b.full()
		}
	}
	return len(p), nil
}

// Open implements fs.FS.
func (t *Tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	text, err := t.git("cat-file", "blob", t.commit+":"+path.Join(t.prefix, name))
	if err != nil {
		if t.ctx.Err() != nil {
			return nil, t.ctx.Err()
		}
		if errors.Is(err, ErrLarge) {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{Reader: bytes.NewReader(text), name: path.Base(name)}, nil
}

// file represents a file of a commit.
type file struct {
	*bytes.Reader
	name string
}

func (f *file) Close() error               { return nil }
func (f *file) Stat() (fs.FileInfo, error) { return f, nil }
func (f *file) Name() string               { return f.name }
func (f *file) Mode() fs.FileMode          { return 0o444 }
func (f *file) ModTime() time.Time         { return time.Time{} }
func (f *file) IsDir() bool                { return false }
func (f *file) Sys() any                   { return nil }

// IsError reports whether err is one of this package.
func IsError(err error) (*Error, bool) { return errors.AsType[*Error](err) }
