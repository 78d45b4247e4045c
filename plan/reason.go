package plan

// Code is why keys are left alone, or why a plan is not complete. Codes are stable.
type Code string

// The codes.
const (
	LiveLease    Code = "live-lease"      // it only makes sense in its moment
	QueueWorks   Code = "queue-works"     // a worker or a job in work has its queue
	PartOfQueue  Code = "part-of-queue"   // a queue goes as a whole
	FencingToken Code = "fencing-token"   // tokens must not begin again
	WithItems    Code = "with-items"      // it goes with the items of its entity
	Foreign      Code = "foreign"         // other software's
	OwnKey       Code = "own-key"         // this program works with it
	OldName      Code = "old-name"        // it has a name that `was` declares
	HasTTL       Code = "has-ttl"         // it expires already
	NoTTL        Code = "no-declared-ttl" // its entry declares none
	EntityTTL    Code = "entity-ttl"      // the check of entities gives items their TTL
	OtherType    Code = "other-type"      // it is not of the declared type
	Permanent    Code = "permanent"       // it must never go
	NotDue       Code = "not-due"         // no rule takes it yet
	NoTime       Code = "no-time"         // its name has no time, or more than one
	TooMany      Code = "too-many-groups" // the newest of so many groups cannot be told
	NotIdle      Code = "no-idle-time"    // the server does not keep idle times
	OtherSlot    Code = "other-slot"      // what must be checked or go in the same step is in another slot
	Changed      Code = "changed"         // it changed since it was looked at
	Refused      Code = "refused"         // the server does not permit the change
	AsItIs       Code = "same"            // of a restore: it is there with the same value and expiry
	There        Code = "there"           // of a restore: it is there, and stays
	Expired      Code = "expired"         // of a restore: it has expired since it was saved
	OutOfMoment  Code = "out-of-moment"   // of a restore: it only made sense in its moment
)

// Reason is why a plan is not complete, or does not hold any more.
type Reason struct {
	Code Code   `json:"code"`
	What string `json:"what"`
	Fix  string `json:"fix,omitempty"`
}

// sentences say what a code means, and what to do.
var sentences = map[Code][2]string{
	LiveLease: {"it only makes sense in its moment: a lock, a waiter, a worker, a load or a sweep",
		"`keywright locks --break` ends a lock; the others end by themselves"},
	QueueWorks: {"its queue has workers or jobs in work", "stop the workers and wait until no job is in work"},
	PartOfQueue: {"it is a part of a queue, and a queue goes as a whole",
		"select the entry without --match; `keywright queues` discards single jobs"},
	FencingToken: {"it is the counter of fencing tokens, which must not begin again", "it ends by itself"},
	WithItems:    {"it goes with the items of its entity", "`keywright entities check --apply` puts indexes right"},
	Foreign:      {"it belongs to other software (foreign)", "take the glob out of foreign if that is not so"},
	OwnKey:       {"keywright works with it just now", "it ends by itself"},
	OldName:      {"it has an old name of an entry (was)", "`keywright audit` counts them; their programs write them under the old name still, or did"},
	HasTTL:       {"it has a TTL already", ""},
	NoTTL:        {"no TTL is declared for it", "declare one, or delete the key"},
	EntityTTL:    {"it belongs to an entity", "`keywright entities check --apply` gives it its TTL, and its indexes with it"},
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
	Changed:     {"it changed since it was looked at", "run it again"},
	AsItIs:      {"it is there with the same value and expiry", ""},
	There:       {"it is there, and stays", "--existing says what becomes of it"},
	Expired:     {"it has expired since it was saved", ""},
	OutOfMoment: {"it only made sense in its moment", "--momentary restores it"},
	Refused:     {"the server does not permit the change", ""},
}

// What is the sentence of a code.
func (c Code) What() string { return sentences[c][0] }

// Fix is what to do about a code; "" if there is nothing to do.
func (c Code) Fix() string { return sentences[c][1] }
