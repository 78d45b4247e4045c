package keyspace

import "slices"

// Key is the key of an entry by its role, "" for the main one; nil if it has none.
func (e *Entry) Key(role string) *Key {
	i := slices.IndexFunc(e.Keys, func(k *Key) bool { return k.Role == role })
	if i < 0 {
		return nil
	}
	return e.Keys[i]
}

// Division tells the placeholders of an entity's main key apart.
type Division struct {
	Shared []string // all keys of the entity have them
	Own    []string // together they are the id of an item

	fields []string // of indexes
}

// PerItem are the placeholders that differ from item to item, in its key or in an index.
func (d Division) PerItem() []string { return slices.Concat(d.Own, d.fields) }

// Divide tells the id of an item from what all keys of the entity share.
func (e *Entry) Divide() (d Division) {
	for _, p := range e.Keys[0].Pattern.Placeholders() {
		field := slices.ContainsFunc(e.Keys[0].Fields, func(f Field) bool { return f.Name == p.Name })
		if !field && e.everywhere(p.Name) {
			d.Shared = append(d.Shared, p.Name)
		} else {
			d.Own = append(d.Own, p.Name)
		}
	}
	for _, ix := range e.Index {
		if ix.Field != "" {
			d.fields = append(d.fields, ix.Field)
		}
	}
	return d
}

// everywhere reports whether all indexes have a placeholder.
func (e *Entry) everywhere(name string) bool {
	return len(e.Index) > 0 && !slices.ContainsFunc(e.Index, func(ix Index) bool { return !ix.Key.Pattern.Has(name) })
}
