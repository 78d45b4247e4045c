package golang_test

import "testing"

// TestValues holds how values are stored: which codec each field has, that what is encrypted is sealed in each place,
// and what may be left out or removed.
func TestValues(t *testing.T) {
	prints(t, `keywright: 1
package: p
owner: o
vars: {id: int, kind: a|b, day: date}
keys:
  obj:
    key: o:{id}
    type: string
    ttl: 1d
    value: {n: int 1.., s: text encrypted optional, raw: bytes, j: json optional, at: unix_s, kind: kind}
  hsh:
    key: h:{id}
    type: hash
    ttl: 5m in 1m..1h ~10% sliding
    fields: {n: int, m: int optional, s: text encrypted optional, key: text optional, day: day}
  one: {key: "h1:{id}", type: hash, ttl: none, fields: {n: text max 3, m: bool optional}}
  mp: {key: "m:{id}", type: hash, field: bytes, value: int, ttl: any}
  mp2: {key: "m2:{id}", type: hash, field: kind, value: text encrypted, ttl: 90ms}
  cnt: {key: "cn:{id}", type: string, value: int 1.., ttl: 1d}
  zs: {key: "z:{id}", type: zset, member: kind, score: unix_ms, ttl: 1d}
  st: {key: "st:{id}", type: stream, ttl: 1d, maxlen: 100, groups: [b c], fields: {a: slug}}
  st2: {key: st2, type: stream, ttl: 1d}
  ls: {key: "l:{id}", type: list, member: json encrypted, ttl: 1d}
`, []printed{
		{"ObjValue", `
// ObjValue is the JSON object of obj.
type ObjValue struct {
	N    int64            // n: int 1..
	S    *string          // s: text optional encrypted
	Raw  []byte           // raw: bytes
	J    *json.RawMessage // j: json optional
	At   time.Time        // at: unix_s
	Kind Kind             // kind: a|b
}
`},
		{"codec_ObjValue_N", `
var (
	codec_ObjValue_N    = value.Int(1, math.MaxInt64)
	codec_ObjValue_S    = value.Text(0)
	codec_ObjValue_Raw  = value.Base64[[]byte]()
	codec_ObjValue_J    = value.Raw()
	codec_ObjValue_At   = value.UnixS()
	codec_ObjValue_Kind = value.Enum(KindA, KindB)
)
`},
		{"members_ObjValue", `
var members_ObjValue = []value.ObjectColumn[ObjValue]{
	value.Member("n", value.Bare, codec_ObjValue_N, func(v *ObjValue) *int64 { return &v.N }),
	value.EncryptedMember(value.OptionalMember("s", value.Quoted, codec_ObjValue_S,
		func(v *ObjValue) **string { return &v.S })),
	value.Member("raw", value.Quoted, codec_ObjValue_Raw, func(v *ObjValue) *[]byte { return &v.Raw }),
	value.OptionalMember("j", value.Inline, codec_ObjValue_J, func(v *ObjValue) **json.RawMessage { return &v.J }),
	value.Member("at", value.Bare, codec_ObjValue_At, func(v *ObjValue) *time.Time { return &v.At }),
	value.Member("kind", value.Quoted, codec_ObjValue_Kind, func(v *ObjValue) *Kind { return &v.Kind }),
}
`},
		{"ObjValue.MarshalJSON", `
// MarshalJSON implements json.Marshaler.
func (v ObjValue) MarshalJSON() ([]byte, error) { return value.MarshalObject(members_ObjValue, &v) }
`},
		{"ObjValue.UnmarshalJSON", `
// UnmarshalJSON implements json.Unmarshaler.
func (v *ObjValue) UnmarshalJSON(text []byte) error {
	return value.UnmarshalObject(members_ObjValue, text, v)
}
`},
		{"value_Obj", `
var value_Obj = value.SealedObject(members_ObjValue)
`},
		{"HshValue", `
// HshValue is the fields of hsh.
type HshValue struct {
	N   int64     // n: int
	M   *int64    // m: int optional
	S   *string   // s: text optional encrypted
	Key *string   // key: text optional
	Day time.Time // day: date
}
`},
		{"fields_HshValue", `
var fields_HshValue = value.Fields[HshValue]{Read: read_HshValue, Columns: []value.Column[HshValue]{
	value.Required("n", codec_HshValue_N, func(v *HshValue) *int64 { return &v.N }),
	value.Optional("m", codec_HshValue_M, func(v *HshValue) **int64 { return &v.M }),
	value.Encrypted(value.Optional("s", codec_HshValue_S, func(v *HshValue) **string { return &v.S })),
	value.Optional("key", codec_HshValue_Key, func(v *HshValue) **string { return &v.Key }),
	value.Required("day", codec_HshValue_Day, func(v *HshValue) *time.Time { return &v.Day }),
}}
`},
		{"read_HshValue", `
func read_HshValue(fields map[string]string) (v HshValue, err error) {
	if text, ok := fields["n"]; !ok {
		return v, value.Missing("n")
	} else if v.N, err = codec_HshValue_N.Parse(text); err != nil {
		return v, value.In("n", err)
	}
	if text, ok := fields["m"]; ok {
		x, err := codec_HshValue_M.Parse(text)
		if err != nil {
			return v, value.In("m", err)
		}
		v.M = &x
	}
	if text, ok := fields["s"]; ok {
		x, err := codec_HshValue_S.Parse(text)
		if err != nil {
			return v, value.In("s", err)
		}
		v.S = &x
	}
	if text, ok := fields["key"]; ok {
		x, err := codec_HshValue_Key.Parse(text)
		if err != nil {
			return v, value.In("key", err)
		}
		v.Key = &x
	}
	if text, ok := fields["day"]; !ok {
		return v, value.Missing("day")
	} else if v.Day, err = codec_HshValue_Day.Parse(text); err != nil {
		return v, value.In("day", err)
	}
	return v, nil
}
`},
		{"HshHandle", `
// HshHandle is one hsh.
type HshHandle struct{ typed.Hash[HshValue] }
`},
		{"Keyspace.Hsh", `
// Hsh:
//
// Key h:{id}, hash, TTL 5m in 1m..1h ~10% sliding.
func (k *Keyspace) Hsh(id int64) HshHandle {
	name, err := HshKey(id)
	return HshHandle{typed.NewHash(keywright.Binding{Client: k.client, Entry: &entry_Hsh, Key: name, Err: err},
		&fields_HshValue)}
}
`},
		{"HshHandle.N", `
// N is the field n.
func (h HshHandle) N() typed.IntField {
	return typed.IntField{Field: typed.NewField(h.Key, "n", &codec_HshValue_N, false)}
}
`},
		{"HshHandle.M", `
// M is the field m.
func (h HshHandle) M() typed.OptionalIntField {
	return typed.OptionalIntField{OptionalField: typed.OptionalField[int64]{Field: typed.NewField(h.Key, "m",
		&codec_HshValue_M, false)}}
}
`},
		{"HshHandle.S", `
// S is the field s.
func (h HshHandle) S() typed.OptionalField[string] {
	return typed.OptionalField[string]{Field: typed.NewField(h.Key, "s", &sealed_codec_HshValue_S, false)}
}
`},
		{"HshHandle.Key2", `
// Key2 is the field key.
func (h HshHandle) Key2() typed.OptionalField[string] {
	return typed.OptionalField[string]{Field: typed.NewField(h.Key, "key", &codec_HshValue_Key, false)}
}
`},
		{"sealed_codec_HshValue_S", `
var sealed_codec_HshValue_S = value.Encrypt(codec_HshValue_S)
`},
		{"entry_Hsh", `
var entry_Hsh = keywright.Entry{Name: "hsh", Pattern: "h:{id}", Type: "hash",
	TTL: keywright.TTL{Policy: keywright.Expires, Default: 5 * time.Minute, Min: 1 * time.Minute, Max: 1 * time.Hour,
		Jitter: 0.1, Sliding: true, Text: "5m in 1m..1h ~10% sliding"}, Schema: "p"}
`},
		{"OneHandle.N", `
// N is the field n.
func (h OneHandle) N() typed.Field[string] {
	return typed.NewField(h.Key, "n", &codec_OneValue_N, true)
}
`},
		{"OneHandle.M", `
// M is the field m.
func (h OneHandle) M() typed.OptionalField[bool] {
	return typed.OptionalField[bool]{Field: typed.NewField(h.Key, "m", &codec_OneValue_M, false)}
}
`},
		{"entry_One", `
var entry_One = keywright.Entry{Name: "one", Pattern: "h1:{id}", Type: "hash",
	TTL: keywright.TTL{Policy: keywright.Forever, Text: "none"}}
`},
		{"field_Mp", `
var field_Mp = value.Text(0)
`},
		{"Keyspace.Mp", `
// Mp:
//
// Key m:{id}, hash, TTL any.
func (k *Keyspace) Mp(id int64) typed.CountMap[string] {
	name, err := MpKey(id)
	return typed.NewCountMap(keywright.Binding{Client: k.client, Entry: &entry_Mp, Key: name, Err: err}, &field_Mp,
		&value_Mp)
}
`},
		{"entry_Mp", `
var entry_Mp = keywright.Entry{Name: "mp", Pattern: "m:{id}", Type: "hash",
	TTL: keywright.TTL{Policy: keywright.Undecided, Text: "any"}}
`},
		{"field_Mp2", `
var field_Mp2 = value.Enum(KindA, KindB)
`},
		{"value_Mp2", `
var value_Mp2 = value.Encrypt(value.Text(0))
`},
		{"Keyspace.Mp2", `
// Mp2:
//
// Key m2:{id}, hash, TTL 90ms.
func (k *Keyspace) Mp2(id int64) typed.Map[Kind, string] {
	name, err := Mp2Key(id)
	return typed.NewMap(keywright.Binding{Client: k.client, Entry: &entry_Mp2, Key: name, Err: err}, &field_Mp2,
		&value_Mp2)
}
`},
		{"entry_Mp2", `
var entry_Mp2 = keywright.Entry{Name: "mp2", Pattern: "m2:{id}", Type: "hash",
	TTL: keywright.TTL{Policy: keywright.Expires, Default: 90 * time.Millisecond, Min: 90 * time.Millisecond,
		Max: 90 * time.Millisecond, Text: "90ms"}, Schema: "p"}
`},
		{"Keyspace.Cnt", `
// Cnt:
//
// Key cn:{id}, string, TTL 1d.
func (k *Keyspace) Cnt(id int64) typed.Counter {
	name, err := CntKey(id)
	return typed.NewCounter(keywright.Binding{Client: k.client, Entry: &entry_Cnt, Key: name, Err: err}, &value_Cnt)
}
`},
		{"Keyspace.Zs", `
// Zs:
//
// Key z:{id}, zset, TTL 1d.
func (k *Keyspace) Zs(id int64) typed.ZSet[Kind, time.Time] {
	name, err := ZsKey(id)
	return typed.NewZSet(keywright.Binding{Client: k.client, Entry: &entry_Zs, Key: name, Err: err}, &member_Zs,
		&score_Zs)
}
`},
		{"member_Zs", `
var member_Zs = value.Enum(KindA, KindB)
`},
		{"score_Zs", `
var score_Zs = value.UnixMSScore()
`},
		{"Keyspace.St", `
// St:
//
// Key st:{id}, stream, TTL 1d.
func (k *Keyspace) St(id int64) typed.Stream[StValue] {
	name, err := StKey(id)
	return typed.NewStream(keywright.Binding{Client: k.client, Entry: &entry_St, Key: name, Err: err},
		&fields_StValue, 100)
}
`},
		{"Keyspace.StBCGroup", `
// StBCGroup is the consumer group b c of St.
func (k *Keyspace) StBCGroup(id int64) typed.Group[StValue] {
	return typed.NewGroup(k.St(id), "b c")
}
`},
		{"Keyspace.St2", `
// St2:
//
// Key st2, stream, TTL 1d.
func (k *Keyspace) St2() typed.Stream[map[string]string] {
	name, err := St2Key()
	return typed.NewStream(keywright.Binding{Client: k.client, Entry: &entry_St2, Key: name, Err: err}, &fields_St2,
		0)
}
`},
		{"fields_St2", `
var fields_St2 = value.AnyFields()
`},
		{"Keyspace.Ls", `
// Ls:
//
// Key l:{id}, list, TTL 1d.
func (k *Keyspace) Ls(id int64) typed.List[json.RawMessage] {
	name, err := LsKey(id)
	return typed.NewList(keywright.Binding{Client: k.client, Entry: &entry_Ls, Key: name, Err: err}, &member_Ls)
}
`},
		{"member_Ls", `
var member_Ls = value.Encrypt(value.Raw())
`},
		{"Entries", `
// Entries is what the declaration says of every key, in its order.
func Entries() []keywright.Entry {
	return []keywright.Entry{entry_Obj, entry_Hsh, entry_One, entry_Mp, entry_Mp2, entry_Cnt, entry_Zs, entry_St,
		entry_St2, entry_Ls}
}
`},
		{"Kind", `
// Kind is one of the words of kind.
type Kind string
`},
		{"KindA", `
// The words of Kind, in the order they are declared in.
const (
	KindA Kind = "a"
	KindB Kind = "b"
)
`},
	})
}
