package alert

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/observe"
)

// form is the version of the file.
const form = 1

// Bounds of a book. What is beyond them is counted, and reported as a number.
const (
	maxOpen   = 5_000
	maxAtOnce = 20   // messages of one look
	maxOutbox = 1000 // messages that wait to be sent
	maxText   = 500
	maxFile   = 64 << 20
	goneFor   = 2 * time.Minute // for how long something that comes and goes must be gone
)

// Message describes what is sent: that something has begun, has grown since it was reported, or ended.
type Message struct {
	Number int64     `json:"number"` // of this message: one that comes twice is the same
	Event  string    `json:"event" enum:"begun,grown,ended,more"`
	At     time.Time `json:"at"`
	Since  time.Time `json:"since"` // when it began
	More   int       `json:"more,omitempty"`
	Condition
}

// Tracker describes what is wrong, and what is still to be reported.
type Tracker struct {
	path    string
	now     func() time.Time
	replace func(path string, text []byte) error

	mu     sync.Mutex
	kept   kept
	digest [sha256.Size]byte        // of what the file has
	posted map[string]chan struct{} // by hook: that there is something to send
}

// kept represents the file.
type kept struct {
	Form  int                         `json:"keywright_alerts"`
	Known map[string]map[string]int64 `json:"known"` // by target: violations of the time before, by code and entry
	Seen  map[string]time.Time        `json:"seen"`  // by target: the audit that Known is of
	Open  map[string]*open            `json:"open"`
	// Beyond is by target and kind: how many conditions that Open has no room for were reported.
	Beyond map[string]int64     `json:"beyond,omitempty"`
	Outbox []Message            `json:"outbox,omitempty"` // what some hook has not got yet
	Next   int64                `json:"next"`
	Hooks  map[string]*position `json:"hooks,omitempty"`
}

// position describes how far a hook is in the messages.
type position struct {
	Sent int64 `json:"sent"`           // the number of the last message that it got, or that was given up
	Left int   `json:"left,omitempty"` // messages that it did not get: there was no room for them
}

// open represents a condition that holds.
type open struct {
	Condition
	Since  time.Time `json:"since"`
	Gone   time.Time `json:"gone,omitzero"`    // since when it is not there
	Told   int64     `json:"told,omitempty"`   // how many, in the latest message
	Silent bool      `json:"silent,omitempty"` // it was not reported
	Lumped bool      `json:"lumped,omitempty"` // it was reported as one of many, and is not reported alone
}

// New begins a book without a file, which tells no one.
func New(now func() time.Time) *Tracker {
	return &Tracker{now: now, kept: blank()}
}

func blank() kept {
	return kept{Form: form, Known: map[string]map[string]int64{}, Seen: map[string]time.Time{},
		Open: map[string]*open{}, Beyond: map[string]int64{}, Hooks: map[string]*position{}}
}

// Alert represents a condition that holds.
type Alert struct {
	Condition
	Since  time.Time
	Silent bool // webhooks are not notified of it
}

// Now returns what is wrong with a target now, the worst first; left is how many more there are.
func (b *Tracker) Now(target string) (out []Alert, left int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.kept.Open {
		if o.Target == target && o.Gone.IsZero() {
			out = append(out, Alert{o.Condition, o.Since, o.Silent})
		}
	}
	for _, k := range kinds {
		left += b.kept.Beyond[target+"/"+string(k.kind)]
	}
	slices.SortFunc(out, func(a, b Alert) int {
		return cmp.Or(Harm(a.Kind)-Harm(b.Kind), a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	return out, left
}

// Open opens the book of a file, or begins one. replace replaces a file in one step.
func Open(path string, now func() time.Time, replace func(path string, text []byte) error) (*Tracker, error) {
	b := &Tracker{path: path, now: now, replace: replace, posted: map[string]chan struct{}{}}
	b.kept = blank()
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b, nil
	case err != nil:
		return nil, err
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is no file of alerts: it is too large", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var read kept
	if err := json.Unmarshal(text, &read); err != nil || read.Form != form || read.Known == nil || read.Seen == nil ||
		read.Open == nil {
		return nil, fmt.Errorf("%s is no file of alerts, or of another version", path)
	}
	if read.Beyond == nil {
		read.Beyond = map[string]int64{}
	}
	if read.Hooks == nil {
		read.Hooks = map[string]*position{}
	}
	b.kept, b.digest = read, sha256.Sum256(text)
	return b, nil
}

// keep writes the file, if it has not what is known now: what could not be written is written
// with the next look.
func (b *Tracker) keep() error {
	if b.path == "" {
		return nil
	}
	text, err := json.Marshal(b.kept)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(text)
	if digest == b.digest {
		return nil
	}
	if err := b.replace(b.path, text); err != nil {
		return err
	}
	b.digest = digest
	return nil
}

// Look compares a target with what is known of it, and keeps what is to be reported. The first
// whole audit of a target is what later ones are compared with.
func (b *Tracker) Look(t *observe.Target, silent func(id string) bool) error {
	st, now := t.State(), b.now()
	found, says := live(t, &st, now)
	b.mu.Lock()
	defer b.mu.Unlock()
	if v := violations(&st); v != nil && !b.kept.Seen[t.ID].Equal(st.Audit.At) {
		says[NewViolation], says[GrownViolation] = nil, nil
		found = append(found, b.audit(t.ID, v, st.Audit.At)...)
	}
	b.update(t.ID, now, found, says, silent)
	return b.keep()
}

// Broken notes that a target cannot be watched. Nothing else of it is judged; that it is mended is seen by Look.
func (b *Tracker) Broken(target, why string, silent func(id string) bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.update(target, b.now(), []Condition{broken(target, why)}, judged{}, silent)
	return b.keep()
}

// Leave forgets a target that is not watched any more: what was wrong with it is reported no more.
func (b *Tracker) Leave(target string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.kept.Known, target)
	delete(b.kept.Seen, target)
	maps.DeleteFunc(b.kept.Open, func(_ string, o *open) bool { return o.Target == target })
	maps.DeleteFunc(b.kept.Beyond, func(name string, _ int64) bool {
		end := strings.LastIndexByte(name, '/') // a kind has none
		return end >= 0 && name[:end] == target
	})
	return b.keep()
}

// audit compares violations with those that are known, and knows them from now on as far as
// they are fewer.
func (b *Tracker) audit(target string, now audited, at time.Time) []Condition {
	_, compared := b.kept.Seen[target]
	b.kept.Seen[target] = at
	if !compared {
		b.kept.Known[target] = map[string]int64{}
		for name, c := range now {
			b.kept.Known[target][name] = c.keys
		}
		return nil
	}
	known := b.kept.Known[target]
	out := violated(target, now, known)
	for name := range known {
		if c, there := now[name]; !there {
			delete(known, name)
		} else {
			known[name] = min(known[name], c.keys)
		}
	}
	return out
}

// update opens, keeps and ends what is wrong.
func (b *Tracker) update(target string, now time.Time, found []Condition, says judged, silent func(string) bool) {
	slices.SortFunc(found, func(a, b Condition) int { return cmp.Compare(a.ID, b.ID) })
	there, beyond, told, left := map[string]bool{}, map[Kind]int64{}, 0, int64(0)
	for _, c := range found {
		c.Text = truncate(c.Text)
		there[c.ID] = true
		o := b.kept.Open[c.ID]
		if o == nil {
			if len(b.kept.Open) >= maxOpen {
				if !silent(c.ID) {
					beyond[c.Kind]++
				}
				continue
			}
			o = &open{Since: now, Silent: true}
			if !c.from.IsZero() && c.from.Before(now) {
				o.Since = c.from
			}
			b.kept.Open[c.ID] = o
		}
		o.Condition, o.Gone = c, time.Time{}
		more := !o.Silent && kindOf(c.Kind).grows && grown(o.Told, c.Count)
		if o.Lumped || !o.Silent && !more || silent(c.ID) {
			continue
		}
		o.Silent, o.Told = false, c.Count
		if told++; told > maxAtOnce {
			o.Lumped = true
			left++
			continue
		}
		b.post(Message{Event: map[bool]string{true: "grown", false: "begun"}[more], At: now, Since: o.Since, Condition: c})
	}
	for _, id := range slices.Sorted(maps.Keys(b.kept.Open)) {
		if o := b.kept.Open[id]; o.Target == target && !there[id] && says.says(&o.Condition) {
			b.end(id, o, now, silent)
		}
	}
	for kind := range says {
		left += b.beyond(target+"/"+string(kind), beyond[kind])
	}
	if left > 0 {
		b.post(Message{Event: "more", At: now, Since: now, More: int(left), Condition: Condition{ID: target + "/more",
			Target: target, Text: fmt.Sprintf("and %d more alerts have begun", left)}})
	}
}

// beyond gives how many of the conditions that there is no room for are to be reported: those that
// were not reported yet, when there are clearly more.
func (b *Tracker) beyond(name string, now int64) int64 {
	told := b.kept.Beyond[name]
	switch {
	case now == 0 && len(b.kept.Open) <= maxOpen/2: // the flood is over: the next one is reported
		delete(b.kept.Beyond, name)
	case told == 0 && now > 0 || grown(told, now):
		b.kept.Beyond[name] = now
		return now - told
	}
	return 0
}

// end ends what is gone. What comes and goes quickly must be gone for a while.
func (b *Tracker) end(id string, o *open, now time.Time, silent func(string) bool) {
	if o.Gone.IsZero() {
		o.Gone = now
	}
	if !kindOf(o.Kind).steady && now.Sub(o.Gone) < goneFor {
		return
	}
	delete(b.kept.Open, id)
	if !o.Silent && !o.Lumped && !silent(id) {
		b.post(Message{Event: "ended", At: now, Since: o.Since, Condition: o.Condition})
	}
}

// truncate bounds a text.
func truncate(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// post keeps a message until each hook has got it. Of too many the oldest goes.
func (b *Tracker) post(m Message) {
	if b.path == "" {
		return
	}
	if len(b.kept.Outbox) >= maxOutbox {
		for _, p := range b.kept.Hooks {
			if first := b.kept.Outbox[0].Number; p.Sent < first {
				p.Sent, p.Left = first, p.Left+1
			}
		}
		b.kept.Outbox = b.kept.Outbox[1:]
	}
	b.kept.Next++
	m.Number = b.kept.Next
	b.kept.Outbox = append(b.kept.Outbox, m)
	for _, posted := range b.posted {
		select {
		case posted <- struct{}{}:
		default:
		}
	}
}

// connect says which hooks there are. One that is new gets what is reported from now on; those of
// before that are not among them are forgotten.
func (b *Tracker) connect(hooks []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	from, all := b.kept.Next, map[string]*position{}
	if len(b.kept.Hooks) == 0 && len(b.kept.Outbox) > 0 { // a file without positions: what waits is for all
		from = b.kept.Outbox[0].Number - 1
	}
	for _, id := range hooks {
		all[id] = b.kept.Hooks[id]
		if all[id] == nil {
			all[id] = &position{Sent: from}
		}
		if b.posted[id] == nil {
			b.posted[id] = make(chan struct{}, 1)
		}
	}
	b.kept.Hooks = all
	b.trim()
}

// first returns the message that a hook gets next.
func (b *Tracker) first(hook string) (m Message, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.kept.Hooks[hook]
	if n := p.Left; n > 0 {
		return Message{Number: p.Sent, Event: "more", At: b.now(), Since: b.now(), More: n, Condition: Condition{
			ID: "more", Text: fmt.Sprintf("%d messages were left out: they were too many at once", n)}}, true
	}
	i := slices.IndexFunc(b.kept.Outbox, func(m Message) bool { return m.Number > p.Sent })
	if i < 0 {
		return m, false
	}
	return b.kept.Outbox[i], true
}

// sent notes that a hook has got a message, or that it was given up.
func (b *Tracker) sent(hook string, m *Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.kept.Hooks[hook]
	if p.Sent = max(p.Sent, m.Number); m.ID == "more" {
		p.Left = max(p.Left-m.More, 0)
	}
	b.trim()
	return b.keep()
}

// trim takes out the messages that each hook has got.
func (b *Tracker) trim() {
	b.kept.Outbox = slices.DeleteFunc(b.kept.Outbox, func(m Message) bool {
		for _, p := range b.kept.Hooks {
			if p.Sent < m.Number {
				return false
			}
		}
		return len(b.kept.Hooks) > 0
	})
}
