package dataset

import (
	"strconv"

	"github.com/keywright/keywright/bench/keygen"
)

// filler creates the key with a value.
type filler func(c *commands, key []byte, r *keygen.Rand)

// set makes a filler that stores one string.
func set(value func(dst []byte, r *keygen.Rand) []byte) filler {
	var buf []byte
	return func(c *commands, key []byte, r *keygen.Rand) {
		buf = value(buf[:0], r)
		c.start(3).text("SET").bytes(key).bytes(buf)
	}
}

// Strings: encodings int, embstr (at most 44 bytes) and raw.
var (
	number      = set(func(b []byte, r *keygen.Rand) []byte { return strconv.AppendInt(b, r.Below(1e9), 10) })
	sixDigits   = set(func(b []byte, r *keygen.Rand) []byte { return strconv.AppendInt(b, r.Between(100000, 999999), 10) })
	onOff       = set(func(b []byte, r *keygen.Rand) []byte { return keygen.OneOf("enabled", "disabled")(b, r, 0) })
	token       = set(func(b []byte, r *keygen.Rand) []byte { return keygen.UUID(b, r, r.Uint64()) })
	rawText     = set(func(b []byte, r *keygen.Rand) []byte { return sentence(b, r, 120+int(r.Below(300))) })
	longText    = set(func(b []byte, r *keygen.Rand) []byte { return sentence(b, r, 800+int(r.Below(1600))) })
	binary      = set(noise)
	productJSON = set(product)
	profileJSON = set(person)
)

// sentence returns text that compresses about as well as prose does: every other
// word is one of few, the rest are letters by chance.
func sentence(b []byte, r *keygen.Rand, atLeast int) []byte {
	for start := len(b); len(b)-start < atLeast; {
		b = append(keygen.EnglishWord(b, r, 0), ' ')
		for word := r.Uint64(); word > 1<<52; word /= 26 {
			b = append(b, 'a'+byte(word%26))
		}
		b = append(b, ' ')
	}
	return b
}

func noise(b []byte, r *keygen.Rand) []byte {
	for range 8 + r.Below(24) {
		word := r.Uint64()
		b = append(b, byte(word), byte(word>>8), byte(word>>16), byte(word>>24), byte(word>>32))
	}
	return b
}

func product(b []byte, r *keygen.Rand) []byte {
	b = strconv.AppendInt(append(b, `{"id":`...), r.Below(1e8), 10)
	b = strconv.AppendInt(append(b, `,"price":`...), r.Below(1e5), 10)
	b = sentence(append(b, `,"title":"`...), r, 20)
	b = sentence(append(b, `","description":"`...), r, int(r.Between(200, 600)))
	return append(b, `","tags":["new","sale"]}`...)
}

func person(b []byte, r *keygen.Rand) []byte {
	b = keygen.EnglishWord(append(b, `{"name":"`...), r, 0)
	b = sentence(append(b, `","bio":"`...), r, int(r.Between(120, 400)))
	return append(b, `","locale":"ja"}`...)
}

func hyperLogLog(c *commands, key []byte, r *keygen.Rand) {
	n := int(r.Between(5, 40))
	c.start(2 + n).text("PFADD").bytes(key)
	numbers(c, r, n)
}

// profile is a small hash: encoding listpack.
func profile(c *commands, key []byte, r *keygen.Rand) {
	var name [16]byte
	c.start(8).text("HSET").bytes(key).text("name").bytes(keygen.EnglishWord(name[:0], r, 0)).
		text("count").int(r.Below(1000)).text("at").int(1767225600000 + r.Below(3e10))
}

// userHash has a field of more than 64 bytes: encoding hashtable.
func userHash(c *commands, key []byte, r *keygen.Rand) {
	var buf [256]byte
	c.start(10).text("HSET").bytes(key).text("email").bytes(keygen.Email(buf[:0], r, r.Uint64())).
		text("name").bytes(keygen.EnglishWord(buf[:0], r, 0)).text("created_at").int(1767225600000 + r.Below(3e10)).
		text("bio").bytes(sentence(buf[:0], r, int(r.Between(80, 220))))
}

func shortList(c *commands, key []byte, r *keygen.Rand) { fillList(c, key, r, int(r.Between(1, 12))) }

// longList fits into one node of a quicklist, 8 KiB; one in ten takes several.
func longList(c *commands, key []byte, r *keygen.Rand) {
	n := r.Between(20, 90)
	if r.Chance(100) {
		n *= 12
	}
	fillList(c, key, r, int(n))
}

func fillList(c *commands, key []byte, r *keygen.Rand, n int) {
	var buf [64]byte
	c.start(2 + n).text("RPUSH").bytes(key)
	for range n {
		c.bytes(sentence(buf[:0], r, 25))
	}
}

func intSet(c *commands, key []byte, r *keygen.Rand) {
	n := int(r.Between(3, 40))
	c.start(2 + n).text("SADD").bytes(key)
	numbers(c, r, n)
}

func numbers(c *commands, r *keygen.Rand, n int) {
	for range n {
		c.int(r.Below(1e8))
	}
}

// textSet holds what is not an integer: encoding hashtable.
func textSet(c *commands, key []byte, r *keygen.Rand) {
	var buf [48]byte
	n := int(r.Between(3, 20))
	c.start(2 + n).text("SADD").bytes(key)
	for range n {
		c.bytes(keygen.UUID(buf[:0], r, r.Uint64()))
	}
}

// Up to 128 members a zset is a listpack, above it a skiplist.
func shortRanking(c *commands, key []byte, r *keygen.Rand) { zset(c, key, r, int(r.Between(3, 30))) }
func longRanking(c *commands, key []byte, r *keygen.Rand)  { zset(c, key, r, int(r.Between(140, 260))) }

func zset(c *commands, key []byte, r *keygen.Rand, n int) {
	c.start(2 + 2*n).text("ZADD").bytes(key)
	for range n {
		c.int(r.Below(1e5)).int(r.Below(1e8))
	}
}

func geo(c *commands, key []byte, r *keygen.Rand) {
	var buf [32]byte
	n := int(r.Between(2, 10))
	c.start(2 + 3*n).text("GEOADD").bytes(key)
	for range n {
		longitude := 130 + float64(r.Below(1e6))/1e5
		latitude := 30 + float64(r.Below(1e6))/1e5
		c.bytes(strconv.AppendFloat(buf[:0], longitude, 'f', 5, 64))
		c.bytes(strconv.AppendFloat(buf[:0], latitude, 'f', 5, 64))
		c.int(r.Below(1e8))
	}
}

// stream writes explicit IDs. Its group leaves one entry pending; every third
// stream has a second group, whose two consumers leave some more.
func stream(c *commands, key []byte, r *keygen.Rand) {
	at := 1767225600000 + r.Below(3e10)
	for i := range r.Between(3, 12) * r.Between(1, 30) { // some have several nodes
		c.start(7).text("XADD").bytes(key).text(strconv.FormatInt(at+i, 10) + "-1").
			text("kind").text("created").text("id").int(r.Below(1e8))
	}
	group(c, key, "workers")
	pend(c, key, "workers", "worker-1", 1)
	if r.Chance(333) {
		group(c, key, "mailers")
		pend(c, key, "mailers", "mailer-1", r.Between(1, 3))
		pend(c, key, "mailers", "mailer-2", r.Between(1, 40))
	}
}

func group(c *commands, key []byte, name string) {
	c.start(5).text("XGROUP").text("CREATE").bytes(key).text(name).text("0")
}

// pend delivers up to n entries, which are never acknowledged.
func pend(c *commands, key []byte, group, consumer string, n int64) {
	c.start(9).text("XREADGROUP").text("GROUP").text(group).text(consumer).
		text("COUNT").int(n).text("STREAMS").bytes(key).text(">")
}
