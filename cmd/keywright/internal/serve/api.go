package serve

import (
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/source/server/examine"
)

// Stamp represents a time as answers have it: RFC 3339 in UTC with milliseconds.
type Stamp string

func stampOf(t time.Time) Stamp {
	if t.IsZero() {
		return ""
	}
	return Stamp(t.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// Measured says when what an answer has was read, and what it is worth.
type Measured struct {
	Read
	Running *RunningNow `json:"running,omitempty"` // the audit that is under way
}

// Read says when something was read, and what it is worth.
type Read struct {
	At      Stamp   `json:"at,omitempty"`      // when it was read; absent: it never was
	Every   float64 `json:"every_seconds"`     // from one reading to the next; 0: it is read once
	Stale   bool    `json:"stale"`             // it is older than twice that, or the server is away
	Partial string  `json:"partial,omitempty"` // why it is not all; absent: it is
	Failed  *Failed `json:"failed,omitempty"`  // of the latest attempt, where it failed
}

// Failed represents an attempt that failed.
type Failed struct {
	At   Stamp  `json:"at"`
	What string `json:"what"`
}

// RunningNow represents an audit that is under way.
type RunningNow struct {
	Since  Stamp `json:"since"`
	Keys   int64 `json:"keys"`     // read so far
	Total  int64 `json:"expected"` // 0: not known
	Paused bool  `json:"paused"`
}

// Page represents a part of a list.
type Page struct {
	Total int64  `json:"total"`            // of all items, also of those that are not in the answer
	Cut   bool   `json:"cut"`              // there are more items
	Next  string `json:"cursor,omitempty"` // the cursor of the following part
}

// Targets represents the fleet.
type Targets struct {
	Items []TargetRow `json:"items"`
	Page
}

// TargetRow represents one target.
type TargetRow struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Declaration string `json:"declaration"` // the file
	Kind        string `json:"kind" enum:"server,snapshot"`
	// starting: nothing has been read yet; broken: it cannot be watched
	State      string            `json:"state" enum:"starting,ok,stale,away,partial,snapshot,broken"`
	Labels     map[string]string `json:"labels,omitempty"` // of the file of targets
	Why        string            `json:"why,omitempty"`    // the state is not ok
	Keys       int64             `json:"keys"`
	Bytes      int64             `json:"bytes"`
	Violations int64             `json:"violations"`
	Errors     int64             `json:"errors"` // of the violations, those of rules that are errors
	Measured
}

// Overview represents a target on one page.
type Overview struct {
	Target   TargetRow `json:"target"`
	Keyspace About     `json:"keyspace"`
	Totals   Totals    `json:"totals"`
	// with the rows of what no entry declares: their keys and bytes are those of the totals
	Entries  []EntryRow      `json:"entries"`
	Changed  []Changed       `json:"changed"` // the largest changes first
	Since    Stamp           `json:"since,omitempty"`
	Keys     int64           `json:"keys_delta"`  // of all, since then
	Bytes    int64           `json:"bytes_delta"` // of all, since then
	Findings []FindingCount  `json:"findings"`
	Summary  finding.Counts  `json:"summary"` // of the findings, by severity
	Report   *ReportScope    `json:"report,omitempty"`
	Kept     string          `json:"history_error,omitempty"` // why history could not be written
	Sources  map[string]bool `json:"has"`                     // which pages have something to show
	Measured
}

// About describes what is declared of the whole keyspace.
type About struct {
	Name  string `json:"name"`
	Doc   string `json:"doc,omitempty"`
	Owner string `json:"owner,omitempty"`
	File  string `json:"file"`
}

// Totals holds the figures of all keys.
type Totals struct {
	Keys            int64 `json:"keys"`
	Bytes           int64 `json:"bytes"`
	NoTTL           int64 `json:"no_ttl"`
	Undeclared      int64 `json:"undeclared"` // keys
	UndeclaredBytes int64 `json:"undeclared_bytes"`
	Foreign         int64 `json:"foreign"` // keys
	ForeignBytes    int64 `json:"foreign_bytes"`
	Violations      int64 `json:"violations"`
}

// EntryRow represents the keys of one declared key, or of what no entry declares.
type EntryRow struct {
	Kind  string `json:"kind" enum:"entry,legacy,foreign,undeclared"`
	Name  string `json:"name"`
	Entry string `json:"entry,omitempty"` // that declares it
	// for a tree: the words that its pattern begins with, but the last, with : between them
	Group      string           `json:"group"`
	Pattern    string           `json:"pattern,omitempty"`
	Type       string           `json:"type,omitempty"`
	Construct  string           `json:"construct,omitempty"`
	Owner      string           `json:"owner,omitempty"`
	Policy     string           `json:"ttl,omitempty"`
	Keys       int64            `json:"keys"`
	Bytes      int64            `json:"bytes"`
	NoTTL      int64            `json:"no_ttl"`
	Violations int64            `json:"violations"`
	Codes      map[string]int64 `json:"codes"`  // violations, by rule
	Errors     int64            `json:"errors"` // of the violations, those of rules that are errors
}

// Changed represents an entry that is not as it was.
type Changed struct {
	Entry    string   `json:"entry"` // the name of its row
	Keys     int64    `json:"keys_delta"`
	Bytes    int64    `json:"bytes_delta"`
	NewCodes []string `json:"new_codes"` // rules that it violates and did not
	Gone     []string `json:"gone_codes"`
}

// FindingCount describes how many findings a rule has.
type FindingCount struct {
	Code     string `json:"code"`
	Severity string `json:"severity" enum:"note,warning,error"`
	Title    string `json:"title"` // of the rule
	Findings int64  `json:"findings"`
	Keys     int64  `json:"keys"`    // live keys that the findings are about
	Entries  int64  `json:"entries"` // with such a finding
}

// ReportScope describes what the figures are of.
type ReportScope struct {
	Server     string   `json:"server"`
	Endpoint   string   `json:"endpoint"`
	Shards     int      `json:"shards"`
	Databases  int      `json:"databases"`
	Seconds    float64  `json:"seconds"`
	Sampled    bool     `json:"sampled"`
	Estimated  bool     `json:"estimated_bytes"`
	Expected   int64    `json:"expected_keys"`
	MaxRepeats int64    `json:"max_repeats"`
	Notes      []string `json:"notes"`
	Verdict    string   `json:"verdict"`
}

// EntryPage represents one entry. Its counts, distributions and largest keys are those of all
// its keys together; parts has them apart.
type EntryPage struct {
	answer.Entry
	Construct   string            `json:"construct,omitempty"`
	Declaration string            `json:"declaration"` // YAML, as it is written in the file
	Writers     []string          `json:"writers"`
	Counts      EntryCounts       `json:"counts"`
	TTL         *audit.Spread     `json:"ttl,omitempty"` // of the main key
	TTLs        []Bucket          `json:"ttl_buckets"`   // of keys that expire, by what is left in seconds
	Sizes       []Bucket          `json:"size_buckets"`  // by bytes
	Largest     []audit.LargeKey  `json:"largest"`
	Findings    []finding.Finding `json:"findings"`
	Offending   []Offending       `json:"offending"`
	Parts       []KeyPage         `json:"parts"` // its keys, the main one first
	Measured
}

// EntryCounts holds the figures of some keys.
type EntryCounts struct {
	Keys  int64   `json:"keys"`
	Bytes int64   `json:"bytes"`
	Share float64 `json:"share"` // of all bytes; of all keys where bytes are unknown
	NoTTL int64   `json:"no_ttl"`
}

// KeyPage represents one key of an entry, and what there is of it.
type KeyPage struct {
	Row       EntryRow         `json:"row"`
	TTL       *audit.Spread    `json:"ttl,omitempty"`
	TTLs      []Bucket         `json:"ttl_buckets"`
	Sizes     []Bucket         `json:"size_buckets"`
	Unsized   int64            `json:"unsized"` // keys of unknown size
	Largest   []audit.LargeKey `json:"largest"`
	Offending []Offending      `json:"offending"`
}

// Bucket represents a range of a distribution.
type Bucket struct {
	From int64  `json:"from"`         // above that
	To   *int64 `json:"to,omitempty"` // up to that; absent: without an end
	Keys int64  `json:"keys"`
}

// Offending holds keys that break a rule.
type Offending struct {
	Code  string           `json:"code"`
	Name  string           `json:"name"` // of the rule
	Total int64            `json:"total"`
	Keys  []audit.Offender `json:"keys"` // the first of them
	Cut   bool             `json:"cut"`
}

// Series is figures over time.
type Series struct {
	Step   string  `json:"step" enum:"raw,hour,day"`
	From   Stamp   `json:"from"`
	To     Stamp   `json:"to"`
	Series []Track `json:"series"`
}

// Track represents one figure over time.
type Track struct {
	Name   string      `json:"name"`   // keys, bytes, violations, or a rule
	Points [][]float64 `json:"points"` // [Unix time in seconds, value]
}

// Explained describes what there is to say of a key.
type Explained struct {
	answer.Located
	Failed *Failed `json:"failed,omitempty"` // why the server could not be asked
}

// Undeclared holds the keys that no entry declares.
type Undeclared struct {
	Items  []UndeclaredGroup `json:"items"`
	Others Others            `json:"others"` // in no group of the list
	Keys   int64             `json:"keys"`   // of all, groups and others
	Bytes  int64             `json:"bytes"`
	Page
	Measured
}

// UndeclaredGroup is keys with a pattern in common.
type UndeclaredGroup struct {
	Pattern  string            `json:"pattern"`
	Types    map[string]int64  `json:"types"`              // keys, by Redis type
	Software string            `json:"software,omitempty"` // whose keys these are, by the looks of them
	Proposal string            `json:"proposal"`           // YAML that would declare them
	Examples []finding.JSONKey `json:"examples"`
	Near     *audit.Near       `json:"near,omitempty"` // what may have been meant
	Keys     int64             `json:"keys"`
	Bytes    int64             `json:"bytes"`
	NoTTL    int64             `json:"no_ttl"`
}

// Others holds keys in no group.
type Others struct {
	Keys  int64    `json:"keys"`
	Bytes int64    `json:"bytes"`
	Why   []string `json:"why"`
}

// Findings describes what an audit has found.
type Findings struct {
	Items []finding.Finding `json:"items"`
	Page
	Measured
}

// QueueList describes what the queues hold.
type QueueList struct {
	Items  []QueueRow      `json:"items"`
	Unread []answer.Unread `json:"unread"`
	Page
	Measured
}

// QueueRow represents one queue.
type QueueRow struct {
	Instance string  `json:"instance"` // in URLs: its placeholders, - where it has none
	Waiting  int64   `json:"waiting"`
	Oldest   float64 `json:"oldest_seconds"`
	answer.Queue
}

// LockList holds the locks that are held or waited for.
type LockList struct {
	Items  []answer.Lock   `json:"items"`
	Unread []answer.Unread `json:"unread"`
	// held locks of which the time left was not read: there are too many
	Untimed int64 `json:"untimed,omitempty"`
	Page
	Measured
}

// EntityList holds the entities.
type EntityList struct {
	Items  []answer.Entity `json:"items"`
	Unread []answer.Unread `json:"unread"`
	Page
	Measured
}

// StreamList holds the streams.
type StreamList struct {
	Items  []answer.Stream `json:"items"`
	Unread []answer.Unread `json:"unread"`
	Page
	Measured
}

// RankingList holds the rankings.
type RankingList struct {
	Items  []answer.Ranking `json:"items"`
	Unread []answer.Unread  `json:"unread"`
	Page
	Measured
}

// CacheList holds the caches.
type CacheList struct {
	Items []CacheRow `json:"items"`
	Page
	Measured
}

// CacheRow represents one cache.
type CacheRow struct {
	Entry     string        `json:"entry"`
	Pattern   string        `json:"pattern"`
	Keys      int64         `json:"keys"`
	Bytes     int64         `json:"bytes"`
	NoTTL     int64         `json:"no_ttl"`
	TTL       *audit.Spread `json:"ttl,omitempty"`
	DeletedBy []string      `json:"deleted_by"` // events
}

// Advice represents a finding of the doctor.
type Advice struct {
	Code  string `json:"code"`  // of the rule
	Level string `json:"level"` // "danger", "warning" or "note"
	What  string `json:"what"`
	Why   string `json:"why"`
	Fix   string `json:"fix"`
}

// ServerPage describes what the server is and what is dangerous about it.
type ServerPage struct {
	Facts    []examine.Fact  `json:"facts"`
	Advice   []Advice        `json:"advice"`
	NotKnown []examine.Fact  `json:"not_known"` // what could not be looked at, and why
	Shards   []observe.Shard `json:"shards"`
	Report   *ReportScope    `json:"report,omitempty"`
	Measured
}

// Me represents the user of a request.
type Me struct {
	User       string `json:"user"`
	Role       string `json:"role" enum:"viewer,operator"`
	AllowApply bool   `json:"allow_apply"`
	ShowValues bool   `json:"show_values"` // this user may look at values of keys
	Session    bool   `json:"session"`     // it has signed in on a page, and can sign out
	CSRF       string `json:"csrf"`        // to be sent with what changes something, as the header X-Keywright-CSRF
	Version    string `json:"version"`
}

// Problem represents an error.
type Problem struct {
	Error ProblemText `json:"error"`
}

// ProblemText says what went wrong and what to do.
type ProblemText struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}
