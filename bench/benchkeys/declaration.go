package benchkeys

import _ "embed"

// Declaration says what the rest of this package was generated from.
//
//go:embed keyspace.yaml
var Declaration []byte
