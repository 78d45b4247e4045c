package golang_test

import "testing"

// TestKeysOfAnItem holds what the builder and the parser of an item are where narrower patterns have some of its keys.
func TestKeysOfAnItem(t *testing.T) {
	prints(t, `keywright: 1
package: p
owner: o
vars: {id: text, n: int}
keys:
  memo: {key: "m:{id}", type: entity, ttl: 1h, fields: {kind: slug}, index: {expires: "m:expiry"}}
  row: {key: "m:r{n}", type: list, ttl: none}
`, []printed{
		{"MemoKey", `
// MemoKey builds the key m:{id}.
func MemoKey(id string) (string, error) {
	if reason := key.Text(id, 0, false, false); reason != "" {
		return "", key.Refuse("memo", "id", reason)
	}
	b := make([]byte, 0, 2+len(id))
	b = append(b, "m:"...)
	b = append(b, id...)
	if reason := other_Memo(key.String(b)); reason != "" {
		return "", key.Refuse("memo", "", reason)
	}
	return key.String(b), nil
}
`},
		{"ParseMemoKey", `
// ParseMemoKey reads the placeholders of a key m:{id}; ok is false for any other
// key, and where a number has more than 64 bits.
func ParseMemoKey(text string) (id string, ok bool) {
	if other_Memo(text) != "" {
		return "", false
	}
	rest := text
	if rest, ok = strings.CutPrefix(rest, "m:"); !ok {
		return "", false
	}
	part0 := rest
	if key.Text(part0, 0, false, false) != "" {
		return "", false
	}
	id = part0
	return id, true
}
`},
		{"other_Memo", `
// other_Memo says which other key a key m:{id} is, "" if it is none.
func other_Memo(text string) string {
	if text == "m:expiry" {
		return "is one of memo.index.expires, m:expiry"
	}
	if _, ok := ParseRowKey(text); ok {
		return "is one of row, m:r{n}"
	}
	return ""
}
`},
	})
}

// TestKeys holds what the builder and the parser of each shape of pattern are: bounds are checked on both sides, a
// default is filled in, parts are cut where their type ends, and where only the pattern knows that, it is asked.
func TestKeys(t *testing.T) {
	prints(t, `keywright: 1
package: p
owner: o
vars:
  id: int
  n: int 1..5
  u: uuid
  h: hex 8
  word: low|high
  w: {type: red|blue, default: red}
  tail: text rest
keys:
  cart: {key: cart, type: string, ttl: 1d}
  two: {key: "p:{#c}:{n}:end:end", type: string, ttl: 1d}
  three: {key: "p{u}{id}", type: string, ttl: 1d}
  four: {key: "x'{id}'{h}é{n}", type: string, ttl: 1d}
  five: {key: "{w}:{tail}", type: string, ttl: 1d}
  six: {key: "six:{word}{n}", type: string, ttl: 1d}
`, []printed{
		{"CartKey", `
// CartKey builds the key cart.
func CartKey() (string, error) {
	return "cart", nil
}
`},
		{"ParseCartKey", `
no ParseCartKey
`},
		{"TwoKey", `
// TwoKey builds the key p:{#c}:{n}:end:end.
func TwoKey(n int64) (string, error) {
	if reason := key.Int(n, 1, 5); reason != "" {
		return "", key.Refuse("two", "n", reason)
	}
	b := make([]byte, 0, 34)
	b = append(b, "p:{c}:"...)
	b = strconv.AppendInt(b, n, 10)
	b = append(b, ":end:end"...)
	return key.String(b), nil
}
`},
		{"ParseTwoKey", `
// ParseTwoKey reads the placeholders of a key p:{#c}:{n}:end:end; ok is false for any other
// key, and where a number has more than 64 bits.
func ParseTwoKey(text string) (n int64, ok bool) {
	rest := text
	if rest, ok = strings.CutPrefix(rest, "p:{c}:"); !ok {
		return 0, false
	}
	part0, ok := strings.CutSuffix(rest, ":end:end")
	if !ok {
		return 0, false
	}
	if n, ok = key.ParseInt(part0, 1, 5); !ok {
		return 0, false
	}
	return n, true
}
`},
		{"ThreeKey", `
// ThreeKey builds the key p{u}{id}.
func ThreeKey(u string, id int64) (string, error) {
	if reason := key.UUID(u); reason != "" {
		return "", key.Refuse("three", "u", reason)
	}
	b := make([]byte, 0, 21+len(u))
	b = append(b, "p"...)
	b = append(b, u...)
	b = strconv.AppendInt(b, id, 10)
	return key.String(b), nil
}
`},
		{"ParseThreeKey", `
// ParseThreeKey reads the placeholders of a key p{u}{id}; ok is false for any other
// key, and where a number has more than 64 bits.
func ParseThreeKey(text string) (u string, id int64, ok bool) {
	rest := text
	if rest, ok = strings.CutPrefix(rest, "p"); !ok {
		return "", 0, false
	}
	if len(rest) < 36 {
		return "", 0, false
	}
	part0 := rest[:36]
	rest = rest[36:]
	part1 := rest
	if key.UUID(part0) != "" {
		return "", 0, false
	}
	u = part0
	if id, ok = key.ParseInt(part1, math.MinInt64, math.MaxInt64); !ok {
		return "", 0, false
	}
	return u, id, true
}
`},
		{"ParseFourKey", `
// ParseFourKey reads the placeholders of a key x'{id}'{h}é{n}; ok is false for any other
// key, and where a number has more than 64 bits.
func ParseFourKey(text string) (id int64, h string, n int64, ok bool) {
	rest := text
	if rest, ok = strings.CutPrefix(rest, "x'"); !ok {
		return 0, "", 0, false
	}
	end0 := strings.IndexByte(rest, 0x27)
	if end0 < 0 {
		return 0, "", 0, false
	}
	part0 := rest[:end0]
	rest = rest[end0:]
	if rest, ok = strings.CutPrefix(rest, "'"); !ok {
		return 0, "", 0, false
	}
	if len(rest) < 8 {
		return 0, "", 0, false
	}
	part1 := rest[:8]
	rest = rest[8:]
	if rest, ok = strings.CutPrefix(rest, "é"); !ok {
		return 0, "", 0, false
	}
	part2 := rest
	if id, ok = key.ParseInt(part0, math.MinInt64, math.MaxInt64); !ok {
		return 0, "", 0, false
	}
	if key.Hex(part1, 8) != "" {
		return 0, "", 0, false
	}
	h = part1
	if n, ok = key.ParseInt(part2, 1, 5); !ok {
		return 0, "", 0, false
	}
	return id, h, n, true
}
`},
		{"FiveKey", `
// FiveKey builds the key {w}:{tail}.
// An empty w is red.
func FiveKey(w W, tail string) (string, error) {
	if w == "" {
		w = "red"
	}
	if reason := key.OneOf(string(w), "red", "blue"); reason != "" {
		return "", key.Refuse("five", "w", reason)
	}
	if reason := key.Text(tail, 0, true, false); reason != "" {
		return "", key.Refuse("five", "tail", reason)
	}
	b := make([]byte, 0, 1+len(w)+len(tail))
	b = append(b, w...)
	b = append(b, ":"...)
	b = append(b, tail...)
	return key.String(b), nil
}
`},
		{"ParseFiveKey", `
// ParseFiveKey reads the placeholders of a key {w}:{tail}; ok is false for any other
// key, and where a number has more than 64 bits.
func ParseFiveKey(text string) (w W, tail string, ok bool) {
	rest := text
	end0 := strings.IndexByte(rest, ':')
	if end0 < 0 {
		return "", "", false
	}
	part0 := rest[:end0]
	rest = rest[end0:]
	if rest, ok = strings.CutPrefix(rest, ":"); !ok {
		return "", "", false
	}
	part1 := rest
	if key.OneOf(string(part0), "red", "blue") != "" {
		return "", "", false
	}
	w = W(part0)
	if key.Text(part1, 0, true, false) != "" {
		return "", "", false
	}
	tail = part1
	return w, tail, true
}
`},
		{"ParseSixKey", `
// ParseSixKey reads the placeholders of a key six:{word}{n}; ok is false for any other
// key, and where a number has more than 64 bits.
func ParseSixKey(text string) (word Word, n int64, ok bool) {
	var parts [2]string
	if !pattern_Six.Split(text, parts[:]) {
		return "", 0, false
	}
	part0 := parts[0]
	part1 := parts[1]
	if key.OneOf(string(part0), "low", "high") != "" {
		return "", 0, false
	}
	word = Word(part0)
	if n, ok = key.ParseInt(part1, 1, 5); !ok {
		return "", 0, false
	}
	return word, n, true
}
`},
		{"pattern_Six", `
var pattern_Six = key.NewSlow("six:{word}{n}", map[string]string{"word": "low|high", "n": "int 1..5"})
`},
	})
}

// TestNamespace holds that with a namespace each builder and parser is a method of it, and that no key of another
// namespace is made or read: the pattern, the fill of a cache, an entity and its events, and the glob of a channel.
func TestNamespace(t *testing.T) {
	prints(t, `keywright: 1
package: p
owner: o
namespace: {default: shop, names: "shop|shop-test"}
vars: {id: int, n: int 1..5, word: low|high}
keys:
  cart: {key: shop:cart, type: string, ttl: 1d}
  one: {key: "shop:p:{id}", type: string, ttl: 1d}
  slow: {key: "shop:six:{word}{n}", type: string, ttl: 1d}
  c: {key: "shop:c:{id}", type: cache, value: int, ttl: 1m}
  c2: {key: "shop:c2:{id}", type: cache, value: int, ttl: 1m, fill: "shop:f:{id}"}
  e:
    key: shop:e:{x}
    type: entity
    ttl: 1h
    fields: {n: int, at: unix_ms}
    index: {n: "shop:i:{n}", at: shop:at}
    emits: {create: ch, delete: ch2}
channels:
  ch: {channel: "shop:ch:{x}:*?:{n}", message: {n: int}}
  ch2: {channel: "shop:ch2", message: {n: int}}
`, []printed{
		{"InNamespace", `
// InNamespace is the namespace of a name, for Tuning. It refuses a name that the
// declaration does not allow.
func InNamespace(name string) (Namespace, error) {
	if reason := key.Namespace(name,
		func(name string) string { return key.OneOf(name, "shop", "shop-test") }); reason != "" {
		return Namespace{}, key.Refuse("namespace", "namespace", reason)
	}
	return Namespace{name}, nil
}
`},
		{"Namespace.String", `
// String is the name.
func (ns Namespace) String() string {
	if ns.name == "" {
		return "shop"
	}
	return ns.name
}
`},
		{"Keyspace.Namespace", `
// Namespace is that of all keys and channels.
func (k *Keyspace) Namespace() Namespace { return k.ns }
`},
		{"Tuning", `
// Tuning are the options of the constructs, by entry. What is left zero is as
// declared.
type Tuning struct {
	Namespace Namespace // of InNamespace; zero: shop
	C         cache.Options
	C2        cache.Options
}
`},
		{"NewTuned", `
// NewTuned is New with other options.
func NewTuned(c *keywright.Client, t Tuning) *Keyspace {
	k := &Keyspace{client: c, tuning: t}
	k.ns = t.Namespace
	k.tuning.C.Fill = cache.FillKeyIn(k.ns.String())
	k.cache_C = cache.New(keywright.Binding{Client: k.client, Entry: &entry_C}, &value_C, k.tuning.C)
	k.tuning.C2.Fill = k.fill_C2
	k.cache_C2 = cache.New(keywright.Binding{Client: k.client, Entry: &entry_C2}, &value_C2, k.tuning.C2)
	{
		spec, err := k.spec_E()
		k.store_E = EStore{entity.New(keywright.Binding{Client: k.client, Entry: &entry_E, Err: err}, spec), k}
	}
	return k
}
`},
		{"Namespace.CartKey", `
// CartKey builds the key shop:cart.
func (ns Namespace) CartKey() (string, error) {
	return ns.String() + ":cart", nil
}
`},
		{"Namespace.OneKey", `
// OneKey builds the key shop:p:{id}.
func (ns Namespace) OneKey(id int64) (string, error) {
	b := make([]byte, 0, 23+len(ns.String()))
	b = append(b, ns.String()...)
	b = append(b, ":p:"...)
	b = strconv.AppendInt(b, id, 10)
	return key.String(b), nil
}
`},
		{"Namespace.ParseOneKey", `
// ParseOneKey reads the placeholders of a key shop:p:{id}; ok is false for any other
// key, and where a number has more than 64 bits.
func (ns Namespace) ParseOneKey(text string) (id int64, ok bool) {
	rest := text
	if rest, ok = strings.CutPrefix(rest, ns.String()); !ok {
		return 0, false
	}
	if rest, ok = strings.CutPrefix(rest, ":p:"); !ok {
		return 0, false
	}
	part0 := rest
	if id, ok = key.ParseInt(part0, math.MinInt64, math.MaxInt64); !ok {
		return 0, false
	}
	return id, true
}
`},
		{"Namespace.ParseSlowKey", `
// ParseSlowKey reads the placeholders of a key shop:six:{word}{n}; ok is false for any other
// key, and where a number has more than 64 bits.
func (ns Namespace) ParseSlowKey(text string) (word Word, n int64, ok bool) {
	rest := text
	if rest, ok = strings.CutPrefix(rest, ns.String()); !ok {
		return "", 0, false
	}
	if rest, ok = strings.CutPrefix(rest, ":six:"); !ok {
		return "", 0, false
	}
	text = "shop:six:" + rest
	var parts [2]string
	if !pattern_Slow.Split(text, parts[:]) {
		return "", 0, false
	}
	part0 := parts[0]
	part1 := parts[1]
	if key.OneOf(string(part0), "low", "high") != "" {
		return "", 0, false
	}
	word = Word(part0)
	if n, ok = key.ParseInt(part1, 1, 5); !ok {
		return "", 0, false
	}
	return word, n, true
}
`},
		{"pattern_Slow", `
var pattern_Slow = key.NewSlow("shop:six:{word}{n}", map[string]string{"word": "low|high", "n": "int 1..5"})
`},
		{"Keyspace.One", `
// One:
//
// Key shop:p:{id}, string, TTL 1d.
func (k *Keyspace) One(id int64) typed.String[string] {
	name, err := k.ns.OneKey(id)
	return typed.NewString(keywright.Binding{Client: k.client, Entry: &entry_One, Key: name, Err: err}, &value_One)
}
`},
		{"Keyspace.C", `
// C:
//
// Key shop:c:{id}, string, TTL 1m.
func (k *Keyspace) C(id int64) cache.Item[int64] { return k.cache_C.Key(k.ns.CKey(id)) }
`},
		{"Keyspace.fill_C2", `
func (k *Keyspace) fill_C2(main string) string {
	id, _ := k.ns.ParseC2Key(main)
	name, _ := k.ns.C2FillKey(id)
	return name
}
`},
		{"EStore", `
// EStore is all e: what can be done with them.
type EStore struct {
	*entity.Store[string, EValue]
	k *Keyspace
}
`},
		{"EStore.ByN", `
// ByN is those of one n.
func (s EStore) ByN(n int64) entity.Of[EValue] {
	key, err := s.k.ns.EIndexNKey(n)
	return s.At("n", key, err)
}
`},
		{"Keyspace.EStore", `
// EStore is all e: made, changed and found with their indexes in step.
func (k *Keyspace) EStore() EStore { return k.store_E }
`},
		{"Keyspace.spec_E", `
func (k *Keyspace) spec_E() (*entity.Spec[string, EValue], error) {
	expiresKey, err1 := k.ns.EExpiryKey()
	recordsKey, err2 := k.ns.ELedgerKey()
	leaseKey, err3 := k.ns.ESweepKey()
	spec := entity.Spec[string, EValue]{
		Prefix: k.ns.String() + ":e:",
		Key:    k.ns.EKey,
		Parse:  k.ns.ParseEKey,
		Fields: &fields_EValue,
		Indexes: []entity.Index[EValue]{
			{Name: "n", Field: "n", Prefix: k.ns.String() + ":i:", Key: func(v *EValue) (string, error) {
				return k.ns.EIndexNKey(v.N)
			}, Legal: func(key string) bool {
				_, ok := k.ns.ParseEIndexNKey(key)
				return ok
			}},
			{Name: "at", Score: "at", Prefix: k.ns.String() + ":at"},
		},
		Expires:  expiresKey,
		Records:  recordsKey,
		Lease:    leaseKey,
		IndexTTL: 2 * time.Hour,
		OnCreate: []entity.Event{{Mode: entity.Publish,
			Name: []entity.Part{{Name: k.ns.String(), Literal: true}, {Name: ":ch:", Literal: true},
				{Name: "x", Form: value.Quoted}, {Name: ":*?:", Literal: true}, {Name: "n", Field: "n", Form: value.Bare}},
			Data: []entity.Part{{Name: "n", Field: "n", Form: value.Bare}}}},
		OnDelete: []entity.Event{{Mode: entity.Publish, Channel: k.ns.String() + ":ch2",
			Data: []entity.Part{{Name: "n", Field: "n", Form: value.Bare}}}},
	}
	return &spec, cmp.Or(err1, err2, err3)
}
`},
		{"Keyspace.ChTopic", `
// ChTopic is the channel ch.
//
// Channel shop:ch:{x}:*?:{n}.
func (k *Keyspace) ChTopic(x string, n int64) event.Topic[ChMessage] {
	name, err := k.ns.ChChannel(x, n)
	return event.New(keywright.Binding{Client: k.client, Entry: &channel_Ch, Key: name, Err: err}, &message_Ch,
		event.Config{})
}
`},
		{"Keyspace.ChTopics", `
// ChTopics are all channels shop:ch:{x}:*?:{n}:
// ParseChChannel reads the name of a message's channel.
func (k *Keyspace) ChTopics() event.Topics[ChMessage] {
	return event.Pattern(event.New(keywright.Binding{Client: k.client, Entry: &channel_Ch}, &message_Ch,
		event.Config{}), k.ns.String()+":ch:*:\\*\\?:*", func(name string) bool {
		_, _, ok := k.ns.ParseChChannel(name)
		return ok
	})
}
`},
	})
}

// TestNamesOfNamespaces: the default can always be chosen, whether it is among the names that are declared or not.
func TestNamesOfNamespaces(t *testing.T) {
	for namespace, want := range map[string]string{
		"shop": `key.Namespace(name, nil)`,
		"{default: shop, names: shop|live}": `key.Namespace(name,
		func(name string) string { return key.OneOf(name, "shop", "live") })`,
		"{default: shop, names: test|live}": `key.Namespace(name,
		func(name string) string { return key.OneOf(name, "shop", "test", "live") })`,
		`{default: shop, names: "/a+/"}`: `key.Namespace(name, func(name string) string {
		if name == "shop" {
			return ""
		}
		return type_Regexp.Text(name, false)
	})`,
	} {
		prints(t, "keywright: 1\npackage: p\nnamespace: "+namespace+"\nkeys: {a: {key: shop:a, type: string, ttl: 1d}}\n",
			[]printed{{"InNamespace", `// InNamespace is the namespace of a name, for Tuning. It refuses a name that the
// declaration does not allow.
func InNamespace(name string) (Namespace, error) {
	if reason := ` + want + `; reason != "" {
		return Namespace{}, key.Refuse("namespace", "namespace", reason)
	}
	return Namespace{name}, nil
}`}})
	}
}
