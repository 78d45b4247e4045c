package document

import (
	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/keyspace/finding"
)

// Undeclared holds the keys that no entry declares.
type Undeclared struct {
	Items  []UndeclaredGroup `json:"items"`
	Others Others            `json:"others"` // in no group of the list
	Keys   int64             `json:"keys"`   // of all, groups and others
	Bytes  int64             `json:"bytes"`
	reply.Page
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
	reply.Page
	Measured
}
