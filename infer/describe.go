package infer

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/source"
)

// describe fills in type, TTL and values. It is false for types that the
// language does not have.
func (e *Entry) describe() bool {
	e.Guesses, e.Props = slices.Clone(e.notes), nil
	if e.path.software != "" {
		e.guess("kept by %s, for this application", e.path.software)
	}
	e.TTL = ttlText(&e.path.ttl, e)
	describe, known := describers[e.path.kind()]
	if !known {
		return false
	}
	if e.path.values == nil {
		e.path.values = &content{}
	}
	describe(e, e.path.values)
	for k, n := range e.path.kinds {
		if n > 0 && source.Kind(k) != e.path.kind() {
			e.guess("%d of the keys are of type %s: they belong to something else", n, source.Kind(k))
		}
	}
	return true
}

var describers = map[source.Kind]func(*Entry, *content){
	source.String: (*Entry).str, source.Hash: (*Entry).hash, source.Stream: (*Entry).stream,
	source.List: (*Entry).list, source.Set: (*Entry).set, source.ZSet: (*Entry).zset,
}

func (e *Entry) guess(format string, args ...any) {
	e.Guesses = append(e.Guesses, fmt.Sprintf(format, args...))
}

func (e *Entry) prop(name, value string) {
	if value != "" {
		e.Props = append(e.Props, Prop{Name: name, Value: value})
	}
}

// says reports whether one of the pattern's words is in the set.
func (e *Entry) says(words map[string]bool) bool {
	for _, t := range e.tokens {
		if slices.ContainsFunc(wordsOf(t.literal), func(w string) bool { return words[w] }) {
			return true
		}
	}
	return false
}

func (e *Entry) expires() bool { return e.path.ttl.none == 0 && e.path.ttl.some > 0 }

// longestToken is the longest value that a lock's token would have.
const longestToken = 128

func (e *Entry) str(c *content) {
	e.Type = "string"
	typ := c.whole.typ(0)
	switch {
	case c.sketches > 0 && c.sketches == c.whole.n:
		e.guess("HyperLogLogs (PFADD), by the head of the values")
		e.prop("value", "bytes")
		return
	case c.bits > 0 && 2*c.bits > c.whole.n && e.says(bitWords):
		e.guess("bitmaps (SETBIT), by the name and values that are no text")
		e.prop("value", "bytes")
		return
	case isLock(e.path) && e.path.ttl.max <= 24*time.Hour && c.largest <= longestToken && typ != "json" && !e.derived():
		e.Type = "lock"
		e.guess("a lock, by its name and its TTL")
		return
	case typ == "int" && !c.whole.negative && e.says(countWords) && !e.expires():
		e.Type = "counter"
		e.guess("a counter, by its name and its numbers")
		return
	case e.expires() && e.says(cacheWords):
		e.Type = "cache"
		e.guess("a cache, by its name and its TTL")
	case e.expires() && e.says(limitWords) && (typ == "int" || typ == "float"):
		e.guess("a rate limit? `type: ratelimit` says how many are allowed")
	}
	if c.objects > 0 && c.objects == c.whole.n && typ == "json" && c.fields.fixed() {
		e.Props = append(e.Props, Prop{Name: "value", Fields: fieldVars(&c.fields)})
		return
	}
	e.prop("value", typ)
}

// derived: a key that a construct keeps beside its own.
func (e *Entry) derived() bool {
	last := e.tokens[len(e.tokens)-1]
	for _, role := range []string{"fence", "waiters", "shared", "released", "leases", "delayed", "dead", "state",
		"workers", "runs", "ready", "fill"} {
		if strings.HasSuffix(last.literal, "}:"+role) {
			return true
		}
	}
	return false
}

func (e *Entry) hash(c *content) {
	e.Type = "hash"
	if c.fields.fixed() {
		e.Props = append(e.Props, Prop{Name: "fields", Fields: fieldVars(&c.fields)})
		return
	}
	e.prop("field", c.fields.names.typ(0))
	e.prop("value", c.fields.any.typ(0))
}

// fieldVars are fixed fields with their types.
func fieldVars(f *fields) []Var {
	var out []Var
	for _, name := range slices.Sorted(maps.Keys(f.byName)) {
		one := f.byName[name]
		typ := one.typ()
		if typ == "" {
			typ = "text"
		}
		if one.n < f.values || one.forms.nulls > 0 {
			typ += " optional"
		}
		out = append(out, Var{name, typ})
	}
	return out
}

func (e *Entry) stream(c *content) {
	e.Type = "stream"
	if c.fields.fixed() {
		e.Props = append(e.Props, Prop{Name: "fields", Fields: fieldVars(&c.fields)})
	}
	e.prop("maxlen", strconv.FormatInt(roundUp(max(e.path.most, 1000)), 10))
	e.guess("maxlen: nothing in the data bounds it")
}

func (e *Entry) list(c *content) {
	e.Type = "list"
	if e.path.ttl.some == 0 && e.says(queueWords) && !e.derived() {
		e.guess("a queue? `type: queue` gives its jobs leases, retries and a place for the dead")
	}
	e.prop("member", c.member.typ(0))
}

func (e *Entry) set(c *content) {
	e.Type = "set"
	e.guessIndex()
	e.prop("member", c.member.typ(0))
}

func (e *Entry) zset(c *content) {
	e.Type = "zset"
	if c.scores.geo() && (!c.scores.micros() || e.says(geoWords)) {
		e.guess("places (GEOADD), by scores that are geohashes")
		e.guessIndex()
		e.prop("member", c.member.typ(0))
		e.prop("score", "int")
		return
	}
	if e.says(rankWords) && c.scores.typ() != "unix_s" && c.scores.typ() != "unix_ms" {
		e.Type = "ranking"
		e.guess("a ranking, by its name")
	}
	e.guessIndex()
	e.prop("member", c.member.typ(0))
	e.prop("score", c.scores.typ())
}

func (e *Entry) guessIndex() {
	if e.says(indexWords) {
		e.guess("an index, by its name: `type: entity` keeps it in step with its items")
	}
}

// roundUp returns the next number that a person would write: 1, 2 or 5 and zeros.
func roundUp(n int64) int64 {
	for step := int64(1); ; step *= 10 {
		for _, m := range []int64{1, 2, 5} {
			if m*step >= n || step > math.MaxInt64/100 {
				return m * step
			}
		}
	}
}

var (
	cacheWords = set("cache caches cached")
	queueWords = set("queue queues jobs tasks todo inbox outbox mailbox worklist backlog")
	indexWords = set("idx index indexes indices by")
	limitWords = set("rate ratelimit limit limiter limits throttle attempts quota")
	geoWords   = set("geo location locations loc coords coordinates nearby drivers riders stores places position " +
		"positions geohash")
	bitWords   = set("bitmap bitmaps bits bloom dau mau online active checkin signin flags attendance")
	rankWords  = set("ranking rank leaderboard scoreboard top popular")
	countWords = set("count counter counts total views hits seq sequence visits likes pageviews num")
)
