package change

import (
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source/compare"
)

// Differing returns a difference as it is printed.
func Differing(names []string, d *compare.Difference) DifferingKey {
	k := DifferingKey{What: string(d.What), Key: finding.JSONKey(d.Key.Name), DB: d.Key.DB,
		Entry: cli.EntryOrNone(names, d.Entry), TypeA: typeOf(&d.A), TypeB: typeOf(&d.B),
		ExpiresA: cli.Expiry(d.A.Expires), ExpiresB: cli.Expiry(d.B.Expires), Reason: d.Why}
	if d.AtB.DB != d.Key.DB {
		k.ToDB = &d.AtB.DB
	}
	return k
}

// typeOf returns the type of a key, "" where it is not there.
func typeOf(f *compare.Fact) string {
	if !f.There {
		return ""
	}
	return f.Kind.String()
}

// AllDiffering returns differences as they are printed.
func AllDiffering(names []string, all []compare.Difference) (out []DifferingKey) {
	for i := range all {
		out = append(out, Differing(names, &all[i]))
	}
	return out
}

// DifferingKey represents a key that differs, a line of verify -o jsonl; its names are stable.
type DifferingKey struct {
	What     string          `json:"what"`
	Key      finding.JSONKey `json:"key"`
	DB       int             `json:"db"`
	ToDB     *int            `json:"to_db,omitempty"` // of B, where it is another one
	Entry    string          `json:"entry,omitempty"`
	TypeA    string          `json:"type_a,omitempty"`
	TypeB    string          `json:"type_b,omitempty"`
	ExpiresA *time.Time      `json:"expires_a,omitempty"`
	ExpiresB *time.Time      `json:"expires_b,omitempty"`
	Reason   string          `json:"reason,omitempty"` // why it could not be compared
}
