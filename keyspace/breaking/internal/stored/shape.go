package stored

import (
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking/internal/pairs"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Shapes returns the fields of the JSON object that a value is, before and after: none where
// it is any JSON, or none.
func Shapes(old, new *keyspace.Key) (before, after []keyspace.Field) {
	if old.Role == "" && len(old.Entry.Shape)+len(new.Entry.Shape) > 0 {
		return old.Entry.Shape, new.Entry.Shape
	}
	return old.JSON, new.JSON
}

// IsJSON reports whether a value is JSON of some kind: of a queue, its payload.
func IsJSON(k *keyspace.Key) bool {
	if k.Entry.Construct == keyspace.Queue && k.Role == "" {
		if len(k.Entry.Shape) > 0 {
			return true
		}
		job := pairs.Key(k.Entry, "job")
		return job != nil && job.Value != nil && job.Value.Kind == scalar.JSON
	}
	return k.Value != nil && k.Value.Kind == scalar.JSON
}

// ShapeWord says what a JSON value is, for a message.
func ShapeWord(fields []keyspace.Field) string {
	if len(fields) == 0 {
		return "any JSON"
	}
	return "an object with the fields " + FieldNames(fields)
}
