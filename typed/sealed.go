package typed

import "github.com/keywright/keywright/value"

// seals seals the text of a field of this key.
func (k Key) seals(field, text string) (string, error) {
	return k.client.Seal(k.entry, k.key, field, text)
}

// opens opens it.
func (k Key) opens(field, text string) (string, error) {
	return k.client.Unseal(k.entry, k.key, field, text)
}

// at returns the codec of what is stored at a field of the key, "" for its whole
// value. Only one that seals costs anything.
func at[T any](k Key, field string, c *value.Codec[T]) *value.Codec[T] {
	if !c.Sealed() {
		return c
	}
	return c.Bind(field, k.seals, k.opens)
}
