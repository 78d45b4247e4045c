// Package phase is the table of the phases that a part of a migration goes through,
// from JSON files to Redis, and the rules of the fence between them. It is pure:
// values in, values out. Package migrate keeps the values on a disk and on a server.
//
// API: may change until 1.0.
package phase

import "fmt"

// Side describes where a record is.
type Side uint8

// The sides.
const (
	None Side = iota
	Files
	Redis
)

var sideNames = [...]string{"none", "files", "redis"}

// String implements fmt.Stringer.
func (s Side) String() string { return sideNames[s] }

// Phase describes how far a part has moved.
type Phase uint8

// The phases, in their order.
const (
	Off Phase = iota
	DualWrite
	Backfill
	Shadow
	Live
	RampDown
	Complete
)

// Rule describes what holds in a phase.
type Rule struct {
	Phase     Phase
	Name      string
	Authority Side // decides what a record is
	Also      Side // is written, too
	Lags      bool // Also is written from the marks alone, some time after the authority
	Reads     Side // is read for callers
	Compares  Side // is read beside it and compared, without the caller
	Fallback  Side // is read where Reads does not answer, for records without a mark
	Forward   []Gate
	Back      []Gate
}

// table has the phases by their numbers.
var table = [...]Rule{
	{Phase: Off, Name: "off", Authority: Files, Reads: Files, Forward: []Gate{RoundTrip, Covered}},
	{Phase: DualWrite, Name: "dual-write", Authority: Files, Also: Redis, Reads: Files, Forward: []Gate{Marks}},
	{Phase: Backfill, Name: "backfill", Authority: Files, Also: Redis, Reads: Files, Forward: []Gate{Marks,
		Imported, Verified}},
	{Phase: Shadow, Name: "shadow", Authority: Files, Also: Redis, Reads: Files, Compares: Redis,
		Forward: []Gate{Marks, Verified, Compared, Unequal, For, Backup, Fit, Covered}},
	{Phase: Live, Name: "live", Authority: Redis, Also: Files, Reads: Redis, Compares: Files, Fallback: Files,
		Forward: []Gate{Marks, Compared, Unequal, For, Backup}, Back: []Gate{Marks}},
	{Phase: RampDown, Name: "ramp-down", Authority: Redis, Also: Files, Lags: true, Reads: Redis,
		Forward: []Gate{For, Backup, Verified}},
	{Phase: Complete, Name: "complete", Authority: Redis, Reads: Redis},
}

// Of gives the rule of a phase. It is that of Off for a number that is no phase.
func Of(p Phase) Rule {
	if int(p) >= len(table) {
		return table[Off]
	}
	return table[p]
}

// All gives the rules of all phases, in their order.
func All() []Rule { return append([]Rule(nil), table[:]...) }

// Parse finds a phase by its name.
func Parse(name string) (Phase, error) {
	for _, r := range table {
		if r.Name == name {
			return r.Phase, nil
		}
	}
	return Off, fmt.Errorf("%q is no phase of a migration", name)
}

// String implements fmt.Stringer.
func (p Phase) String() string { return Of(p).Name }

// MarshalText writes the name.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a name.
func (p *Phase) UnmarshalText(text []byte) (err error) {
	*p, err = Parse(string(text))
	return err
}

// Next returns the phase after p; ok is false for the last.
func (p Phase) Next() (next Phase, ok bool) { return p + 1, p < Complete }

// Previous returns the phase before p; ok is false for the first.
func (p Phase) Previous() (previous Phase, ok bool) { return p - 1, p > Off && p <= Complete }

// Both reports whether writes go to both sides.
func (r Rule) Both() bool { return r.Also != None }

// Other returns the side that is not the authority.
func (r Rule) Other() Side {
	if r.Authority == Files {
		return Redis
	}
	return Files
}
