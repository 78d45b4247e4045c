package keyspace

import "github.com/keywright/keywright/keyspace/scalar"

// SealedPart is a part of what is stored under a key that is declared encrypted.
type SealedPart struct {
	Field  string // of a hash or stream, "payload" of a job, "" for the whole value
	Member string // of the JSON object in there, "" for all of it
	Each   bool   // every value of a hash with open fields, every member of a list
	Type   scalar.Type
}

// Name is the part as people write it: "phone", "payload.address", "" for a whole
// value.
func (p SealedPart) Name() string {
	if p.Field == "" || p.Member == "" {
		return p.Field + p.Member
	}
	return p.Field + "." + p.Member
}

// Sealed are the parts of a key's value that are declared encrypted, in the order
// of the declaration.
func (k *Key) Sealed() (parts []SealedPart) {
	each := k.Item
	if k.Kind == List {
		each = k.Member
	}
	switch {
	case k.Value != nil && k.Value.Encrypted:
		parts = append(parts, SealedPart{Field: k.holder(), Type: *k.Value})
	case each != nil && each.Encrypted:
		parts = append(parts, SealedPart{Each: true, Type: *each})
	}
	for _, f := range k.JSON {
		if f.Type.Encrypted {
			parts = append(parts, SealedPart{Member: f.Name, Type: f.Type})
		}
	}
	for _, f := range k.Fields {
		if f.Type.Encrypted {
			parts = append(parts, SealedPart{Field: f.Name, Type: f.Type})
		}
	}
	if k.Headed {
		for _, f := range k.Entry.Shape {
			if f.Type.Encrypted {
				parts = append(parts, SealedPart{Field: k.holder(), Member: f.Name, Type: f.Type})
			}
		}
	}
	return parts
}

// holder is what a whole value is called in the place it is sealed for: a payload
// stands behind a line that is not sealed.
func (k *Key) holder() string {
	if k.Headed {
		return "payload"
	}
	return ""
}

// HoldsSealed reports whether a part of any of the entry's keys is declared
// encrypted.
func (e *Entry) HoldsSealed() bool {
	for _, k := range e.Keys {
		if len(k.Sealed()) > 0 {
			return true
		}
	}
	return false
}
