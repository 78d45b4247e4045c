package infer_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/infer/software"
	"github.com/keywright/keywright/source"
)

// lines returns keys of "NAME type ttl", one for each number where # is.
func lines(n int, patterns ...string) (out []source.Key) {
	for _, p := range patterns {
		for _, line := range repeat(n, p) {
			out = append(out, key(line))
		}
	}
	return out
}

// valued returns keys with a value each.
func valued(n int, name string, kind source.Kind, value func(i int) *source.Value) (out []source.Key) {
	for i := range n {
		out = append(out, source.Key{Name: fmt.Appendf(nil, name, i), Kind: kind, TTL: source.NoTTL, Bytes: 50,
			Value: value(i)})
	}
	return out
}

// What a keyspace says in other ways than by numbers between colons.
func TestRecognised(t *testing.T) {
	text := func(s string) func(int) *source.Value {
		return func(int) *source.Value { return &source.Value{Str: []byte(s)} }
	}
	cases := map[string]struct {
		keys []source.Key
		want string // a part of the draft
		not  string
	}{
		"decimals": {lines(1, "near?lat=0.628&lng=2.694", "near?lat=-12.5&lng=3", "near?lat=7&lng=-1.25"),
			`key: near?lat={lat_id}&lng={lng_id}`, "key: near?lat=-"},
		"ISO weeks": {lines(1, "top:2026-W01 zset", "top:2026-W52 zset"), "key: top:{week}", ""},
		"weeks without a year": {weeks("top:w%02d:de", "top:w%02d:fr", "top:w%02d:jp"), "key: top:w{week}:{country}",
			"key: top:w0"},
		"weeks here and there": {weeks("top:w%02d:de", "top:w%02d:fr")[:33], "key: top:w{week}:{lang}", "key: top:w0"},
		"beside a long text": {append(valued(20, "T%d", source.String, text("x")), key(strings.Repeat("a", 600))),
			"key: T{t_id}", "like T0: names"},
		"a few versions": {lines(9, "api:v1:#", "api:v2:#", "api:v3:#"), "key: api:", "key: api:v{"},
		"versions of two kinds": {lines(9, "api:v1:user:# hash", "api:v2:user:# list"), "key: api:v1:user:{user_id}",
			"key: api:v{"},
		"codes": {slices.Concat(lines(3, "fare/FRA-SFO/#"), lines(9, "fare/JFK-NRT/#"),
			lines(5, "fare/LHR-HND/#")), "fare: FRA-SFO|JFK-NRT|LHR-HND", "key: fare/FRA"},
		"many codes": {slices.Concat(lines(3, "p:ABC:x", "p:ABD:x", "p:ABE:x", "p:ABF:x", "p:BBC:x", "p:CBC:x",
			"p:DBC:x", "p:EBC:x")), "key: p:{p_id}:x", "key: p:ABC"},
		"capitals of a kind": {slices.Concat(lines(3, "x:USERS:# hash"), lines(9, "x:ORDERS:# list"),
			lines(5, "x:CARTS:# set")), "key: x:USERS:{user_id}", "key: x:{x"},
		"two types under one month": {slices.Concat(lines(1, "top:2026-01:de zset", "top:2026-02:de zset",
			"top:2026-01:fr zset", "top:2026-02:fr zset"), lines(1, "top:2026-01:jp hash", "top:2026-02:jp hash")),
			"key: top:{month}:jp", ""},
		"countries": {lines(1, "top:2026-01:de zset", "top:2026-01:fr zset", "top:2026-01:jp zset"),
			"key: top:{month}:{country}", ":jp"},
		"a word in company": {lines(9, "conf:#:en", "conf:#:de", "conf:#:tlh"), "lang: en|de|tlh",
			"key: conf:{conf_id}:tlh"},
		"a word of other size": {slices.Concat(lines(9, "conf:#:en", "conf:#:de"), lines(2, "conf:#:tlh")),
			"key: conf:{conf_id}:tlh", "en|de|tlh"},
		"a month": {[]source.Key{{Name: []byte("x:1"), Kind: source.String, TTL: 31*24*time.Hour - time.Minute}},
			"ttl: 31d", ""},
		"one prefix": {lines(20, "app1_user:# hash", "app1_cart:# set"), "key: app1_user:{user_id}", "app_id"},
		"a matrix": {lines(10, "feature/ai/#", "feature/beta/#", "feature/dark/#"),
			"key: feature/{feature}/{feature_id}", "key: feature/ai/"},
		"dots": {lines(10, "conf.cdn.opt#", "conf.db.opt#", "conf.mail.opt#"), "key: conf.{conf}.opt{opt_id}",
			"conf.cdn.opt{"},
		"what is kept": {lines(10, "user:#:name:x", "user:#:profile:x", "user:#:settings:x"), "key: user:{user_id}:name:x",
			""},
		"a typo": {slices.Concat(lines(50, "album:# hash"), lines(1, "albun:# hash")),
			"albun:{albun_id}: 1 key, like albun:{int}: guess: a typo of album?", "key: albun"},
		"plural": {slices.Concat(lines(50, "albums:# hash"), lines(1, "album:# hash")), "key: album:{album_id}", ""},
		"a bad day": {slices.Concat(lines(1, "dau:2026-01-01", "dau:2026-01-02"), days("dau:", 98), lines(1,
			"dau:2026-13-45")), "dau:2026-13-45: guess: a mistake? it is nearly dau:{day}", "key: dau:{id"},
		"a HyperLogLog":  {valued(5, "uv:%d", source.String, text("HYLL\x01\x00\x00\x00abc")), "guess: HyperLogLogs", ""},
		"a bitmap":       {valued(5, "dau:%d", source.String, text("\x80\x01\xff\x00")), "guess: bitmaps", ""},
		"a text no bits": {valued(5, "dau:%d", source.String, text("hello")), "value: text", "guess: bitmaps"},
		"places": {valued(5, "shops:%d", source.ZSet, scored(3673983964876493, 3673983950397063)),
			"guess: places (GEOADD)", ""},
		"entries that differ": {valued(1, "log:%d", source.Stream, func(int) *source.Value {
			return &source.Value{Elements: bytes.Fields([]byte("id 1 at 1763700000 id 2 at 1763700001 id 3 totl 2")),
				Ends: []int{4, 8, 12}}
		}), "at: unix_s optional\n      id: int\n", ""},
		"hashes read in part": {valued(5, "h:%d", source.Hash, func(i int) *source.Value {
			return &source.Value{Elements: [][]byte{[]byte("name"), []byte("x")}, Partial: i == 3}
		}), "field: text", "fields:"},
		"many objects": {valued(100, "o:%d", source.String, func(i int) *source.Value {
			return &source.Value{Str: fmt.Appendf(nil, `{"id": %d%s}`, i, strings.Repeat(`, "late": 1`, i/90))}
		}), "late: int optional", ""},
		"no day": {valued(3, "h:%d", source.String, text("2026-02-30")), "value: text", ""},
		"values not read": {slices.Concat(valued(3, "h:%d", source.String, text("1")), lines(4, "h:a:#")),
			"# Types of values come from 3 values; 4 others were not read, or in part.", ""},
		"no places": {valued(5, "ranking:%d", source.ZSet, scored(17, 2000)), "type: ranking", "GEOADD"},
		"microseconds": {valued(5, "seen:%d", source.ZSet, scored(1763700000000000, 1763700001000000)), "score: int",
			"GEOADD"},
		"Celery's queues": {lines(1, "celery-task-meta-00095606-2611-4eaa-a77a-169d71ed6a09", "_kombu.binding.celery set",
			"_kombu.binding.priority set", "priority list", "celery list"), `- "priority"`, "key: priority"},
		"two types": {slices.Concat(lines(20, "a:b:# hash"), lines(1, "a:b:7 list")),
			"of another type than the others of a:b:{b_id}: a mistake?", ""},
		"many bad ones": {slices.Concat(lines(20, "a:b:# hash"), lines(10, "a:b:1# list")),
			"keys of several types under one pattern: 20 of type hash, 10 of type list", "key: a:b"},
		"nearly all of one type": {slices.Concat(lines(380, "a:b:# hash"), lines(19, "a:b:2# list"), lines(1, "a:b:3# zset")),
			"  # guess: 19 of the keys are of type list: they belong to something else\n  # guess: 1 of the keys is of type " +
				"zset: it belongs to something else\n  b:\n    key: a:b:{b_id}\n    type: hash", "several types"},
		"a TTL of one type": {slices.Concat(lines(380, "cache:# string 1h"), lines(20, "cache:2# list")),
			"type: cache\n    ttl: 1h", "do they leak"},
		"fewer of one type": {slices.Concat(lines(360, "a:b:# hash"), lines(20, "a:b:2# list"), lines(1, "a:b:3# zset")),
			"keys of several types under one pattern: 360 of type hash, 20 of type list, 1 of type zset", "key: a:b"},
		"one of another type that is not named": {slices.Concat(sessions("s:%032x", source.Hash, "a", "b"),
			lines(1, "s:0123456789abcdef0123456789abcdef list")),
			"  # guess: 1 of the keys is of type list: it belongs to something else", "several types"},
		"a TTL forgotten": {slices.Concat(lines(40, "a:b:# string 1h"), lines(1, "a:b:7")),
			"guess: 1 of 41 keys never expire, the others within 1h: do they leak?", "ttl: 1h"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := draft(t, c.keys)
			got := string(d.YAML())
			loaded(t, d.YAML())
			if !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
				t.Errorf("want %q, not %q, in\n%s", c.want, c.not, got)
			}
			if sum(d) != d.All {
				t.Errorf("the parts are %+v of %+v", sum(d), d.All)
			}
		})
	}
}

func weeks(forms ...string) (out []source.Key) {
	for w := 1; w <= 52; w++ {
		for i, form := range forms {
			if (w+i)%4 != 0 {
				out = append(out, key(fmt.Sprintf(form+" zset", w)))
			}
		}
	}
	return out
}

func days(prefix string, n int) (out []source.Key) {
	for i := range n {
		out = append(out, key(prefix+time.Date(2026, 1, 3+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)))
	}
	return out
}

func scored(scores ...float64) func(int) *source.Value {
	return func(int) *source.Value {
		v := &source.Value{Scores: scores}
		for i := range scores {
			v.Elements = append(v.Elements, fmt.Appendf(nil, "m%d", i))
		}
		return v
	}
}

// Sessions that a library keeps for the application are the application's: they
// are drafted.
func TestSessions(t *testing.T) {
	const session = `{"cookie":{"path":"/"},"user":7}`
	left := map[string][]source.Key{
		"connect-redis":          sessions("sess:%032x", source.String, session),
		"koa-generic-session":    sessions("koa:sess:%032x", source.String, session),
		"PHP sessions, phpredis": sessions("PHPREDIS_SESSION:%032x", source.String, `user|i:7;`),
		"Rack sessions":          sessions("2::%064x", source.String, session),
		"Symfony sessions":       sessions("sf_s%032x", source.String, `_sf2_attributes|a:0:{}`),
		"Shiro-redis sessions":   sessions("shiro:session:%032x", source.String, "\xac\xed\x00\x05sr"),
		"Sa-Token": slices.Concat(sessions("satoken:login:token:%032x", source.String, "7"),
			sessions("satoken:login:session:%d", source.String, session)),
		"Django sessions": sessions(":1:django.contrib.sessions.cache%032x", source.String, "\x80\x05}q"),
		"Redisson Tomcat sessions": sessions("redisson:tomcat_session:%032X", source.Hash, "session:creationTime",
			"1700000000000"),
		"Spring Session": slices.Concat(sessions("spring:session:sessions:%032x", source.Hash, "creationTime",
			"1700000000000"),
			sessions("spring:session:expirations:17000%08d", source.Set, "expires:1")),
	}
	for _, p := range software.Products() {
		if p.Ours && left[p.Name] == nil {
			t.Errorf("no keys of %s", p.Name)
		}
	}
	for name, keys := range left {
		t.Run(name, func(t *testing.T) {
			d := draft(t, keys)
			var kept int64
			for _, e := range d.Entries {
				if slices.Contains(e.Guesses, "kept by "+name+", for this application") {
					kept += int64(e.Keys)
				}
			}
			if kept != int64(len(keys)) || len(d.Foreign) > 0 {
				t.Errorf("%d of %d keys are drafted as kept by it\n%s", kept, len(keys), d.YAML())
			}
		})
	}
}

// sessions returns twenty keys, each with a value of these elements.
func sessions(name string, kind source.Kind, value ...string) []source.Key {
	v := &source.Value{}
	if kind == source.String {
		v.Str = []byte(value[0])
	} else {
		for _, text := range value {
			v.Elements = append(v.Elements, []byte(text))
		}
	}
	return valued(20, name, kind, func(int) *source.Value { return v })
}

// A declaration knows what is a typo of its own words.
func TestTypoOfDeclared(t *testing.T) {
	known := loaded(t, []byte("keywright: 1\npackage: p\nowner: o\nvars: {day: date}\nkeys:\n  album: {key: "+
		"\"album:{id}\", type: hash, ttl: none}\n  dau: {key: \"dau:{day}\", type: string, ttl: none}\n"))
	in, err := infer.New(infer.Options{Known: known})
	if err != nil {
		t.Fatal(err)
	}
	in.Add(slices.Concat(lines(3, "album:# hash"), lines(1, "albun:# hash", "dau:2026-13-45", "dau:2026-01-01")))
	d := in.Draft()
	var left []string
	for _, l := range d.Left {
		left = append(left, l.String())
	}
	if len(d.Entries) > 0 || d.Known.Keys != 4 || len(left) != 2 || !strings.Contains(strings.Join(left, "\n"),
		"a typo of album? album:{id} has it") || !strings.Contains(strings.Join(left, "\n"), "it is nearly dau:{day}") {
		t.Errorf("%v\n%s", left, d.YAML())
	}
}

// A word that is nearly another one is a probable typo by its share of the keys, however many they are; with a
// larger share it is drafted, and marked. What may be a typo has no line that silences a warning.
func TestTyposByShare(t *testing.T) {
	const guess = "  # guess: may be a misspelling of cache: cache:item:{item_id} has it, with "
	for name, c := range map[string]struct {
		right, wrong int
		declared     bool
		left         string // "": drafted, with want before its name
		want         string
	}{
		"five":                  {100, 5, false, "cahce:item:{cahce_id}: 5 keys", ""},
		"a hundredth":           {3000, 30, false, "cahce:item:{cahce_id}: 30 keys", ""},
		"more":                  {3000, 31, false, "", guess + "3,000 keys\n  cahce_item:\n"},
		"an eighth":             {80, 10, false, "", guess + "80 keys\n  cahce_item:\n"},
		"no fewer":              {60, 10, false, "", "\n  # 10 keys, 1000 B\n  cahce_item:\n"},
		"declared, five":        {10, 5, true, "cahce:item:{cahce_id}: 5 keys", ""},
		"declared, a hundredth": {3000, 30, true, "cahce:item:{cahce_id}: 30 keys", ""},
		"declared, more": {3000, 31, true, "", "  # guess: may be a misspelling of cache: cache:item:{n} has it, with 3,000 " +
			"keys\n  item_by_cahce:\n"},
		"declared, and none is there": {0, 31, true, "",
			"  # guess: may be a misspelling of cache: cache:item:{n} has it\n  item_by_cahce:\n"},
	} {
		t.Run(name, func(t *testing.T) {
			options := infer.Options{}
			declaration := []byte("keywright: 1\npackage: p\nowner: o\nowns: [\"cache:*\"]\nkeys:\n  item: {key: " +
				"\"cache:item:{n}\", type: string, ttl: 30m}\n")
			if c.declared {
				options.Known = loaded(t, declaration)
			}
			in, err := infer.New(options)
			if err != nil {
				t.Fatal(err)
			}
			in.Add(slices.Concat(lines(c.right, "cache:item:# string 30m"), lines(c.wrong, "cahce:item:# string 30m")))
			d := in.Draft()
			text := string(d.YAML())
			if c.declared {
				merged, err := d.Merge(declaration)
				if err != nil {
					t.Fatal(err)
				}
				loaded(t, merged)
				text = string(merged)
			}
			var left []string
			for _, l := range d.Left {
				left = append(left, l.String())
			}
			if sum(d) != d.All || strings.Contains(text, "key: cahce") == (c.left != "") || !strings.Contains(text, c.want) ||
				strings.Contains(text, "keywright:ignore") || !strings.HasPrefix(strings.Join(left, "\n"), c.left) ||
				c.left != "" && !strings.HasSuffix(left[0], "has it") {
				t.Errorf("left are %q of\n%s", left, text)
			}
		})
	}
}
