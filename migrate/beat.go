package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/members"
)

// looks says how often a process looks whether the phases have changed.
const looks = 20 * time.Millisecond

// keepAlive says that this process lives and by which epochs it works, and replays what waits.
func (m *Migration) keepAlive() {
	defer m.work.Done()
	var said map[string]uint64
	saidAt, replayAt := time.Time{}, time.Now().Add(m.config.Lease/20)
	for disk.Pause(m.life, looks) == nil {
		p, err := m.disk.Phases()
		if err != nil {
			continue
		}
		m.ahead.sawAll(p)
		now := time.Now()
		if is := m.confirmed(p); now.Sub(saidAt) > m.config.Lease/5 || !maps.Equal(is, said) {
			if m.sayAlive() == nil {
				said, saidAt = is, now
			}
		}
		if now.After(replayAt) {
			ctx, cancel := context.WithTimeout(m.life, m.config.Lease/2) // the next word must come in time
			m.lookAhead(ctx)
			_ = m.undoIfDead(ctx, p)
			_, _, err := m.Replay(ctx)
			cancel()
			_ = m.marks.FlushLazily() // what is not written now is a comparison more later
			_ = m.shadow.Save()
			wait := m.config.Lease / 20
			if err != nil {
				wait = m.config.Lease / 5
			}
			replayAt = time.Now().Add(wait)
		}
	}
}

// sayAlive writes what this process says of itself. It is on the disk before it takes the place of
// what was said before: what a process has seen outlives a failure of power as a whole.
func (m *Migration) sayAlive() error {
	p, err := m.disk.Phases()
	if err != nil && !errors.Is(err, disk.ErrDamaged) { // a damaged one is for Repair: no epoch is confirmed
		return err
	}
	path := m.members.Path(m.id, "beat")
	text := members.EncodeReport(members.Report{At: time.Now(), Pid: os.Getpid(), Epochs: m.confirmed(p),
		Seen: m.server.Seen.All(), Forms: m.forms()})
	f, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// Processes returns those that take part, with what they have confirmed of a part.
func (m *Migration) Processes(part string) (out []Process, err error) {
	ids, err := m.members.Others()
	if !m.config.Look {
		ids = append(ids, m.id)
	}
	for _, id := range ids {
		var b members.Report
		there, unread := disk.ReadJSON(m.members.Path(id, "beat"), &b)
		if unread == nil && !there {
			continue // it has just begun or ended
		}
		if unread != nil { // it is not known by which epoch it works
			b = members.Report{}
		}
		live := id == m.id || m.members.HoldsLock(id) && (unread != nil || time.Since(b.At) < m.config.Lease)
		otherwise := len(b.Forms) > 0 && b.Forms[part] != m.partNamed(part).Form
		out = append(out, Process{ID: id, Pid: b.Pid, At: b.At, Live: live, Confirmed: b.Epochs[part], Otherwise: otherwise})
	}
	return out, err
}

// forms returns the digests of what this process takes for the records of each part.
func (m *Migration) forms() map[string]string {
	out := map[string]string{}
	for _, p := range m.parts {
		if p.Form != "" {
			out[p.Name] = p.Form
		}
	}
	return out
}

// alike is nil if no process that lives declares a part otherwise than this one: what one writes
// would be no record for the other, or another one.
func (m *Migration) alike(part string) error {
	all, err := m.Processes(part)
	if err != nil {
		return err
	}
	var others []string
	for _, p := range all {
		if p.Live && p.Otherwise {
			others = append(others, p.ID)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrOtherwise, strings.Join(others, ", "))
}

// ErrOtherwise reports a process that declares a part otherwise than this one.
var ErrOtherwise = errors.New("a process that lives declares the part otherwise")

// confirm waits until every process that lives works by an epoch, or later ones.
func (m *Migration) confirm(ctx context.Context, part string, epoch uint64) error {
	for {
		all, err := m.Processes(part)
		if err != nil {
			return err
		}
		var waits []string
		for _, p := range all {
			if p.Live && p.Confirmed < epoch {
				waits = append(waits, p.ID)
			}
		}
		if len(waits) == 0 {
			return nil
		}
		if err := disk.Pause(ctx, looks/4); err != nil {
			return &Unconfirmed{Part: part, Epoch: epoch, Processes: waits, Err: err}
		}
	}
}
