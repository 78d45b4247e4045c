package migrate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/fit"
	"github.com/keywright/keywright/migrate/internal/shadow"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// noted describes what commands have found out about a part, in a file. It holds for the epoch and for the
// declaration that it was found with; what holds for longer is said.
type noted struct {
	Epoch     uint64    `json:"epoch"`
	Rules     string    `json:"rules,omitempty"` // PartOf.Rules
	Reads     string    `json:"reads,omitempty"` // PartOf.Reads, for Unread
	Imported  bool      `json:"imported"`
	Verified  bool      `json:"verified"`           // by the last verification
	Equal     string    `json:"equal,omitempty"`    // Rules of the last verification without a difference; for all epochs
	Differed  int64     `json:"differed,omitempty"` // verifications that have found a difference
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
	if err != nil {
		return n, err
	}
	if _, err = disk.ReadJSON(m.notedPath(part), &n); errors.Is(err, disk.ErrDamaged) {
		n, err = noted{}, nil // as if nothing had been found out
	}
	of := m.partNamed(part)
	if n.Epoch != is.Epoch || n.Rules != of.Rules {
		n = noted{Epoch: is.Epoch, Rules: of.Rules, Equal: n.Equal, Backup: n.Backup, Planned: n.Planned,
			Loaded: n.Loaded && n.Rules == of.Rules && is.Phase != phase.Off}
	}
	if n.Reads != of.Reads {
		n.Reads, n.Unread = of.Reads, nil
	}
	return n, err
}

// errRedeclared reports a declaration with which both sides have not been equal, where the files are to follow Redis.
var errRedeclared = errors.New("the declaration is another one than when both sides were found equal, and what Redis " +
	"has not by it would be taken out of the files")

// asDeclared is nil if the files may follow Redis by the declaration of a part: a move that was added since has its
// records in the files alone.
func (m *Migration) asDeclared(part string) error {
	n, err := m.noted(part)
	if err == nil && n.Equal != "" && n.Equal != m.partNamed(part).Rules {
		err = errRedeclared
	}
	return err
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
	f.Unfit, f.Unanswered = m.unfit(ctx, m.partNamed(part))
	f.Compared, f.Unequal, err = m.sharedShadow(part, is.Epoch)
	return f, err
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

// PartStatus describes what there is to say about a part.
type PartStatus struct {
	Part      string
	State     PartState
	Facts     phase.Facts
	Forward   []phase.Closed // gates to the next phase that do not open
	Back      []phase.Closed // gates to the phase before
	Processes []Process
	Classes   []Class // differences that comparisons have found
	Cut       int64   // of classes beyond the most that are kept
	// Lost says why nothing is written: phase.ErrLost after a flush or an older backup, phase.ErrAhead where the files
	// are older than Redis, or lost, ErrUnseen where it is not known whether Redis has lost data.
	Lost error
}

// Status says of each part where it is, and what the next change lacks. It changes nothing.
func (m *Migration) Status(ctx context.Context) ([]PartStatus, error) {
	out := make([]PartStatus, 0, len(m.parts))
	for _, p := range m.parts {
		s, err := m.statusOf(ctx, p)
		if err != nil {
			return out, m.wrong("status", p.Name, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func (m *Migration) statusOf(ctx context.Context, p PartOf) (s PartStatus, err error) {
	s.Part = p.Name
	if s.State, err = m.Phase(p.Name); err != nil {
		return s, err
	}
	if s.Facts, err = m.Facts(ctx, p.Name); err != nil {
		return s, err
	}
	s.Lost = m.lost(ctx, p.Name, s.State)
	if next, ok := s.State.Phase.Next(); ok {
		s.Forward = closedGates(s.State.Phase, next, p.Gates, s.Facts)
	}
	if before, ok := s.State.Phase.Previous(); ok {
		s.Back = closedGates(s.State.Phase, before, p.Gates, s.Facts)
	}
	if s.Processes, err = m.Processes(p.Name); err != nil {
		return s, err
	}
	s.Classes, s.Cut, err = m.Classes(p.Name)
	return s, err
}

// Lost says why nothing of a part is read from Redis or written: see PartStatus.Lost.
func (m *Migration) Lost(ctx context.Context, part string) error {
	is, err := m.Phase(part)
	if err == nil {
		err = m.lost(ctx, part, is)
	}
	return m.wrong("look at Redis", part, err)
}

// lost is nil if Redis knows the epoch of a part and its last ticket, or does not answer.
func (m *Migration) lost(ctx context.Context, part string, is PartState) error {
	if err := m.lookSeen(); err != nil {
		return err
	}
	seen := m.server.Seen.Of(part) // before Redis is asked: tickets only grow
	has, err := m.inRedis(ctx, part)
	low := is.Epoch
	if is.Lag > 0 {
		low = is.Lag
	}
	switch {
	case err != nil:
		return nil // what it cannot be asked is said by the facts
	case has.ahead:
		return phase.ErrAhead
	case (has.epoch < low || has.ticket < seen) && is.Phase != phase.Off: // a part in phase off has nothing to lose
		return phase.ErrLost
	}
	return nil
}

// Size returns how many files a part has now, and their bytes.
func (m *Migration) Size(ctx context.Context, part string) (files, bytes int64, err error) {
	err = m.docs.Files(ctx, m.disk.Root, part, func(file string) error {
		path, err := m.disk.Source(file)
		if errors.Is(err, disk.ErrUnusable) { // plan says it
			return nil
		}
		if err != nil {
			return err
		}
		is, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil {
			files, bytes = files+1, bytes+is.Size()
		}
		return err
	})
	return files, bytes, m.wrong("look at the files", part, err)
}

// Classes returns the differences that comparisons of all processes have found in a part, those
// seen last first. cut is how many were of classes beyond the most that are kept.
func (m *Migration) Classes(part string) (out []Class, cut int64, err error) {
	p, err := shadow.Found(m.disk, part)
	if err != nil || p == nil {
		return nil, 0, err
	}
	out = p.Classes
	slices.SortFunc(out, func(a, b Class) int { return b.Last.Compare(a.Last) })
	return out, p.Cut, nil
}

// lookBoth reads a record from both sides once, and compares.
func (m *Migration) lookBoth(ctx context.Context, id record.ID) (epoch uint64, diffs []record.Difference, err error) {
	part, mv, err := m.part(id)
	if err != nil {
		return 0, nil, err
	}
	is, err := m.settled(ctx, part)
	if err != nil {
		return 0, nil, err
	}
	if !phase.Of(is.Phase).Both() {
		return is.Epoch, nil, phase.ErrEpoch
	}
	defer m.flight.begin(part, is.Epoch)()
	file, err := m.readFiles(ctx, id)
	if err != nil {
		return is.Epoch, nil, err
	}
	stored, err := m.readRedis(ctx, part, mv, is.Epoch, id)
	if err != nil {
		return is.Epoch, nil, err
	}
	return is.Epoch, sources.Different(mv, file, stored), nil
}

// hasMark reports whether a record has a mark.
func (m *Migration) hasMark(id record.ID) (bool, error) {
	open, err := m.openMarks(m.partOf[id.Move])
	return err == nil && open.Has(id), err
}

// sharedShadow returns what all processes have found of a part in an epoch.
func (m *Migration) sharedShadow(part string, epoch uint64) (compared, unequal int64, err error) {
	p, err := shadow.Found(m.disk, part)
	if err != nil || p == nil {
		return 0, 0, err
	}
	if p.Epoch == epoch {
		compared = p.Compared
	}
	for _, c := range p.Classes {
		if c.Epoch == epoch {
			unequal++
		}
	}
	return compared, unequal, nil
}
