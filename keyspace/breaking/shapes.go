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

// shapeGiven: values that were any JSON are an object now, and a new reader refuses others.
func (c *context) shapeGiven(old, new *keyspace.Key) {
	before, after := shapes(old, new)
	// the latter is a finding of its own
	if len(before) > 0 || len(after) == 0 || !isJSON(old) && narrowed(old.Value, new.Value) != "" {
		return
	}
	was := shapeWord(before)
	if !isJSON(old) {
		was = text(old.Value)
	}
	c.report(at(new.Entry, "value"), at(old.Entry, "value"), new.Name, "",
		"the value of %s was %s and is %s: new readers refuse stored values of another shape; deployed readers take "+
			"the new ones", new.Name, was, shapeWord(after))
}

// shapeDropped: values that were an object may be any JSON now, and a deployed reader
// refuses others.
func (c *context) shapeDropped(old, new *keyspace.Key) {
	before, after := shapes(old, new)
	if old.Kind != new.Kind || len(before) == 0 || len(after) > 0 || !isJSON(new) {
		return
	}
	c.report(at(new.Entry, "value"), at(old.Entry, "value"), new.Name, "",
		"the value of %s was %s and is any JSON: deployed readers refuse new values of another shape; new readers take the "+
			"stored ones", new.Name, shapeWord(before))
}
