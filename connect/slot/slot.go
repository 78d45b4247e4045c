// Package slot computes which of the 16,384 hash slots of a Redis or Valkey
// cluster a key belongs to, and the hash tag that decides it.
//
// It follows the cluster specification
// (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/):
// CRC16 (XMODEM) of the hash tag, or of the whole key where it has none. It
// knows nothing of nodes.
package slot

// Count is the number of slots.
const Count = 16384

// Of returns the slot of key.
func Of(key []byte) uint16 {
	if tag, ok := Tag(key); ok {
		key = tag
	}
	return crc16(key) % Count
}

// Tag returns the part of key that is hashed instead of the whole: what lies
// between the first { and the first } after it, if that is not empty.
func Tag(key []byte) (tag []byte, ok bool) {
	open := -1
	for i, b := range key {
		switch {
		case b == '{' && open < 0:
			open = i
		case b == '}' && open >= 0:
			return key[open+1 : i], i > open+1
		}
	}
	return nil, false
}

var table = func() (t [256]uint16) {
	for i := range t {
		crc := uint16(i) << 8
		for range 8 {
			crc = crc<<1 ^ (crc>>15)*0x1021
		}
		t[i] = crc
	}
	return t
}()

func crc16(b []byte) uint16 {
	var crc uint16
	for _, c := range b {
		crc = crc<<8 ^ table[byte(crc>>8)^c]
	}
	return crc
}

// Sibling returns the beginning of names that lie in the slot of key: key itself if
// it has a hash tag, else key as the tag. A key with braces that are no tag has
// no siblings to be named so; then the slots differ, and a cluster refuses them.
func Sibling(key string) string {
	if _, tagged := Tag([]byte(key)); tagged {
		return key
	}
	return "{" + key + "}"
}
