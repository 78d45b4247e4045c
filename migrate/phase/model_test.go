package phase

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/keywright/keywright/internal/gate"
)

// The model of the whole engine: one record, several processes that write, replay marks
// and change the phase, a network that delays, loses and reorders, a server that is away,
// and a kill at each step. A process is a coroutine; a step ends where it yields.

type world struct {
	r      *rand.Rand
	state  State
	fence  Fence
	part   *process // has the lock of the part's files
	change *process // has the lock of changes
	files  int
	redis  int
	clock  int                  // tickets
	stored int                  // the ticket of the record in Redis
	live   map[int]bool         // processes whose scripts Redis takes
	marks  map[*process]int     // on disk
	dead   map[*process]bool    // known by their lock, which the kernel has freed
	net    []message            // on its way to Redis
	late   []message            // of the dead, in a buffer that drains slowly
	away   bool                 // Redis
	last   int                  // the value of the last commit
	high   uint64               // the highest epoch of a commit
	done   map[int]bool         // acknowledged
	broken func(string, ...any) // a rule was broken
	epochs map[uint64]Phase     // what was open with which epoch
	count  struct{ commits, changes, undone, kills int }
	values int
	ids    int
	weak   string // what the model leaves out, to see that it matters
}

type message struct {
	of  *process
	run func()
}

type process struct {
	w     *world
	id    int
	step  func() bool // one step; false: it has ended
	stop  func()
	yield func(struct{}) bool
}

// killed ends a coroutine from within.
type killed struct{}

func (p *process) pass() {
	if !p.yield(struct{}{}) {
		panic(killed{})
	}
}

func (w *world) start(work func(p *process)) *process {
	w.ids++
	p := &process{w: w, id: w.ids}
	w.live[p.id] = true
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if e := recover(); e != nil && e != any(killed{}) {
				panic(e)
			}
			if w.part == p {
				w.part = nil
			}
			if w.change == p {
				w.change = nil
			}
		}()
		p.yield = yield
		p.pass()
		work(p)
	})
	p.step, p.stop = func() bool { _, ok := next(); return ok }, stop
	return p
}

func (p *process) lock() {
	for p.w.part != nil {
		p.pass()
	}
	p.w.part = p
}

func (p *process) unlock() { p.w.part = nil }

// ask sends a script. It arrives later, or never; its reply is lost at times.
func (p *process) ask(script func() error) error {
	w := p.w
	var err error
	arrived, lost := false, w.away || w.r.IntN(12) == 0
	if w.away && w.r.IntN(2) == 0 {
		p.pass()
		return errLostReply
	}
	w.net = append(w.net, message{p, func() { err, arrived = script(), true }})
	for n := 0; !arrived || lost; n++ {
		if p.pass(); n > 8 && (lost || w.r.IntN(8) == 0) {
			return errLostReply
		}
	}
	return err
}

var errLostReply = fmt.Errorf("no reply")

func (w *world) commit(side Side, epoch uint64, value int) {
	w.count.commits++
	if epoch < w.high {
		w.broken("a write of epoch %d after one of %d", epoch, w.high)
	}
	w.high = max(w.high, epoch)
	if is := Of(w.epochs[epoch]); is.Authority != side {
		w.broken("a write to %s in epoch %d, of %s", side, epoch, is.Name)
	}
	w.last = value
}

// write is what a repository does.
func (p *process) write() {
	w := p.w
	s := w.state
	if s.Intent != nil {
		p.undoDead()
		return
	}
	w.marks[p]++
	own := w.marks[p]
	p.pass()
	w.values++
	value := w.values
	if Of(s.Phase).Authority == Files {
		p.lock()
		if w.state.MayWrite(s.Epoch) != nil && w.weak != "epoch of files" {
			p.unlock()
			return
		}
		p.pass()
		w.files = value
		w.commit(Files, s.Epoch, value)
		p.unlock()
	} else {
		id := p.id
		err := p.ask(func() error {
			if err := w.fence.MayWriteRedis(s.Epoch); err != nil && w.weak != "epoch of Redis" {
				return err
			}
			if !w.live[id] && w.weak != "registration" {
				return ErrEpoch
			}
			w.redis = value
			w.commit(Redis, s.Epoch, value)
			return nil
		})
		if err != nil {
			p.rename()
			return
		}
	}
	w.done[value] = true
	p.pass()
	if p.sync(s.Epoch, false) == nil && w.marks[p] == own {
		w.marks[p] = 0
	}
}

// rename gives a process a new name in Redis, since a script of the old one may come yet.
func (p *process) rename() {
	old := p.id
	p.w.ids++
	id := p.w.ids
	for p.ask(func() error { delete(p.w.live, old); p.w.live[id] = true; return nil }) != nil {
		p.pass()
	}
	p.id = id
}

// sync brings the other side to what the authority has.
func (p *process) sync(epoch uint64, changing bool) error {
	w := p.w
	s := w.state
	check := func() error {
		if changing {
			return nil
		}
		return w.state.MayWrite(epoch)
	}
	if err := check(); err != nil {
		return err
	}
	if Of(s.Phase).Other() != Of(s.Phase).Also {
		return nil
	}
	if Of(s.Phase).Authority == Files {
		return p.push(epoch, true)
	}
	p.lock()
	defer p.unlock()
	if err := check(); err != nil {
		return err
	}
	value := 0
	err := p.ask(func() error { value = w.redis; return w.fence.MayWriteRedis(epoch) })
	if err == nil {
		p.pass()
		w.files = value
	}
	return err
}

// push takes a ticket, reads the file, and writes Redis if no later ticket has.
func (p *process) push(epoch uint64, store bool) error {
	w := p.w
	ticket := 0
	err := p.ask(func() error { w.clock++; ticket = w.clock; return w.fence.MayWriteRedis(epoch) })
	if err != nil {
		return err
	}
	value := w.files
	p.pass()
	return p.ask(func() error {
		if err := w.fence.MayWriteRedis(epoch); err != nil && w.weak != "epoch of Redis" {
			return err
		}
		if ticket > w.stored || w.weak == "tickets" {
			w.redis = value
			if store {
				w.stored = ticket
			}
		}
		return nil
	})
}

// replay takes the marks of the dead.
func (p *process) replay() {
	w := p.w
	for q := range w.dead {
		if w.marks[q] == 0 || w.state.Intent != nil {
			continue
		}
		s := w.state
		if p.ask(func() error { delete(w.live, q.id); return w.fence.MayWriteRedis(s.Epoch) }) == nil &&
			p.sync(s.Epoch, false) == nil {
			w.marks[q] = 0
		}
	}
}

// giveEpoch gives Redis the epoch of a step.
func (p *process) giveEpoch(epoch uint64) error {
	w := p.w
	s := w.state
	return p.ask(func() error {
		if err := s.MayRaise(w.fence, epoch); err != nil {
			return err
		}
		w.fence = Fence{true, epoch}
		return nil
	})
}

// undoDead undoes what a dead process has begun.
func (p *process) undoDead() {
	w := p.w
	if w.change != nil {
		return
	}
	w.change = p
	defer func() { w.change = nil }()
	if w.state.Intent == nil {
		return
	}
	reached := p.giveEpoch(w.state.Intent.Epoch+2) == nil
	if next, err := w.state.Undo(reached); err == nil {
		w.state = next
		w.epochs[next.Epoch] = next.Phase
		w.count.undone++
	}
}

// heal gives Redis the epoch that it missed.
func (p *process) heal() {
	w := p.w
	if w.change != nil || w.state.Lag == 0 || w.state.Intent != nil {
		return
	}
	w.change = p
	defer func() { w.change = nil }()
	if p.giveEpoch(w.state.Epoch) == nil {
		w.state.Lag = 0
	}
}

// advance changes the phase, forward or back.
func (p *process) advance(to Phase) {
	w := p.w
	if w.change != nil || w.state.Lag != 0 {
		return
	}
	w.change = p
	defer func() { w.change = nil }()
	s := w.state
	if s.Phase == Backfill && to == Shadow && p.push(s.Epoch, false) != nil {
		return // the import
	}
	p.lock()
	next, err := w.state.Begin(to)
	if err != nil {
		p.unlock()
		return
	}
	w.state = next
	p.unlock()
	p.pass()
	if p.giveEpoch(next.Intent.Epoch) != nil {
		return
	}
	if Of(to).Authority != Of(s.Phase).Authority && w.weak != "drain" {
		for _, n := range w.marks {
			if n > 0 && p.sync(next.Intent.Epoch, true) != nil {
				return
			}
		}
	}
	if p.giveEpoch(next.Intent.Epoch+1) != nil {
		return
	}
	w.state = w.state.Finish()
	w.epochs[w.state.Epoch] = w.state.Phase
	w.count.changes++
}

// walk lets some processes work in any order, kills some at any step, and then looks.
func walk(seed uint64, processes, steps int, weak string) (w *world, wrong string) {
	w = &world{r: rand.New(rand.NewPCG(seed, 7)), live: map[int]bool{}, marks: map[*process]int{},
		dead: map[*process]bool{}, done: map[int]bool{},
		epochs: map[uint64]Phase{0: Off}, weak: weak}
	w.broken = func(f string, a ...any) { wrong = fmt.Sprintf(f, a...) }
	if begin := []Phase{Off, Shadow, Live, RampDown}[seed/8%4]; begin != Off {
		w.state, w.fence, w.epochs[2] = State{Phase: begin, Epoch: 2}, Fence{true, 2}, begin
	}
	all := make([]*process, processes)
	for i := range all {
		all[i] = w.start(w.worker)
	}
	for range steps {
		switch i := w.r.IntN(len(all)); {
		case w.r.IntN(400) == 0:
			w.count.kills++
			w.kill(all[i])
			all[i] = w.start(w.worker)
		case w.r.IntN(200) == 0:
			w.away = !w.away
		case len(w.late) > 0 && w.r.IntN(100) == 0:
			w.late[0].run()
			w.late = w.late[1:]
		case len(w.net) > 0 && w.r.IntN(3) == 0:
			w.arrive()
		default:
			all[i].step()
		}
		if w.quiet() && w.files != w.redis {
			w.broken("%s: without a mark files have %d, Redis %d", w.state.Phase, w.files, w.redis)
		}
		if wrong != "" {
			break
		}
	}
	for _, p := range all {
		w.kill(p)
	}
	if wrong == "" {
		wrong = w.rest()
	}
	return w, wrong
}

// quiet reports that nothing is under way: no mark, no message, no change. The sides are
// equal then.
func (w *world) quiet() bool {
	for _, n := range w.marks {
		if n > 0 {
			return false
		}
	}
	return len(w.net) == 0 && w.state.Intent == nil && w.state.Phase >= Shadow
}

// arrive delivers one of the first messages: connections overtake each other.
func (w *world) arrive() {
	i := w.r.IntN(min(len(w.net), 6))
	m := w.net[i]
	w.net = slices.Delete(w.net, i, i+1)
	m.run()
}

// kill ends a process. What it has sent may come much later.
func (w *world) kill(p *process) {
	w.dead[p] = true
	p.stop()
	for i := len(w.net) - 1; i >= 0; i-- {
		if w.net[i].of == p && w.r.IntN(2) == 0 {
			w.late, w.net = append(w.late, w.net[i]), slices.Delete(w.net, i, i+1)
		}
	}
}

func (w *world) worker(p *process) {
	for {
		switch w.r.IntN(20) {
		case 0:
			to := w.state.Phase + 1
			if w.r.IntN(3) == 0 {
				to = w.state.Phase - 1
			}
			if to < Complete {
				p.advance(to)
			}
		case 1:
			p.replay()
		case 2:
			p.undoDead()
		case 3:
			p.heal()
		case 4, 5, 6, 7, 8, 9:
			p.write()
		}
		p.pass()
	}
}

// rest returns what the next process finds: it settles, replays, and then both sides are equal.
func (w *world) rest() string {
	w.away = false
	p := w.start(func(p *process) {
		for w.state.Intent != nil {
			p.undoDead()
		}
		for w.state.Lag != 0 {
			p.heal()
		}
		for again := true; again; {
			p.replay()
			again = false
			for q := range w.dead {
				again = again || w.marks[q] > 0
			}
		}
	})
	for n := 0; p.step(); n++ {
		if len(w.net) > 0 && w.r.IntN(2) == 0 {
			w.arrive()
		}
		if n > 100_000 {
			return fmt.Sprintf("it does not end: %+v %+v", w.state, w.fence)
		}
	}
	for w.net = append(w.net, w.late...); len(w.net) > 0; {
		w.arrive() // what the dead have sent
	}
	is := Of(w.state.Phase)
	value := w.files
	if is.Authority == Redis {
		value = w.redis
	}
	switch {
	case value != w.last:
		return fmt.Sprintf("%s: the authority has %d, the last commit was %d", is.Name, value, w.last)
	case w.state.Phase >= Shadow && w.files != w.redis:
		return fmt.Sprintf("%s: files have %d, Redis %d", is.Name, w.files, w.redis)
	}
	return ""
}

// No write by an old epoch, no commit lost, both sides equal after the replay.
func TestWalks(t *testing.T) {
	t.Parallel()
	walks, first := gate.Count(t, "KEYWRIGHT_SOAK", 60, 400), gate.Seed(t)
	var commits, changes, undone, kills int
	for n := range walks {
		seed := first%1_000_000 + uint64(n)
		w, wrong := walk(seed, 2+int(seed%6), 3000, "")
		if wrong != "" {
			t.Fatalf("seed %d: %s", seed, wrong)
		}
		commits, changes, undone, kills = commits+w.count.commits, changes+w.count.changes, undone+w.count.undone,
			kills+w.count.kills
	}
	t.Logf("%d walks: %d commits, %d changes of phase, %d undone, %d kills", walks, commits, changes, undone, kills)
	if changes < walks || undone < walks/10 || kills < walks {
		t.Error("the walks do not go far")
	}
}

// Each part of the protocol is needed: without it some walk goes wrong.
func TestWalksFindWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, weak := range []string{"epoch of files", "epoch of Redis", "tickets", "registration", "drain"} {
		found := false
		for seed := 0; seed < 3000 && !found; seed++ {
			_, wrong := walk(uint64(seed), 2+seed%6, 3000, weak)
			found = wrong != ""
		}
		if !found {
			t.Errorf("without the %s nothing goes wrong", weak)
		}
	}
}
