// Package schema is the JSON Schema (draft 7) of the keyspace language, for
// editors: completion, hover and red underlines while typing. It is written by
// hand, because its descriptions are read by people; tests hold it against the
// loader's tables in both directions.
//
// It is a subset of what the loader checks: patterns, types and TTLs are checked
// in form only. keyspace/load decides.
package schema

import _ "embed"

// JSON is the schema.
//
//go:embed keyspace.schema.json
var JSON []byte
