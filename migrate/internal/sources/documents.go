// Package sources is the side of the files of a migration: documents as records, where they are, and how one file is
// written for all who wait. It knows no server.
package sources

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/documents"
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// Slack is by how much two times may differ at which a record ends.
const Slack = 2 * time.Second

// declared holds the documents of a declared migration.
type declared struct {
	m      *record.Map
	root   string
	room   func() (record.Spill, error)                             // for the names of large objects
	fields func(ctx context.Context, hash string) ([]string, error) // of a hash in Redis
	listed *listings
}

// NewDeclared returns the documents of a declared migration. fields gives the fields of a hash in Redis.
func NewDeclared(m *record.Map, d *disk.Disk,
	fields func(ctx context.Context, hash string) ([]string, error)) documents.Documents {
	out := declared{m, d.Root, d.Room, fields, &listings{}}
	d.IsSource = func(file string) bool { return out.source(file) != nil }
	return out
}

// Walked returns how often documents of a declaration have read folders for the names of files.
func Walked(d documents.Documents) int { return d.(declared).listed.walked }

// Parts implements Documents.
func (d declared) Parts() (out []documents.PartOf) {
	for _, p := range d.m.Migration.Parts {
		part := documents.PartOf{Name: p.Name, Form: formOf(p), Rules: rulesOf(d.m.Migration, p),
			Reads: readsOf(d.m.Migration),
			Gates: phase.Limits{Compared: p.Gates.Compared, Unequal: p.Gates.Unequal,
				For:   p.Gates.For,
				Marks: p.Gates.Marks, Backup: p.Gates.Backup}}
		for _, mv := range d.m.Moves {
			if mv.Part != p {
				continue
			}
			part.Moves = append(part.Moves, documents.MoveOf{Name: mv.Name, Move: mv, Kind: mv.Kind, TTL: mv.To.TTL,
				Match: mv.To.Keys[0].Pattern.ScanGlob(), Of: mv.Of,
				Example: string(mv.To.Keys[0].Pattern.Example()), Sealed: declaredSeals(d.m.Migration.Package, mv),
				Same: func(a, b *record.Record) []record.Difference { return mv.Compare(a, b, time.Now(), Slack) }})
		}
		out = append(out, part)
	}
	return out
}

// formOf returns a digest of the moves of a part, and of the keys that they make.
func formOf(p *keyspace.Part) string {
	sum := sha256.New()
	for _, mv := range p.Moves {
		to := mv.To
		fmt.Fprintf(sum, "%q %q %q %q\n", mv.Name, to.Type, to.Keys[0].Pattern.String(), to.TTL.Text)
		for _, f := range mv.Facts() {
			fmt.Fprintf(sum, "%q %q\n", f.Name, f.Value)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// File implements Documents.
func (d declared) File(ctx context.Context, id record.ID) (string, error) {
	mv := d.m.Move(id.Move)
	if mv == nil {
		return "", fmt.Errorf("%q is no move of the migration", id.Move)
	}
	return mv.FileOf(&record.Record{Move: mv, Key: id.Key, Sub: id.Sub}, d.names(ctx))
}

// Files implements Documents.
func (d declared) Files(ctx context.Context, root, part string, each func(string) error) error {
	return d.walk(ctx, root, part, each, nil)
}

func (d declared) walk(ctx context.Context, root, part string, each func(string) error,
	saw func(string, os.FileInfo)) error {
	var sources []*record.Source
	for _, mv := range d.m.Moves {
		if mv.Part.Name == part && !slices.Contains(sources, mv.Source) {
			sources = append(sources, mv.Source)
		}
	}
	return (&walk{ctx: ctx, root: root, saw: saw, each: func(file string) error {
		for _, s := range sources {
			if _, ok := s.Match(file); ok {
				return each(file)
			}
		}
		return nil
	}, dead: func(link string) error { // opening it says what is wrong with it
		for _, s := range sources {
			if _, ok := s.Match(link); ok || s.File.Below(link) {
				return each(link)
			}
		}
		return nil
	}}).folder(".", nil)
}

// Back implements Documents.
func (d declared) Back(ctx context.Context, in io.Reader, file string, cover record.Coverages,
	each func(*record.Record) (*record.Record, error), fault func(*record.Record, error) error,
	reject func(*record.Reject) error) error {
	names := d.names(ctx)
	return d.matches(in, file, cover, func(m *record.Match, r *record.Record) error {
		back, err := each(r)
		if err != nil || back == nil {
			return err
		}
		if err := back.Move.Returns(m, back, file, names); err != nil {
			return fault(r, err)
		}
		return nil
	}, reject)
}

// Read implements Documents.
func (d declared) Read(in io.Reader, file string, cover record.Coverages, each func(*record.Record) error,
	reject func(*record.Reject) error) error {
	return d.matches(in, file, cover, func(_ *record.Match, r *record.Record) error { return each(r) }, reject)
}

func (d declared) matches(in io.Reader, file string, cover record.Coverages,
	each func(*record.Match, *record.Record) error, reject func(*record.Reject) error) error {
	s := d.source(file)
	if s == nil {
		return fmt.Errorf("%s is no file of the migration", file)
	}
	opt := record.Options{Spill: d.room, Coverage: cover.Of(s.Name)}
	_, err := s.Read(in, file, opt, func(m *record.Match) error {
		for _, mv := range m.Moves {
			r, err := mv.Record(m)
			if bad, ok := err.(*record.Reject); ok {
				if reject == nil {
					continue
				}
				if err := reject(bad); err != nil {
					return err
				}
				continue
			}
			if err == nil {
				err = each(m, r)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// Rewrite implements Documents.
func (d declared) Rewrite(ctx context.Context, out io.Writer, in io.Reader, file string,
	edits []record.Edit, refused func(*record.Reject) error) (bool, error) {
	s := d.source(file)
	if s == nil {
		return false, fmt.Errorf("%s is no file of the migration", file)
	}
	done, err := s.Rewrite(out, in, file, edits, d.names(ctx),
		record.Options{Spill: d.room, Refused: refused})
	return done.Changed+done.Added+done.Deleted > 0, err
}

// Holds implements Documents.
func (d declared) Holds(in io.Reader, file string, edits []record.Edit, refused func(record.ID) bool) error {
	s := d.source(file)
	if s == nil {
		return fmt.Errorf("%s is no file of the migration", file)
	}
	return s.Holds(in, file, edits, refused, record.Options{Spill: d.room})
}

// Fits implements Documents.
func (d declared) Fits(r *record.Record) error { return r.Move.Fits(r) }

func (d declared) source(file string) *record.Source {
	for _, s := range d.m.Sources {
		if _, ok := s.Match(file); ok {
			return s
		}
	}
	return nil
}
