package files

import (
	"context"
	"errors"

	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/migrate/record"
)

// cover reads the files once more by the draft as it is now, and ignores by name what no move of it reads: a plan
// of the same files then calls it complete, and each line is to be read.
func (d *Draft) cover(ctx context.Context) error {
	if d.Load == nil || len(d.Moves) == 0 {
		return nil
	}
	ks, findings := d.Load(d.YAML())
	m := ks.Migration(d.Migration)
	if finding.Count(findings).Errors > 0 || m == nil {
		return nil // the caller says it
	}
	moves, err := record.Compile(m)
	if err != nil {
		return err
	}
	all := record.Coverages{}
	for _, s := range d.sources {
		of := moves.Source(s.name)
		if of == nil {
			continue
		}
		for _, f := range s.files {
			if err := ctx.Err(); err != nil {
				return err
			}
			in, err := f.Open()
			if err != nil {
				return err
			}
			_, err = of.Read(in, f.Name, record.Options{Coverage: all.Of(s.name)}, func(*record.Match) error { return nil })
			if err = errors.Join(err, in.Close()); err != nil {
				return err
			}
		}
		for _, u := range all.Of(s.name).Places {
			d.ignored = append(d.ignored, s.name+":"+u.Path)
		}
	}
	return nil
}
