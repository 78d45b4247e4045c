package portable

import "github.com/keywright/keywright/keyspace"

// Module returns the name of the generated module.
func Module(ks *keyspace.Keyspace) string {
	if ks.Package == "" {
		return "keyspace"
	}
	return Snake(ks.Package)
}
