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

// TestScriptsAndEvents holds that a placeholder that several keys share is one parameter, that the first error of keys and
// arguments counts, and that an event deletes first and announces then.
func TestScriptsAndEvents(t *testing.T) {
	prints(t, `keywright: 1
package: p
owner: o
vars: {id: int, who: uuid}
keys:
  obj: {key: "o:{id}", type: string, ttl: 1d}
  ca: {key: "c:{id}:{who}", type: cache, value: int, ttl: 1m}
  lo: {key: "lo:{id}", type: lock, ttl: 5s}
  run: {doc: Runs., type: script, file: s.lua, keys: [obj, ca], args: {n: int, s: text}, returns: int}
  run2: {type: script, file: s.lua, keys: [obj], effect: reads, returns: bool}
  run3: {type: script, file: s.lua, keys: [obj], effect: idempotent}
channels:
  sh: {channel: "sh:{id}", sharded: true, message: {n: int}}
  an: {channel: "an:{id}", message: {q: text, n: int optional, id: text}, reply: {r: int}}
  fix: {channel: fix, reply: {r: int}}
  raw: {channel: raw}
  dur: {channel: "du:{id}", durable: {age: 7d, maxlen: 5, groups: [mail], retry: 3}, envelope: plain, message: {a: text}}
events:
  both: {doc: Both., with: [id, who, a, q, n], deletes: [obj, ca], emits: [an, dur, raw]}
  only: {with: [id], deletes: [obj]}
  said: {with: [a, id, q], emits: [an]}
  held: {with: [id], deletes: [lo, obj]}
  none: {with: [id]}
`, []printed{
		{"Keyspace.Run", `
// Runs.
// One round trip.
func (k *Keyspace) Run(id int64, who string, n int64, s_ string) keywright.Op[int64] {
	var err error
	keys := make([]string, 0, 2)
	args := make([]string, 0, 2)
	if name, failed := ObjKey(id); failed == nil {
		keys = append(keys, name)
	} else if err == nil {
		err = failed
	}
	if name, failed := CaKey(id, who); failed == nil {
		keys = append(keys, name)
	} else if err == nil {
		err = failed
	}
	args, err = typed.Arg(args, &argument_Run_1, "n", n, err)
	args, err = typed.Arg(args, &argument_Run_2, "s", s_, err)
	return typed.NewCall(keywright.Binding{Client: k.client, Entry: &entry_Run, Err: err},
		typed.Call{Script: script_Run, Effect: keywright.Writes, Keys: keys, Args: args}, typed.Reply(&result_Run))
}
`},
		{"entry_Run", `
var entry_Run = keywright.Entry{Name: "run", Type: "script"}
`},
		{"script_Run", `
var script_Run = keywright.NewScript("run", "return KEYS[1]")
`},
		{"argument_Run_1", `
var argument_Run_1 = value.Int(math.MinInt64, math.MaxInt64)
`},
		{"result_Run", `
var result_Run = value.Int(math.MinInt64, math.MaxInt64)
`},
		{"Keyspace.Run2", `
// Run2:
// One round trip.
func (k *Keyspace) Run2(id int64) keywright.Op[bool] {
	var err error
	keys := make([]string, 0, 1)
	args := make([]string, 0, 0)
	if name, failed := ObjKey(id); failed == nil {
		keys = append(keys, name)
	} else if err == nil {
		err = failed
	}
	return typed.NewCall(keywright.Binding{Client: k.client, Entry: &entry_Run2, Err: err},
		typed.Call{Script: script_Run2, Effect: keywright.Reads, Keys: keys, Args: args}, typed.ReplyBool)
}
`},
		{"script_Run2", `
var script_Run2 = keywright.NewReadOnlyScript("run2", "return KEYS[1]")
`},
		{"Keyspace.Run3", `
// Run3:
// One round trip.
func (k *Keyspace) Run3(id int64) keywright.Act {
	var err error
	keys := make([]string, 0, 1)
	args := make([]string, 0, 0)
	if name, failed := ObjKey(id); failed == nil {
		keys = append(keys, name)
	} else if err == nil {
		err = failed
	}
	return keywright.Act{Op: typed.NewCall(keywright.Binding{Client: k.client, Entry: &entry_Run3, Err: err},
		typed.Call{Script: script_Run3, Effect: keywright.Idempotent, Keys: keys, Args: args}, typed.ReplyNone)}
}
`},
		{"Keyspace.ShTopic", `
// ShTopic is the channel sh.
//
// Channel sh:{id}.
func (k *Keyspace) ShTopic(id int64) event.Topic[ShMessage] {
	name, err := ShChannel(id)
	return event.New(keywright.Binding{Client: k.client, Entry: &channel_Sh, Key: name, Err: err}, &message_Sh,
		event.Config{Sharded: true})
}
`},
		{"Keyspace.ShTopics", `
no Keyspace.ShTopics
`},
		{"Keyspace.AnExchange", `
// AnExchange is the channel an.
//
// Channel an:{id}.
// Answers come on {#an:{id}}:reply:{caller}.
func (k *Keyspace) AnExchange(id int64) event.Exchange[AnMessage, AnReply] {
	return event.NewExchange(k.AnTopic(id), &reply_An,
		func(caller string) (string, error) { return AnReplyChannel(id, caller) })
}
`},
		{"Keyspace.FixTopic", `
// FixTopic is the channel fix.
//
// Channel fix.
func (k *Keyspace) FixTopic() event.Topic[json.RawMessage] {
	name, err := FixChannel()
	return event.New(keywright.Binding{Client: k.client, Entry: &channel_Fix, Key: name, Err: err}, &message_Fix,
		event.Config{})
}
`},
		{"Keyspace.FixExchange", `
// FixExchange is the channel fix.
//
// Channel fix.
// Answers come on {#fix}:reply:{caller}.
func (k *Keyspace) FixExchange() event.Exchange[json.RawMessage, FixReply] {
	return event.NewExchange(k.FixTopic(), &reply_Fix,
		func(caller string) (string, error) { return FixReplyChannel(caller) })
}
`},
		{"Keyspace.RawTopic", `
// RawTopic is the channel raw.
//
// Channel raw.
func (k *Keyspace) RawTopic() event.Topic[json.RawMessage] {
	name, err := RawChannel()
	return event.New(keywright.Binding{Client: k.client, Entry: &channel_Raw, Key: name, Err: err}, &message_Raw,
		event.Config{})
}
`},
		{"channel_Raw", `
var channel_Raw = keywright.Entry{Name: "raw", Pattern: "raw", Type: "channel"}
`},
		{"Keyspace.Dur", `
// Dur:
//
// Key du:{id}, stream, TTL 7d sliding.
func (k *Keyspace) Dur(id int64) event.Stream[DurMessage] {
	main, err1 := DurKey(id)
	dead, err2 := DurDeadKey(id)
	return event.NewStream(keywright.Binding{Client: k.client, Entry: &entry_Dur, Err: cmp.Or(err1, err2)},
		event.StreamKeys{Main: main, Dead: dead}, &message_Dur,
		event.StreamConfig{MaxLen: 5, Age: 168 * time.Hour, Retry: 3, Plain: true})
}
`},
		{"DurMailGroup", `
// DurMailGroup is the consumer group mail of Dur.
const DurMailGroup = "mail"
`},
		{"Keyspace.Both", `
// Both.
// It deletes obj, ca; one round trip per server. What fails for a passing
// reason is tried again: deleting twice does no harm.
// It announces that on an, dur, raw, once all is deleted, so that a listener finds
// nothing stale; one round trip each.
func (k *Keyspace) Both(ctx context.Context, id int64, who, q string, n int64, id2, a string) error {
	var stale keywright.Batch
	keywright.Queue(&stale, k.Obj(id).Delete())
	keywright.Queue(&stale, k.Ca(id, who).LaterInvalidate())
	if err := stale.Run(ctx); err != nil {
		return err
	}
	return errors.Join(k.AnTopic(id).Publish(ctx, AnMessage{Q: q, N: &n, ID: id2}),
		func() error { _, err := k.Dur(id).Publish(ctx, DurMessage{A: a}); return err }(),
		k.RawTopic().Publish(ctx, json.RawMessage(nil)))
}
`},
		{"Keyspace.Only", `
// Only:
// It deletes obj; one round trip per server. What fails for a passing
// reason is tried again: deleting twice does no harm.
func (k *Keyspace) Only(ctx context.Context, id int64) error {
	var stale keywright.Batch
	keywright.Queue(&stale, k.Obj(id).Delete())
	return stale.Run(ctx)
}
`},
		{"Keyspace.Said", `
// Said:
// It announces that on an, once all is deleted, so that a listener finds
// nothing stale; one round trip each.
func (k *Keyspace) Said(ctx context.Context, id int64, q, id2 string) error {
	return k.AnTopic(id).Publish(ctx, AnMessage{Q: q, ID: id2})
}
`},
		{"Keyspace.Held", `
no Keyspace.Held
`},
		{"Keyspace.None", `
no Keyspace.None
`},
	})
}

// TestRepositories holds that each record of a migration is read and written at the key of its move, and that what is
// sealed has no repository.
func TestRepositories(t *testing.T) {
	prints(t, `keywright: 1
package: p
owner: o
namespace: bot
vars: {g: int, hash: hex}
keys:
  persona: {key: "bot:p:{g}", type: string, value: text, ttl: none}
  profile: {key: "bot:profile:{g}", type: hash, ttl: none, fields: {name: text, age: int}}
  feeds: {key: "bot:f:{g}", type: hash, field: text, value: json, ttl: none}
  tags: {key: "bot:t:{g}", type: set, member: text, ttl: none}
  stories: {key: "bot:h", type: zset, member: hash, score: unix_s, ttl: none}
  story: {key: "bot:h:{g}:story:{hash}", type: string, value: {hash: hex, at: text, title: text}, ttl: 2d}
  words: {key: "bot:w:{g}", type: list, member: text, ttl: none}
  secret: {key: "bot:s:{g}", type: string, value: text encrypted, ttl: none}
migrations:
  json_files:
    sources: {state: {file: state.json}}
    parts:
      all:
        moves:
          - {from: "state:/{g}/persona", to: persona, value: .}
          - {from: "state:/{g}/persona2", to: persona, value: .}
          - {from: "state:/{g}/profile", to: profile, fields: {name: .name, age: .age}}
          - {from: "state:/{g}/feeds/{name}", to: feeds, field: "{name}", value: .}
          - {from: "state:/{g}/tags/[]", to: tags, member: .}
          - {from: "state:/{g}/stories/[]", to: stories, member: .hash, score: iso8601(.at)}
          - {from: "state:/{g}/stories/[]", to: story, with: {hash: .hash}, value: ., ttl: {from: iso8601(.at)}}
          - {from: "state:/{g}/words/[]", to: words, member: .}
          - {from: "state:/{g}/secret", to: secret, value: .}
`, []printed{
		{"JSONFilesRepositories", `
// JSONFilesRepositories are the records that the migration json_files moves. Each is read and written where
// the phase of its part says.
type JSONFilesRepositories struct {
	k *Keyspace
	m *migrate.Migration
}
`},
		{"Keyspace.JSONFilesRepositories", `
// JSONFilesRepositories gives the repositories of the records that an opened migration moves.
func (k *Keyspace) JSONFilesRepositories(m *migrate.Migration) JSONFilesRepositories {
	return JSONFilesRepositories{k, m}
}
`},
		{"JSONFilesRepositories.Persona", `
// Persona is a record of the move all.persona.
func (r JSONFilesRepositories) Persona(g int64) repository.Value[string] {
	name, err := r.k.ns.PersonaKey(g)
	return repository.NewValue(repository.At(r.m, "all.persona", string(name), err), &value_Persona)
}
`},
		{"JSONFilesRepositories.Persona2", `
// Persona2 is a record of the move all.persona.2.
func (r JSONFilesRepositories) Persona2(g int64) repository.Value[string] {
	name, err := r.k.ns.PersonaKey(g)
	return repository.NewValue(repository.At(r.m, "all.persona.2", string(name), err), &value_Persona)
}
`},
		{"JSONFilesRepositories.Profile", `
// Profile is a record of the move all.profile.
func (r JSONFilesRepositories) Profile(g int64) repository.Value[ProfileValue] {
	name, err := r.k.ns.ProfileKey(g)
	return repository.NewFields(repository.At(r.m, "all.profile", string(name), err), &fields_ProfileValue)
}
`},
		{"JSONFilesRepositories.Feeds", `
// Feeds is a record of the move all.feeds.
func (r JSONFilesRepositories) Feeds(g int64, field string) repository.Value[json.RawMessage] {
	name, err := r.k.ns.FeedsKey(g)
	return repository.NewField(repository.At(r.m, "all.feeds", string(name), err), field, &field_Feeds,
		&value_Feeds)
}
`},
		{"JSONFilesRepositories.Tags", `
// Tags is a record of the move all.tags.
func (r JSONFilesRepositories) Tags(g int64, member string) repository.Member {
	name, err := r.k.ns.TagsKey(g)
	return repository.NewMember(repository.At(r.m, "all.tags", string(name), err), member, &member_Tags)
}
`},
		{"JSONFilesRepositories.Stories", `
// Stories is a record of the move all.stories.
func (r JSONFilesRepositories) Stories(member string) repository.Value[time.Time] {
	name, err := r.k.ns.StoriesKey()
	return repository.NewScore(repository.At(r.m, "all.stories", string(name), err), member, &member_Stories,
		&score_Stories)
}
`},
		{"JSONFilesRepositories.Story", `
// Story is a record of the move all.story.
func (r JSONFilesRepositories) Story(g int64, hash string) repository.Ending[StoryValue] {
	name, err := r.k.ns.StoryKey(g, hash)
	return repository.NewValue(repository.At(r.m, "all.story", string(name), err), &value_Story).Ending()
}
`},
		{"JSONFilesRepositories.Words", `
// Words is a record of the move all.words.
func (r JSONFilesRepositories) Words(g int64) repository.Value[[]string] {
	name, err := r.k.ns.WordsKey(g)
	return repository.NewList(repository.At(r.m, "all.words", string(name), err), &member_Words)
}
`},
		{"JSONFilesRepositories.Secret", `
no JSONFilesRepositories.Secret
`},
	})
}
