package plan

import (
	"slices"
)

// Code describes why keys are left alone, or why a plan is not complete. Codes are stable.
type Code string

// The codes.
const (
	LiveLease    Code = "live-lease"       // it only makes sense in its moment
	QueueWorks   Code = "queue-works"      // a worker or a job in work has its queue
	PartOfQueue  Code = "part-of-queue"    // a queue goes as a whole
	QueueTwice   Code = "queue-twice"      // of a rename in a cluster: the queue is in use under both names
	FencingToken Code = "fencing-token"    // tokens must not begin again
	WithItems    Code = "with-items"       // it goes with the items of its entity
	Foreign      Code = "foreign"          // other software's
	OwnKey       Code = "own-key"          // this program works with it
	OldName      Code = "old-name"         // it has a name that `was` declares
	HasTTL       Code = "has-ttl"          // it expires already
	NoTTL        Code = "no-declared-ttl"  // no entry declares it
	Lasting      Code = "declared-lasting" // its entry declares that it has no TTL, or may have none
	EntityTTL    Code = "entity-ttl"       // the check of entities gives items their TTL
	OtherType    Code = "other-type"       // it is not of the declared type
	Permanent    Code = "permanent"        // it must never go
	NotDue       Code = "not-due"          // no rule takes it yet
	NoTime       Code = "no-time"          // its name has no time, or more than one
	TooMany      Code = "too-many-groups"  // the newest of so many groups cannot be found
	NotIdle      Code = "no-idle-time"     // the server does not keep idle times
	OtherSlot    Code = "other-slot"       // what must be checked or go in the same step is in another slot
	Changed      Code = "changed"          // it changed since it was looked at
	NotKept      Code = "not-kept"         // it could not be read whole, to be kept
	Refused      Code = "refused"          // the server does not permit the change
	AsItIs       Code = "same"             // of a restore: it is there with the same value and expiry
	There        Code = "there"            // of a restore: it is there, and stays
	Expired      Code = "expired"          // of a restore: it has expired since it was saved
	OutOfMoment  Code = "out-of-moment"    // of a restore: it only made sense in its moment

	Taken           Code = "taken"            // of a rename: there is a key with the new name
	TwoSources      Code = "two-sources"      // another key would get the same new name
	NotReadable     Code = "not-readable"     // the new name would not be one of the entry
	LostPlaceholder Code = "lost-placeholder" // the new pattern lacks a placeholder of the old one
	NewPlaceholder  Code = "new-placeholder"  // the new pattern has one more
	SealedToName    Code = "sealed-to-name"   // what is encrypted in it is bound to its name
	NoNewName       Code = "no-new-name"      // no entry declares it: its new name is not known
	PartOfConstruct Code = "part-of-construct"
	NotCopied       Code = "not-copied" // there is no key with the new name yet
	Differs         Code = "differs"    // its value or expiry is another one under the new name

	NotHeld     Code = "not-held"        // of a lock
	NotDead     Code = "not-dead"        // of a job
	NotWaiting  Code = "not-waiting"     // of a job
	NotDelayed  Code = "not-delayed"     // of a job
	NameTaken   Code = "name-taken"      // of a job: another one has its unique name
	AsAsked     Code = "as-asked"        // it is in the state that was asked for
	ByHand      Code = "by-hand"         // of an ACL user: only a person can decide it
	OwnLogin    Code = "own-login"       // of an ACL user: keywright is logged in as it
	InStream    Code = "stream-entry"    // of a sealed text: entries of streams cannot be changed
	NoSuchKey   Code = "key-not-in-ring" // of a sealed text
	DoesNotOpen Code = "does-not-open"   // of a sealed text
	NotSealed   Code = "not-sealed"      // of a text
	NotAsTyped  Code = "not-of-type"     // of a text that is not sealed
	Waits       Code = "waits"           // of an item: for a sweep, or for the end of a write
	OtherSweeps Code = "other-sweeps"    // of an item: another process sweeps
	NewerForm   Code = "newer-form"      // of an item: a newer program keeps it
)

// Reason describes why a plan is not complete, or does not hold any more.
type Reason struct {
	Code Code   `json:"code"`
	What string `json:"what"`
	Fix  string `json:"fix,omitempty"`
}

// sentences say what a code means, and what to do.
var sentences = map[Code][2]string{
	LiveLease: {"it only makes sense in its moment: a lock, a waiter, a worker, a load or a sweep",
		"`keywright locks break` ends a lock; the others end by themselves"},
	QueueWorks: {"its queue has workers or jobs in work", "stop the workers and wait until no job is in work"},
	PartOfQueue: {"it is a part of a queue, and a queue goes as a whole",
		"select the entry without --match; `keywright queues discard` removes single jobs"},
	QueueTwice: {"its queue is in use under both names, and in a cluster no step can be in both",
		"let workers empty the queue under one of the names, and stop what fills it, or rename it back"},
	FencingToken: {"it is the counter of fencing tokens, which must not begin again", "it ends by itself"},
	WithItems:    {"it goes with the items of its entity", "`keywright entities repair` puts indexes right"},
	Foreign:      {"it belongs to other software (foreign)", "take the glob out of foreign if that is not so"},
	OwnKey:       {"keywright works with it just now", "it ends by itself"},
	OldName:      {"it has an old name of an entry (was)", "`keywright rename` gives it the new one"},
	HasTTL:       {"it has a TTL already", ""},
	NoTTL:        {"no TTL is declared for it", "declare it with one, or delete the key"},
	Lasting:      {"its entry declares that it never expires (ttl: none), or may never expire (any)", ""},
	EntityTTL:    {"it belongs to an entity", "`keywright entities repair` gives it its TTL, and its indexes with it"},
	OtherType:    {"it is not of the declared type", "`keywright audit` explains it"},
	Permanent: {"its entry declares ttl: none: it must never go",
		"narrow the glob of the clean-up rule, or give the entry a TTL"},
	NotDue: {"no clean-up rule takes it yet", ""},
	NoTime: {"its name has no time by which it is older or newer, or more than one",
		"declare the key with one date, timestamp, unix_s, unix_ms, ulid or int"},
	TooMany: {"there are too many groups of keys to tell the newest of each",
		"run it with --entry or --match for a part of them"},
	NotIdle: {"the server keeps no idle times with an LFU maxmemory-policy", "use older, or another policy"},
	OtherSlot: {"what must be checked or go in the same step is in another cluster slot",
		"give the pattern a hash tag, {#…}"},
	Changed: {"it changed since it was looked at", "run it again"},
	NotKept: {"it could not be kept: it was written to each time it was read, or is too large to be compared: an item " +
		"of over 1000 fields or 512 KiB",
		"run it again when it is at rest, or without --keep"},
	AsItIs:      {"it is there with the same value and expiry", ""},
	There:       {"it is there, and stays", "--existing says what becomes of it"},
	Expired:     {"it has expired since it was saved", ""},
	OutOfMoment: {"it only made sense in its moment", "--momentary restores it"},
	Refused:     {"the server does not permit the change", ""},
	Taken: {"there is a key with the new name, and it is another one",
		"look at both, and delete the one that is wrong"},
	TwoSources: {"two keys would get the same new name", "delete the one that is wrong, or rename it by --map"},
	NotReadable: {"its new name would not be read as one of the entry: a value does not fit its placeholder",
		"widen the type of the placeholder, or rename the key by --map"},
	LostPlaceholder: {"the new pattern lacks a placeholder of the old one: two keys could become one",
		"name the placeholders alike in both patterns, as in --map 'user:{id}=usr:{id}'"},
	NewPlaceholder: {"the new pattern has a placeholder that the old one lacks: its value is not known",
		"name the placeholders alike in both patterns, as in --map 'user:{id}=usr:{id}'"},
	SealedToName: {"what is encrypted in it is bound to its name, and could not be opened under another one",
		"read it and write it again by the program that has the keys"},
	NoNewName: {"no entry declares it: it has no name in another namespace", "declare it, or rename it by --map"},
	PartOfConstruct: {"it is a part of a lock, queue, entity or cache, which are renamed as a whole",
		"give --map the pattern of the entry's main key"},
	NotCopied: {"there is no key with the new name", "run it with --phase copy first"},
	Differs: {"under the new name it has another value or expiry",
		"--superseded removes the old one if programs write the new one by now"},
	NotHeld: {"nothing holds the lock", ""},
	NotDelayed: {"it does not wait for its time: it waits in its lane, runs, is done, or never was",
		"`keywright queues` counts those that do"},
	NotWaiting: {"it does not wait: it runs, is done, or never was", "`keywright queues` counts those that wait"},
	NotDead:    {"it is not among the dead jobs", "`keywright queues ENTRY --dead` lists them"},
	NameTaken:  {"another job has its unique name", "wait until that one is done, or discard this one"},
	AsAsked:    {"it is so already", ""},
	ByHand: {"it is off, or needs no password: that is decided by hand",
		"ACL SETUSER NAME on, or resetpass and >password"},
	OwnLogin:    {"keywright is logged in as this user", "use another login"},
	InStream:    {"entries of streams cannot be changed", "they need their keys until they are trimmed"},
	NoSuchKey:   {"the ring does not have the key that it names", "docs/encryption.md says what to do"},
	DoesNotOpen: {"it does not open with the key that it names", "docs/encryption.md says what to do"},
	NotSealed:   {"it is not sealed", "`keywright seal adopt` seals what is plain"},
	NotAsTyped: {"it is plain, and not of the declared type: no reader could read it when it is sealed",
		"correct it, then run it again"},
	Waits:       {"it has expired, or is being written", "a process must sweep; run it again"},
	OtherSweeps: {"another process sweeps", ""},
	NewerForm:   {"a newer program keeps it in a form that this one does not know", "use a newer keywright"},
}

// What returns the sentence of a code.
func (c Code) What() string { return sentences[c][0] }

// Fix returns what to do about a code; "" if there is nothing to do.
func (c Code) Fix() string { return sentences[c][1] }

// Tally represents the counts of a plan whose verb has no rule: what it would change, by entry,
// and what it leaves alone.
type Tally struct {
	order []string
	parts map[string]*Part
	left  map[Code]*Left
	list  []Change
}

// NewTally makes a tally. Entries are in the order in which they are counted first.
func NewTally() *Tally { return &Tally{parts: map[string]*Part{}, left: map[Code]*Left{}} }

func (t *Tally) part(entry string) *Part {
	p := t.parts[entry]
	if p == nil {
		p = &Part{Entry: entry}
		t.parts[entry] = p
		t.order = append(t.order, entry)
	}
	return p
}

// Change counts keys that would be changed. One of them may be an example.
func (t *Tally) Change(entry string, keys int64, such []byte, db int) {
	p := t.part(entry)
	p.Keys, p.Change = p.Keys+keys, p.Change+keys
	if len(such) > 0 {
		p.Examples = example(p.Examples, such, db, "")
	}
}

// List counts a change, and lists it.
func (t *Tally) List(c Change) {
	t.Change(c.Entry, 1, c.Key, c.DB)
	t.list = append(t.list, c)
}

// Note lists a change of which the keys are counted otherwise.
func (t *Tally) Note(c Change) { t.list = append(t.list, c) }

// Full says that no more changes can be listed.
func (t *Tally) Full() bool { return len(t.list) >= MaxChanges }

// Leave counts keys that are left alone.
func (t *Tally) Leave(entry string, l Left) {
	p := t.part(entry)
	p.Keys, p.Leave = p.Keys+l.Keys, p.Leave+l.Keys
	LeaveAllIn(t.left, l)
}

// Into writes the counts into a plan.
func (t *Tally) Into(p *Plan) {
	p.Total, p.Entries = Counts{}, []Part{}
	for _, name := range t.order {
		part := *t.parts[name]
		p.Entries = append(p.Entries, part)
		p.Total.Keys, p.Total.Change, p.Total.Leave = p.Total.Keys+part.Keys, p.Total.Change+part.Change,
			p.Total.Leave+part.Leave
	}
	p.Left, p.Changes = Ranked(t.left), slices.Clone(t.list)
}
