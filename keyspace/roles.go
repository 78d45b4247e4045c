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
