package keyspace

// SealedPart is a part of what is stored under a key that is declared encrypted.
type SealedPart struct {
	Field  string // of a hash or stream, "" for the whole value
	Member string // of the JSON object in there, "" for all of it
	Each   bool   // every value of a hash with open fields, every member of a list
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
		parts = append(parts, SealedPart{})
	case each != nil && each.Encrypted:
		parts = append(parts, SealedPart{Each: true})
	}
	for _, f := range k.JSON {
		if f.Type.Encrypted {
			parts = append(parts, SealedPart{Member: f.Name})
		}
	}
	for _, f := range k.Fields {
		if f.Type.Encrypted {
			parts = append(parts, SealedPart{Field: f.Name})
		}
		if k.Role == "job" && f.Name == "payload" {
			parts = append(parts, k.Entry.sealedShape()...)
		}
	}
	return parts
}

// sealedShape are the sealed members of a job's payload.
func (e *Entry) sealedShape() (parts []SealedPart) {
	for _, f := range e.Shape {
		if f.Type.Encrypted {
			parts = append(parts, SealedPart{Field: "payload", Member: f.Name})
		}
	}
	return parts
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
