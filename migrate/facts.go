package migrate

import (
	"context"
	"path/filepath"
	"time"

	"strings"

	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/fit"
	"github.com/keywright/keywright/migrate/phase"
)

// noted describes what commands have found out about a part, in a file. It holds for the epoch
// that it was found in; what holds for longer is said.
type noted struct {
	Epoch     uint64    `json:"epoch"`
	Imported  bool      `json:"imported"`
	Verified  bool      `json:"verified"`
	RoundTrip bool      `json:"round_trip"`
	Unread    *Unread   `json:"unread,omitempty"` // nil: it was not looked at
	Planned   int64     `json:"planned"`          // bytes of memory that the records need; for all epochs
	Loaded    bool      `json:"loaded"`           // the records have been imported; until the phase off
	Backup    time.Time `json:"backup"`           // of a backup that was verified; for all epochs
}

func (m *Migration) notedPath(part string) string {
	return filepath.Join(m.disk.Own, "facts-"+part+".json")
}

func (m *Migration) noted(part string) (n noted, err error) {
	is, err := m.Phase(part)
	if err == nil {
		_, err = disk.ReadJSON(m.notedPath(part), &n)
	}
	if n.Epoch != is.Epoch {
		n = noted{Epoch: is.Epoch, Backup: n.Backup, Planned: n.Planned, Loaded: n.Loaded && is.Phase != phase.Off}
	}
	return n, err
}

// note changes what is known of a part.
func (m *Migration) note(part string, epoch uint64, change func(*noted)) error {
	lock, err := m.locked("facts")
	if err != nil {
		return err
	}
	defer lock.Free()
	n, err := m.noted(part)
	if err != nil {
		return err
	}
	if n.Epoch != epoch {
		return phase.ErrEpoch
	}
	change(&n)
	return m.disk.WriteJSON(m.notedPath(part), n)
}

// NoteBackup says when a backup was made and verified.
func (m *Migration) NoteBackup(part string, at time.Time) error {
	is, err := m.Phase(part)
	if err != nil {
		return err
	}
	return m.note(part, is.Epoch, func(n *noted) { n.Backup = at })
}

// Facts returns what is known of a part now, for the gates of its next change.
func (m *Migration) Facts(ctx context.Context, part string) (phase.Facts, error) {
	f := phase.Facts{Backup: -1}
	is, err := m.Phase(part)
	if err != nil {
		return f, err
	}
	n, err := m.noted(part)
	if err != nil {
		return f, err
	}
	open, err := m.openMarks(part)
	if err != nil {
		return f, err
	}
	now := time.Now()
	f.Marks, f.Imported, f.Verified, f.RoundTrip = open.Count, n.Imported, n.Verified, n.RoundTrip
	if u := n.Unread; u != nil {
		f.Looked, f.Unread, f.UnreadBytes, f.Misshapen = true, u.Values, u.Bytes, u.Misshapen
	}
	if open.Count > 0 {
		f.Oldest = now.Sub(open.Oldest)
	}
	if !n.Backup.IsZero() {
		f.Backup = now.Sub(n.Backup)
	}
	if !is.Since.IsZero() {
		f.In = now.Sub(is.Since)
	}
	f.Compared, f.Unequal, err = m.sharedShadow(part, is.Epoch)
	if err != nil {
		return f, err
	}
	for _, p := range m.parts {
		if p.Name == part {
			f.Unfit, f.Unanswered = m.unfit(ctx, p)
		}
	}
	return f, nil
}

// Unfit returns what the server lacks to be the only place of the records: each is a reason not
// to go live. A server that does not answer is one.
func (m *Migration) Unfit(ctx context.Context) (out []string) {
	for _, p := range m.parts {
		lacks, _ := m.unfit(ctx, p)
		for _, lack := range lacks {
			if !strings.Contains("\n"+strings.Join(out, "\n")+"\n", "\n"+lack+"\n") {
				out = append(out, lack)
			}
		}
	}
	return out
}

// unfit returns what the server lacks for one part. The error says why it could not be asked all; it is
// among what it lacks, too.
func (m *Migration) unfit(ctx context.Context, p PartOf) (out []string, unanswered error) {
	planned := int64(0)
	if n, err := m.noted(p.Name); err == nil && !n.Loaded {
		planned = n.Planned
	}
	return fit.Lacks(ctx, m.server, p, planned, m.wrong)
}
