package golang_test

import "testing"

// TestScriptsAndEvents holds that a placeholder that several keys share is one parameter, that the first error of keys
// and arguments counts, and that an event deletes first and announces then.
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
