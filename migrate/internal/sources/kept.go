package sources

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/record"
)

// names looks for the texts that a capture may be: the fields of the hash that keeps them,
// and, of the name of a file, what the files that there are have captured. Each hash is
// read once.
func (d declared) names(ctx context.Context) record.Names {
	known := map[string][]string{}
	once := func(key string, read func() ([]string, error)) ([]string, error) {
		if texts, ok := known[key]; ok {
			return texts, nil
		}
		texts, err := read()
		if err == nil {
			known[key] = texts
		}
		return texts, err
	}
	return func(r *record.Record, capture string) (out []string, err error) {
		if slices.Contains(r.Move.Source.File.Captures(), capture) {
			out, err = once("file "+r.Move.Source.Name+" "+capture, func() ([]string, error) {
				return d.captured(ctx, r.Move, capture)
			})
		}
		hash, ok := keptIn(r, capture)
		if err != nil || !ok {
			return out, err
		}
		texts, err := once("hash "+hash, func() ([]string, error) { return d.fields(ctx, hash) })
		return append(slices.Clone(out), texts...), err
	}
}

// captured returns what the files of a source have for a capture.
func (d declared) captured(ctx context.Context, mv *record.Move, capture string) (out []string, err error) {
	known := map[string]bool{}
	files, err := d.listed.of(ctx, d, mv.Part.Name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	for _, file := range files {
		if captures, ok := mv.Source.Match(file); ok && !known[captures[capture]] {
			known[captures[capture]], out = true, append(out, captures[capture])
		}
	}
	return out, err
}

// listings holds the files of parts as they were when they were listed last.
type listings struct {
	mu     sync.Mutex
	parts  map[string]*listing
	walked int // how often folders were read
}

// listing represents the files of a part, and when the folders that were read for them changed last.
type listing struct {
	files   []string
	folders map[string]time.Time
	began   time.Time
}

// settledFor says how long a folder must not have changed before it was read: changes that come one
// shortly after the other may leave it with the same time.
const settledFor = 2 * time.Second

// holds reports whether no folder has changed since.
func (l *listing) holds() bool {
	for folder, at := range l.folders {
		is, err := os.Stat(folder)
		if err != nil || !is.ModTime().Equal(at) || at.After(l.began.Add(-settledFor)) {
			return false
		}
	}
	return true
}

// of lists the files of a part, at most maxKept without reading the folders again.
func (l *listings) of(ctx context.Context, d declared, part string) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if is := l.parts[part]; is != nil && is.holds() {
		return is.files, nil
	}
	l.walked++
	is := &listing{folders: map[string]time.Time{}, began: time.Now()}
	err := d.walk(ctx, d.root, part, func(file string) error {
		is.files = append(is.files, file)
		return nil
	}, func(folder string, info os.FileInfo) { is.folders[folder] = info.ModTime() })
	if l.parts == nil {
		l.parts = map[string]*listing{}
	}
	delete(l.parts, part)
	if err == nil && len(is.files)+len(is.folders) <= MaxKept {
		l.parts[part] = is
	}
	return is.files, err
}

// keptIn returns the hash that keeps the text of a capture of a record. The placeholders of its
// key are those of the record's key.
func keptIn(r *record.Record, capture string) (hash string, ok bool) {
	e := r.Move.Kept[capture]
	if e == nil {
		return "", false
	}
	return siblingKey(r.Move.To, e, r.Key)
}

// siblingKey returns the key of an entry with the values that the key of another one has.
func siblingKey(from, to *keyspace.Entry, key string) (string, bool) {
	values, ok := from.Keys[0].Pattern.Match([]byte(key))
	if !ok {
		return "", false
	}
	has := map[string]string{}
	for i, p := range from.Keys[0].Pattern.Placeholders() {
		has[p.Name] = values[i]
	}
	var args []string
	for _, p := range to.Keys[0].Pattern.Placeholders() {
		v, there := has[p.Name]
		if !there {
			return "", false
		}
		args = append(args, v)
	}
	built, err := to.Keys[0].Pattern.Build(args...)
	return string(built), err == nil
}

// MaxKept bounds the names that are looked through for one text.
const MaxKept = 1 << 16
