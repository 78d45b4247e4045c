package infer

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/infer/internal/content"
	"github.com/keywright/keywright/infer/internal/path"
	"github.com/keywright/keywright/source"
)

// describe fills in type, TTL and values. It is false for types that the
// language does not have.
func (e *Entry) describe() bool {
	e.Guesses, e.Props, e.Odd = slices.Clone(e.notes), nil, 0
	if e.path.Software != "" {
		e.guess("kept by %s, for this application", e.path.Software)
	}
	e.TTL = ttlText(&e.path.TTL, e)
	describe, known := describers[e.path.Kind()]
	if !known {
		return false
	}
	if e.path.Values == nil {
		e.path.Values = &content.Content{}
	}
	describe(e, e.path.Values)
	for k, n := range e.path.Kinds {
		if source.Kind(k) == e.path.Kind() {
			continue
		}
		e.Odd += n
		switch n {
		case 0:
		case 1:
			e.guess("1 of the keys is of type %s: it belongs to something else", source.Kind(k))
		default:
			e.guess("%s of the keys are of type %s: they belong to something else", grouped(n), source.Kind(k))
		}
	}
	return true
}

var describers = map[source.Kind]func(*Entry, *content.Content){
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
		if slices.ContainsFunc(path.WordsOf(t.Literal), func(w string) bool { return words[w] }) {
			return true
		}
	}
	return false
}

func (e *Entry) expires() bool { return e.path.TTL.None == 0 && e.path.TTL.Some > 0 }

// longestToken is the longest value that a lock's token would have.
const longestToken = 128

func (e *Entry) str(c *content.Content) {
	e.Type = "string"
	typ := c.Whole.Type(0)
	switch {
	case c.Sketches > 0 && c.Sketches == c.Whole.N:
		e.guess("HyperLogLogs (PFADD), by the head of the values")
		e.prop("value", "bytes")
		return
	case c.Bits > 0 && 2*c.Bits > c.Whole.N && e.says(bitWords):
		e.guess("bitmaps (SETBIT), by the name and values that are no text")
		e.prop("value", "bytes")
		return
	case path.IsLock(e.path) && e.path.TTL.Max <= 24*time.Hour && c.Largest <= longestToken && typ != "json" &&
		!e.derived():
		e.Type = "lock"
		e.guess("a lock, by its name and its TTL")
		return
	case typ == "int" && !c.Whole.Negative && e.says(countWords) && !e.expires():
		e.Type = "counter"
		e.guess("a counter, by its name and its numbers")
		return
	case e.expires() && e.says(cacheWords):
		e.Type = "cache"
		e.guess("a cache, by its name and its TTL")
	case e.expires() && e.says(limitWords) && (typ == "int" || typ == "float"):
		e.guess("a rate limit? `type: ratelimit` says how many are allowed")
	}
	if c.Objects > 0 && c.Objects == c.Whole.N && typ == "json" && c.Fields.Fixed() {
		e.Props = append(e.Props, Prop{Name: "value", Fields: fieldVars(&c.Fields)})
		return
	}
	e.prop("value", typ)
}

// derived: a key that a construct keeps beside its own.
func (e *Entry) derived() bool {
	last := e.tokens[len(e.tokens)-1]
	for _, role := range []string{"fence", "waiters", "shared", "released", "leases", "delayed", "dead", "state",
		"workers", "runs", "ready", "fill"} {
		if strings.HasSuffix(last.Literal, "}:"+role) {
			return true
		}
	}
	return false
}

func (e *Entry) hash(c *content.Content) {
	e.Type = "hash"
	if c.Fields.Fixed() {
		e.Props = append(e.Props, Prop{Name: "fields", Fields: fieldVars(&c.Fields)})
		return
	}
	e.prop("field", c.Fields.Names.Type(0))
	e.prop("value", c.Fields.Any.Type(0))
}

// fieldVars are fixed fields with their types.
func fieldVars(f *content.Fields) []Var {
	var out []Var
	for _, name := range slices.Sorted(maps.Keys(f.ByName)) {
		one := f.ByName[name]
		typ := one.Type()
		if typ == "" {
			typ = "text"
		}
		if one.N < f.Values || one.Forms.Nulls > 0 {
			typ += " optional"
		}
		out = append(out, Var{name, typ})
	}
	return out
}

func (e *Entry) stream(c *content.Content) {
	e.Type = "stream"
	if c.Fields.Fixed() {
		e.Props = append(e.Props, Prop{Name: "fields", Fields: fieldVars(&c.Fields)})
	}
	e.prop("maxlen", strconv.FormatInt(roundUp(max(e.path.Most, 1000)), 10))
	e.guess("maxlen: nothing in the data bounds it")
}

func (e *Entry) list(c *content.Content) {
	e.Type = "list"
	if e.path.TTL.Some == 0 && e.says(queueWords) && !e.derived() {
		e.guess("a queue? `type: queue` gives its jobs leases, retries and a place for the dead")
	}
	e.prop("member", c.Member.Type(0))
}

func (e *Entry) set(c *content.Content) {
	e.Type = "set"
	e.guessIndex()
	e.prop("member", c.Member.Type(0))
}

func (e *Entry) zset(c *content.Content) {
	e.Type = "zset"
	if c.Scores.Geo() && (!c.Scores.Micros() || e.says(geoWords)) {
		e.guess("places (GEOADD), by scores that are geohashes")
		e.guessIndex()
		e.prop("member", c.Member.Type(0))
		e.prop("score", "int")
		return
	}
	if e.says(rankWords) && c.Scores.Type() != "unix_s" && c.Scores.Type() != "unix_ms" {
		e.Type = "ranking"
		e.guess("a ranking, by its name")
	}
	e.guessIndex()
	e.prop("member", c.Member.Type(0))
	e.prop("score", c.Scores.Type())
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
	cacheWords = path.Words("cache caches cached")
	queueWords = path.Words("queue queues jobs tasks todo inbox outbox mailbox worklist backlog")
	indexWords = path.Words("idx index indexes indices by")
	limitWords = path.Words("rate ratelimit limit limiter limits throttle attempts quota")
	geoWords   = path.Words("geo location locations loc coords coordinates nearby drivers riders stores places position " +
		"positions geohash")
	bitWords   = path.Words("bitmap bitmaps bits bloom dau mau online active checkin signin flags attendance")
	rankWords  = path.Words("ranking rank leaderboard scoreboard top popular")
	countWords = path.Words("count counter counts total views hits seq sequence visits likes pageviews num")
)
