package migrate

import "github.com/keywright/keywright/migrate/phase"

// With gives a configuration documents that no declaration has made, and hooks.
func With(c Config, d Documents, at func(point string) error) Config {
	c.documents, c.at = d, at
	return c
}

// Tracing gives a configuration a function that is called where a write has just been done,
// under the lock of the part's files.
func Tracing(c Config, wrote func(side phase.Side, part string, epoch uint64, drain bool)) Config {
	c.wrote = wrote
	return c
}
