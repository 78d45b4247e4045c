package keygen

import (
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"time"
)

// Maker appends one placeholder's value. Makers whose doc says "distinct" give
// another value for every serial number, whatever the generator yields.
type Maker func(dst []byte, r *Rand, serial uint64) []byte

// ID returns a distinct decimal number of up to nine digits.
func ID(dst []byte, _ *Rand, serial uint64) []byte {
	return strconv.AppendUint(dst, 1+scatter(serial, 29), 10)
}

// UUID returns a distinct version 4 UUID in lower case.
func UUID(dst []byte, r *Rand, serial uint64) []byte {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], scatter(serial, 48)<<16|0x4000|r.Uint64()&0x0fff)
	binary.BigEndian.PutUint64(raw[8:], 1<<63|r.Uint64()>>2)
	for i, part := range [][]byte{raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return dst
}

// crockford is the alphabet of ULIDs; base32 cuts it into the same 5-bit digits.
var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// ULID returns a distinct ULID of this year.
func ULID(dst []byte, r *Rand, serial uint64) []byte {
	var raw [10]byte
	binary.BigEndian.PutUint64(raw[:8], scatter(serial, 40)<<24|r.Uint64()>>40)
	binary.BigEndian.PutUint16(raw[8:], uint16(r.Uint64()))
	dst = append(dst, "01KAJ3W"...)
	for range 3 {
		dst = append(dst, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[r.Below(32)])
	}
	return crockford.AppendEncode(dst, raw[:])
}

// Hex32 returns a distinct run of 32 lower-case hexadecimal digits.
func Hex32(dst []byte, r *Rand, serial uint64) []byte {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], mix(serial+1)) // mix is a bijection
	binary.BigEndian.PutUint64(raw[8:], r.Uint64())
	return hex.AppendEncode(dst, raw[:])
}

// Slug returns a distinct lower-case name such as "wool-socks-41ab0".
func Slug(dst []byte, r *Rand, serial uint64) []byte {
	dst = append(EnglishWord(dst, r, serial), '-')
	dst = append(EnglishWord(dst, r, serial), '-')
	return strconv.AppendUint(dst, scatter(serial, 29), 36)
}

// Email returns a distinct address.
func Email(dst []byte, r *Rand, serial uint64) []byte {
	dst = append(EnglishWord(dst, r, serial), '.')
	dst = strconv.AppendUint(dst, scatter(serial, 29), 36)
	return append(dst, "@example.com"...)
}

// IPv4 returns a distinct dotted quad up to 2^24 of them.
func IPv4(dst []byte, _ *Rand, serial uint64) []byte {
	n := scatter(serial, 24)
	dst = append(dst, "10"...)
	for _, shift := range []uint{16, 8, 0} {
		dst = strconv.AppendUint(append(dst, '.'), n>>shift&255, 10)
	}
	return dst
}

// Day is one of the 365 days from 2026-01-01.
func Day(dst []byte, r *Rand, _ uint64) []byte { return append(dst, days[r.Below(365)]...) }

var days = func() (all [365]string) {
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range all {
		all[i] = first.AddDate(0, 0, i).Format(time.DateOnly)
	}
	return all
}()

// UnixSeconds returns a full minute of 2026.
func UnixSeconds(dst []byte, r *Rand, _ uint64) []byte {
	return strconv.AppendInt(dst, 1767225600+60*r.Below(365*24*60), 10)
}

// EnglishWord returns a short English word.
func EnglishWord(dst []byte, r *Rand, _ uint64) []byte {
	return append(dst, words[r.Below(int64(len(words)))]...)
}

var words = []string{
	"amber", "basil", "cedar", "delta", "ember", "fjord", "grove", "heron",
	"iris", "jade", "kelp", "lilac", "maple", "nickel", "ochre", "pine",
	"quartz", "raven", "sage", "tulip", "umber", "violet", "willow", "zinc",
}

// OneOf picks from a fixed list.
func OneOf(values ...string) Maker {
	return func(dst []byte, r *Rand, _ uint64) []byte {
		return append(dst, values[r.Below(int64(len(values)))]...)
	}
}
