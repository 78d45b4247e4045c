package migrate

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/filelock"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/export"
	"github.com/keywright/keywright/migrate/internal/marks"
	"github.com/keywright/keywright/migrate/internal/members"
	"github.com/keywright/keywright/migrate/internal/shadow"
	"github.com/keywright/keywright/migrate/internal/sides"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// Config represents a migration that a process takes part in.
type Config struct {
	Name   string            // of the migration; "": that of Map
	Root   string            // the folder of the sources
	Map    *record.Map       // which record of the files is which key
	Client *keywright.Client // to a single server, no cluster
	// Connect opens the client where there is no Client: at Open and, unless the process looks only, each second until
	// it succeeds. While the files decide, a process starts and works without Redis. Open fails if the first error is no
	// *keywright.Error, or is Invalid or Refused: time does not heal it. It must end with its context: Close waits for it,
	// and closes what it opened.
	Connect func(context.Context) (*keywright.Client, error)

	Lease time.Duration // after which a process that says nothing is not waited for; 0: 10 s
	Wait  time.Duration // how long a call waits for a change of phase; 0: 10 s
	Marks int           // how many records of this process may differ at a time; 0: 100000

	Shadow ShadowConfig // of the comparisons in the phases shadow and live

	// Look only: this process takes no part in the migration, writes no record and changes no phase. What
	// asks nothing of Redis then needs no Client.
	Look bool
	// Progress is called now and then while files are read, with what was read of them since Open;
	// nil: it is not asked for.
	Progress func(bytes, records int64)

	documents Documents
	at        func(point string) error
	wrote     func(side phase.Side, part string, epoch uint64, drain bool) // where a write has just been done
}

// Migration represents one process's part in a migration. It is safe for concurrent use.
type Migration struct {
	config  Config
	docs    Documents
	parts   []PartOf
	moves   map[string]MoveOf
	partOf  map[string]string // of a move
	disk    *disk.Disk
	link    *store.Link
	server  *store.Server
	files   *sources.Files
	marks   *marks.Log
	id      string
	lock    *disk.Lock // that this process lives
	name    atomic.Uint64
	unseen  atomic.Bool // what others have seen is not known yet
	ahead   laterEpochs
	pushes  sources.Pushes
	sides   *sides.Sides
	members *members.Folder
	doubt   atomic.Bool // a write of this process may arrive yet
	renewal sync.Mutex
	flight  flights
	shadow  *shadow.Comparisons
	stats   counters
	exports export.Exports

	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup
	once sync.Once
	gone error
}

// errLook reports a change by a process that only looks.
var errLook = errors.New("it was opened to look only")

var errUnknown = errors.New("it is not of this migration")

// Open makes this process one of the migration: it says that it lives, until Close, and
// replays the marks of processes that died. It needs no server that answers, but for the first of
// all: until Redis has answered once nothing says the phase.
func Open(ctx context.Context, c Config) (*Migration, error) {
	c.Lease, c.Wait = cmp.Or(c.Lease, 10*time.Second), cmp.Or(c.Wait, 10*time.Second)
	c.Marks = cmp.Or(c.Marks, 100_000)
	if c.documents == nil && c.Map == nil {
		return nil, invalidConfig("there is no Map")
	}
	if c.documents == nil {
		c.Name = cmp.Or(c.Name, c.Map.Migration.ID())
	}
	if c.at == nil {
		c.at = func(string) error { return nil }
	}
	if c.wrote == nil {
		c.wrote = func(phase.Side, string, uint64, bool) {}
	}
	if !filepath.IsLocal(c.Name) || filepath.Base(c.Name) != c.Name {
		return nil, invalidConfig("the Name is no name of a file")
	}
	to := &store.Link{Open: c.Connect, Client: c.Client}
	if to.Client != nil {
		to.Open = nil
		if err := store.Single(to.Client); err != nil {
			return nil, err
		}
	}
	if to.None() && !c.Look {
		return nil, &keywright.Error{Class: keywright.Invalid, Op: "open migration", Err: store.ErrNoServer}
	}
	d, err := disk.New(c.Root, c.Name, c.at)
	if err != nil {
		return nil, err
	}
	if c.documents == nil {
		c.documents = sources.NewDeclared(c.Map, d, to.Fields)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	moves := map[string]MoveOf{}
	m := &Migration{config: c, docs: c.documents, parts: c.documents.Parts(), moves: moves,
		partOf: map[string]string{},
		disk:   d, link: to, server: store.New(to, c.Name, moves), life: life, end: end}
	for _, p := range m.parts {
		for _, mv := range p.Moves {
			m.moves[mv.Name], m.partOf[mv.Name] = mv, p.Name
		}
	}
	m.files = sources.NewFiles(life, d, c.documents, c.wrote)
	m.pushes.Life, m.pushes.Work, m.pushes.Wait, m.pushes.Do = life, &m.files.Work, c.Wait, m.push
	m.sides = &sides.Sides{Docs: m.docs, Disk: d, Server: m.server, Parts: m.parts, Moves: m.moves, PartOf: m.partOf,
		Progressed: c.Progress}
	m.exports.Sides = m.sides
	m.members = &members.Folder{Disk: d}
	if err := to.Begin(ctx); err != nil {
		end()
		return nil, err
	}
	if c.Look {
		m.marks, m.config.Shadow.Off = &marks.Log{}, true
		m.unseen.Store(true)
		_ = m.lookSeen() // without it: see settled
		m.shadow = shadow.New(life, m.config.Shadow, d, m.partOf, m.lookBoth, m.hasMark)
		return m, nil
	}
	if err := m.enter(); err != nil {
		end()
		to.Close()
		return nil, err
	}
	for _, p := range m.parts {
		m.ahead.set(p.Name, unasked)
	}
	m.lookAhead(ctx)
	m.shadow = shadow.New(life, m.config.Shadow, d, m.partOf, m.lookBoth, m.hasMark)
	m.work.Add(2)
	go m.keepAlive()
	go m.connects()
	return m, nil
}

func invalidConfig(what string) error {
	return &keywright.Error{Class: keywright.Invalid, Op: "open migration", Err: errors.New(what)}
}

// enter takes the lock that says that this process lives, and begins its marks. A process
// that looks for the dead may take a lock between its file is made and locked, and remove
// the file then: another name is tried.
func (m *Migration) enter() error {
	for {
		m.id = strconv.Itoa(os.Getpid()) + "-" + rand.Text()[:10]
		m.members.ID = m.id
		path := m.members.Path(m.id, "lock")
		lock, err := m.disk.TryLock(path, false)
		if err != nil {
			return err
		}
		if lock == nil {
			continue
		}
		here, err := lock.F.Stat()
		if err != nil {
			lock.Free()
			return err
		}
		if there, err := os.Stat(path); err != nil || !os.SameFile(here, there) {
			lock.Free()
			continue
		}
		m.lock = lock
		break
	}
	of, err := marks.Open(m.members.Path(m.id, "marks"), m.config.Marks, m.disk.At)
	if err == nil {
		m.marks = of
		err = m.sayAlive()
	}
	if err == nil {
		err = filelock.SyncFolder(filepath.Join(m.disk.Own, disk.ProcessFolder))
	}
	if err != nil {
		m.lock.Free()
		return err
	}
	m.name.Store(1)
	m.doubt.Store(true) // Redis does not know the name yet
	m.unseen.Store(true)
	_ = m.lookSeen() // without it: see settled
	return nil
}

// Close ends what this process does in the background. Marks that are left wait for the
// next process, or for Replay.
func (m *Migration) Close() error {
	m.once.Do(func() {
		m.shadow.Close()
		m.files.Mu.Lock() // none begins a write or a push that is not waited for
		m.pushes.Mu.Lock()
		m.end()
		m.pushes.Mu.Unlock()
		m.files.Mu.Unlock()
		m.work.Wait()
		m.files.Work.Wait()
		defer m.link.Close()
		if m.config.Look {
			return
		}
		left, err := m.marks.Close()
		err = errors.Join(err, m.keepSeen(m.server.Seen.All()))
		if left == 0 && err == nil {
			for _, kind := range members.FilesOf {
				_ = os.Remove(m.members.Path(m.id, kind))
			}
		}
		m.lock.Free()
		m.gone = err
	})
	return m.gone
}

// takesPart is nil for a process that may change something.
func (m *Migration) takesPart(op, part string) error {
	if m.config.Look {
		return &keywright.Error{Class: keywright.Invalid, Op: op, Entry: part, Err: errLook}
	}
	return nil
}

// apart says how records come to Redis that are written by scripts of their own.
var apart = map[keyspace.RecordKind]string{
	keyspace.ItemRecord: "take the move out of the migration; while no program writes the file, read its records with " +
		"migrate/record, and make each with Create of the entity's generated store, which writes the indexes, too",
	keyspace.JobRecord: "take the move out of the migration; let the workers empty the file, and put new jobs into the " +
		"queue from now on: each job is in one place",
}

// Part is the part of a record.
func (m *Migration) part(id record.ID) (string, MoveOf, error) {
	mv, ok := m.moves[id.Move]
	if !ok {
		return "", mv, &keywright.Error{Class: keywright.Invalid, Op: "migrate", Err: fmt.Errorf("the move %q: %w",
			id.Move, errUnknown)}
	}
	if store.KindOf[mv.Kind] == "" {
		return "", mv, &keywright.Error{Class: keywright.Invalid, Op: "migrate", Entry: id.Move,
			Err:  fmt.Errorf("records of kind %s cannot be written to both sides", mv.Kind),
			Hint: apart[mv.Kind]}
	}
	return m.partOf[id.Move], mv, nil
}

// Phase returns the phase of a part, as it is on the disk now.
func (m *Migration) Phase(part string) (PartState, error) {
	p, err := m.disk.Phases()
	if _, known := p.Parts[part]; err == nil && !known && !m.known(part) {
		err = m.wrong("phase", part, errUnknown)
	}
	return p.Of(part), err
}

func (m *Migration) known(part string) bool { return part != "" && m.partNamed(part).Name == part }

// partNamed returns the part of that name, the zero value if there is none.
func (m *Migration) partNamed(name string) PartOf {
	for _, p := range m.parts {
		if p.Name == name {
			return p
		}
	}
	return PartOf{}
}

// counters describes what this process has done.
type counters struct{ replayed, deferred, fallbacks atomic.Int64 }

// Stats describes what a process has done since it was opened.
type Stats struct {
	Replayed  int64 // marks whose record was made equal by a replay
	Deferred  int64 // writes whose other side had to wait for a replay
	Fallbacks int64 // reads that the files answered in place of Redis
	Shadow    ShadowStats
}

// Stats says what this process has done.
func (m *Migration) Stats() Stats {
	return Stats{Replayed: m.stats.replayed.Load(), Deferred: m.stats.deferred.Load(),
		Fallbacks: m.stats.fallbacks.Load(), Shadow: m.shadow.Stats()}
}

// flights holds the calls that are under way, by the epoch that they began with: a process
// has confirmed an epoch when it has none of an older one.
type flights struct {
	mu    sync.Mutex
	under map[string]map[uint64]int
}

func (f *flights) begin(part string, epoch uint64) (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.under == nil {
		f.under = map[string]map[uint64]int{}
	}
	if f.under[part] == nil {
		f.under[part] = map[uint64]int{}
	}
	f.under[part][epoch]++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.under[part][epoch]--; f.under[part][epoch] == 0 {
			delete(f.under[part], epoch)
		}
	}
}

// oldest returns the epoch of the oldest call under way, or now if there is none.
func (f *flights) oldest(part string, now uint64) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	for epoch := range f.under[part] {
		now = min(now, epoch)
	}
	return now
}

// confirmed returns the state of a part as this process says that it works by it.
func (m *Migration) confirmed(p disk.Phases) map[string]uint64 {
	out := map[string]uint64{}
	for _, part := range m.parts {
		out[part.Name] = m.flight.oldest(part.Name, p.Of(part.Name).Epoch)
	}
	return out
}

// Move returns the move of that name, nil if there is none.
func (m *Migration) Move(name string) *record.Move { return m.moves[name].Move }

// connects tries until there is a client, or the process ends. It delays nothing else; Close waits for the try under
// way.
func (m *Migration) connects() {
	defer m.work.Done()
	for m.link.Connect(m.life) != nil && disk.Pause(m.life, time.Second) == nil {
	}
}

// Client returns the client of the migration: Config.Client, or what Config.Connect has opened. The error is that
// of the last try, as a *keywright.Error.
func (m *Migration) Client() (*keywright.Client, error) {
	c, err := m.link.Get()
	return c, m.wrong("use Redis", "", err)
}
