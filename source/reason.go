package source

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Code names why something may be incomplete. Codes are stable: programs decide by them,
// and by no sentence.
type Code string

// The codes. A scan that has one of them may have missed keys.
const (
	Interrupted     Code = "interrupted"        // the caller stopped it
	Failed          Code = "failed"             // What is the error that ended it
	Missing         Code = "shard-missing"      // nothing of a shard was read
	PartMissing     Code = "part-missing"       // of an audit in parts
	Ended           Code = "ended-early"        // reading a server or a database of it ended early
	Disconnected    Code = "disconnected"       // likewise: the connection broke
	Endless         Code = "scan-endless"       // SCAN does not come to an end
	Denied          Code = "keys-denied"        // Keys are out of the user's reach
	ValuesDenied    Code = "values-denied"      // the user may not read the values, or the sizes, of Keys
	ValueCut        Code = "value-cut"          // the value of a key was not read whole
	Unsettled       Code = "value-unsettled"    // What changes faster than it can be read
	Blind           Code = "info-denied"        // a restart or flush would go unseen
	Restarted       Code = "server-restarted"   //
	RoleChanged     Code = "role-changed"       // a failover
	HistoryMoved    Code = "replication-id-new" // a failover
	Flushed         Code = "server-flushed"     //
	Reloaded        Code = "data-reloaded"      //
	LinkLost        Code = "replica-link-lost"  //
	Loading         Code = "server-loading"     //
	Unverified      Code = "server-unverified"  // it could not be asked at the end
	SlotsUnknown    Code = "slots-unverified"   // who holds which slots could not be asked at the end
	SlotsMoved      Code = "slots-moved"        // a failover or a reshard
	Damaged         Code = "damaged"            // a file or stream makes no sense from some place on
	CommandsLeft    Code = "commands-follow"    // an AOF: commands after the snapshot are not read; Keys is how many
	BytesLeft       Code = "bytes-follow"       // something after the end of the snapshot is not read
	NotCarried      Code = "not-carried"        // What was read and is in no backup
	LibrariesDenied Code = "libraries-denied"   // libraries of functions, Keys of them, that the user may not read
	MembersExpire   Code = "members-expire"     // KeyDB: Keys members expire by themselves, which no other server knows
	VersionUnknown  Code = "version-unknown"    // a snapshot of a version that may mean something else
)

// texts lists the sentences of the codes. {at} is the place, with a colon, where one is
// known; {server} the server, {keys} how many, {what} the details.
var texts = map[Code]string{
	Interrupted:     "interrupted",
	Failed:          "{at}{what}",
	Missing:         "shard {server} is missing: {what}",
	PartMissing:     "{what}",
	Ended:           "{at}{what}",
	Disconnected:    "{what}",
	Endless:         "{at}SCAN does not come to an end",
	Denied:          "{at}{keys} keys are out of the user's reach (NOPERM)",
	ValuesDenied:    "{at}the user may not read what is in {keys} keys (NOPERM)",
	ValueCut:        "{at}{what}",
	Unsettled:       "{what} changes faster than it can be read",
	Blind:           "{server} does not let us read INFO: a restart or flush would go unseen",
	Restarted:       "{server} was restarted",
	RoleChanged:     "{server} changed its role {what}: a failover",
	HistoryMoved:    "{server} has a new replication id: a failover",
	Flushed:         "{server} was flushed (FLUSHALL, FLUSHDB or SWAPDB)",
	Reloaded:        "{server} loaded its data again",
	LinkLost:        "{server} is a replica that has lost its primary",
	Loading:         "{server} is loading its data",
	Unverified:      "{server} could not be asked at the end: {what}",
	SlotsUnknown:    "the slots could not be compared at the end: {what}",
	SlotsMoved:      "slots moved between the nodes of the cluster: a failover or a reshard",
	Damaged:         "{at}{what}",
	CommandsLeft:    "{at}{what}: they are not read, and what they changed is missing",
	BytesLeft:       "{at}the file goes on after the end of the snapshot",
	NotCarried:      "{at}{what}: not carried",
	LibrariesDenied: "{at}libraries of functions: {keys} are not read ({what}); the user needs +function|list",
	MembersExpire: "{at}members of sets or hashes that expire by themselves (KeyDB): {keys}; " +
		"when is not read, and no other server can do that",
	VersionUnknown: "{at}{what}: what is new in it may have been read as something else",
}

// Codes returns all codes, sorted.
func Codes() []Code {
	var out []Code
	for c := range texts {
		out = append(out, c)
	}
	slices.Sort(out)
	return out
}

// Reason describes why something may be incomplete. It is comparable. Its JSON has the sentence
// too, as text.
type Reason struct {
	Code     Code
	Server   string // address; "": all of them, or none
	Database int    // NoDatabase: all of them
	Keys     int64  // how many, where that is known
	What     string // details: an error, the name of a key
	More     int64  // it is not a reason itself, but so many of its code that are not listed
}

// NoDatabase is the database of a reason that is not about one.
const NoDatabase = -1

// Why returns a reason. what is an error or a text, nil for none.
func Why(code Code, server string, what any) Reason {
	r := Reason{Code: code, Server: server, Database: NoDatabase}
	if what != nil {
		r.What = fmt.Sprint(what)
	}
	return r
}

// In returns the reason about one database.
func (r Reason) In(db int) Reason {
	r.Database = db
	return r
}

// On returns the reason about a server, unless it names one.
func (r Reason) On(server string) Reason {
	if r.Server == "" {
		r.Server = server
	}
	return r
}

// String returns the reason as a sentence.
func (r Reason) String() string {
	if r.More > 0 {
		return fmt.Sprintf("and %d more of this kind (%s)", r.More, r.Code)
	}
	text, known := texts[r.Code]
	if !known {
		text = string(r.Code) + " {at}{what}"
	}
	return strings.NewReplacer("{at}", r.place(), "{server}", r.Server, "{keys}", strconv.FormatInt(r.Keys, 10), "{what}",
		cmp.Or(r.What, string(r.Code))).Replace(text)
}

func (r Reason) place() string {
	var parts []string
	if r.Server != "" {
		parts = append(parts, r.Server)
	}
	if r.Database != NoDatabase {
		parts = append(parts, "database "+strconv.Itoa(r.Database))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + ": "
}

type jsonReason struct {
	Code     Code   `json:"code"`
	Server   string `json:"server,omitempty"`
	Database *int   `json:"database,omitempty"`
	Keys     int64  `json:"keys,omitempty"`
	What     string `json:"what,omitempty"` // details: an error, the name of a key
	More     int64  `json:"more,omitempty"` // no reason itself, but so many of its code that are not listed
	Text     string `json:"text"`           // the reason as a sentence
}

// JSONShape returns the struct whose fields the JSON form has, for a schema.
func (Reason) JSONShape() any { return jsonReason{} }

// MarshalJSON implements json.Marshaler.
func (r Reason) MarshalJSON() ([]byte, error) {
	j := jsonReason{r.Code, r.Server, nil, r.Keys, r.What, r.More, r.String()}
	if r.Database != NoDatabase {
		j.Database = &r.Database
	}
	return json.Marshal(j)
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Reason) UnmarshalJSON(p []byte) error {
	var j jsonReason
	if err := json.Unmarshal(p, &j); err != nil {
		return err
	}
	*r = Reason{j.Code, j.Server, NoDatabase, j.Keys, j.What, j.More}
	if j.Database != nil {
		r.Database = *j.Database
	}
	return nil
}

// Reasons describes why something may be incomplete; none: it is complete.
type Reasons []Reason

// mostOf says how many reasons of one code are listed; the others are counted.
const mostOf = 100

// Add adds reasons, each once.
func (r Reasons) Add(more ...Reason) Reasons {
	for _, m := range more {
		if !slices.Contains(r, m) {
			r = r.add(m)
		}
	}
	return r
}

func (r Reasons) add(m Reason) Reasons {
	listed := 0
	for i := range r {
		if r[i].Code == m.Code {
			listed++
		}
		if r[i].Code == m.Code && r[i].More > 0 {
			r = slices.Clone(r) // the caller's list is not changed
			r[i].More += max(m.More, 1)
			return r
		}
	}
	if listed < mostOf {
		return append(r, m)
	}
	return append(r, Reason{Code: m.Code, Database: NoDatabase, More: max(m.More, 1)})
}

// Has reports whether one of the codes is among the reasons.
func (r Reasons) Has(codes ...Code) bool {
	return slices.ContainsFunc(r, func(one Reason) bool { return slices.Contains(codes, one.Code) })
}

// String returns the reasons as one line.
func (r Reasons) String() string {
	out := make([]string, len(r))
	for i, one := range r {
		out[i] = one.String()
	}
	return strings.Join(out, "; ")
}
