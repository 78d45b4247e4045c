package dumpfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/keywright/keywright/source/aof"
)

// Folder represents the append-only folder of a server, which has a snapshot (its base) and the commands that came
// after it.
type Folder struct {
	Manifest string // path
	Base     string // path of the snapshot
	Commands int64  // in the increments, but for those that change no key
	Files    int    // increments
}

// baseName is the form of a base that is a snapshot: prefix and number.
var baseName = regexp.MustCompile(`^(.+)\.\d+\.base\.rdb$`)

// FolderOf returns the append-only folder that a name means: the folder, or its base.
func FolderOf(name string) (*Folder, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return folderIn(name)
	}
	f, err := folderOf(name)
	if err == nil && f == nil {
		err = &Error{fmt.Errorf("%s is no append-only folder, and no base of one", name), "name the folder, which has a manifest"}
	}
	return f, err
}

// folderOf returns the append-only folder whose base a file is; nil if there is none beside it.
func folderOf(file string) (*Folder, error) {
	m := baseName.FindStringSubmatch(filepath.Base(file))
	if m == nil {
		return nil, nil
	}
	manifest := filepath.Join(filepath.Dir(file), m[1]+".manifest")
	if _, err := os.Stat(manifest); err != nil {
		return nil, nil
	}
	f, err := readFolder(manifest)
	if err == nil && filepath.Base(f.Base) != filepath.Base(file) {
		err = &Error{fmt.Errorf("%s is not the base of its folder any more: the manifest names %s", file, f.Base),
			"name the folder"}
	}
	return f, err
}

// folderIn returns the append-only folder that a folder is, or has in it.
func folderIn(name string) (*Folder, error) {
	var found []string
	for _, pattern := range []string{"*.manifest", "appendonlydir/*.manifest"} {
		in, _ := filepath.Glob(filepath.Join(name, pattern))
		found = append(found, in...)
	}
	switch len(found) {
	case 0:
		return nil, &Error{fmt.Errorf("%s is a folder", name), inFolder(name)}
	case 1:
		return readFolder(found[0])
	}
	return nil, &Error{fmt.Errorf("%s has %d append-only folders", name, len(found)), "name one: " + strings.Join(found, ", ")}
}

// readFolder reads a manifest, and counts what the increments hold.
func readFolder(manifest string) (*Folder, error) {
	in, err := os.Open(manifest)
	if err != nil {
		return nil, &Error{err, ""}
	}
	files, err := aof.Parse(in)
	_ = in.Close()
	if err != nil {
		return nil, &Error{fmt.Errorf("%s: %w", manifest, err), "is it the manifest of a server?"}
	}
	f := &Folder{Manifest: manifest, Files: len(files.Increments)}
	if !strings.HasSuffix(files.Base, ".rdb") {
		return nil, &Error{fmt.Errorf("%s names no snapshot: the folder has commands alone", manifest),
			"let the server write a snapshot with BGREWRITEAOF (aof-use-rdb-preamble yes) or BGSAVE, or read the server itself"}
	}
	f.Base = filepath.Join(filepath.Dir(manifest), files.Base)
	for i, name := range files.Increments {
		n, err := countCommands(filepath.Join(filepath.Dir(manifest), name))
		if f.Commands += n; err != nil && (i < len(files.Increments)-1 || !errors.Is(err, aof.ErrCut)) {
			return nil, &Error{fmt.Errorf("%s, which %s names: %w", name, manifest, err),
				"copy the whole folder again, from a server that is not rewriting it"}
		}
	}
	return f, nil
}

func countCommands(path string) (int64, error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	return aof.Commands(in)
}
