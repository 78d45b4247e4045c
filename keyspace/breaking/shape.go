package breaking

import (
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

// shapes returns the fields of the JSON object that a value is, before and after: none where
// it is any JSON, or none.
func shapes(old, new *keyspace.Key) (before, after []keyspace.Field) {
	if old.Role == "" && len(old.Entry.Shape)+len(new.Entry.Shape) > 0 {
		return old.Entry.Shape, new.Entry.Shape
	}
	return old.JSON, new.JSON
}

// isJSON reports whether a value is JSON of some kind: of a queue, its payload.
func isJSON(k *keyspace.Key) bool {
	if k.Entry.Construct == keyspace.Queue && k.Role == "" {
		if len(k.Entry.Shape) > 0 {
			return true
		}
		job := key(k.Entry, "job")
		return job != nil && job.Value != nil && job.Value.Kind == scalar.JSON
	}
	return k.Value != nil && k.Value.Kind == scalar.JSON
}

func shapeWord(fields []keyspace.Field) string {
	if len(fields) == 0 {
		return "any JSON"
	}
	return "an object with the fields " + fieldNames(fields)
}
