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
		Entry: cli.EntryOrNone(names, d.Entry), Reason: d.Why}
	if d.AtB.DB != d.Key.DB {
		k.ToDB = &d.AtB.DB
	}
	for _, f := range []struct {
		fact    *compare.Fact
		kind    *string
		expires **time.Time
	}{{&d.A, &k.TypeA, &k.ExpiresA}, {&d.B, &k.TypeB, &k.ExpiresB}} {
		if f.fact.There {
			*f.kind = f.fact.Kind.String()
		}
		if f.fact.Expires > 0 {
			at := time.UnixMilli(min(f.fact.Expires, cli.LastMoment)).UTC()
			*f.expires = &at
		}
	}
	return k
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
