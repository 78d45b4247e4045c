package benchkeys

import _ "embed"

// Declaration is what the rest of this package was generated from.
//
//go:embed keyspace.yaml
var Declaration []byte
