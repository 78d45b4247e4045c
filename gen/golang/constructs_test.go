package golang_test

import "testing"

// TestEntities holds what the store of an entity is made of: its id of one or several parts, what all its keys share,
// indexes by a value that is optional or of another form than in the key, lifetimes by a field, and what it announces.
func TestEntities(t *testing.T) {
	prints(t, `keywright: 1
package: p
owner: o
vars: {id: int, n: int 1..5, word: low|high, day: date, at: timestamp}
keys:
  e:
    key: e:{shop}:{id}:{day}
    type: entity
    ttl: 1h
    fields: {n: int, word: word optional, at: unix_ms, note: text optional}
    index: {n: "i:{shop}:{n}", word: "iw:{shop}:{word}:x", at: "at:{shop}", n+at: "na:{shop}:{n}"}
    emits: {update: ch, expire: ch2}
  f:
    key: f:{id}:{shop}
    type: entity
    ttl: 1h
    fields: {at: timestamp, id: int}
    index: {at: "f:a:{shop}:{at}"}
  g:
    key: g:{at}
    type: entity
    ttl: 1h
    fields: {at: timestamp, kind: word}
    index: {kind: "gi:{kind}"}
  h:
    key: h:{n}
    type: entity
    ttl: 1h in 1s..1d
    ttl_by: {word: {low: 1m, high: 90s}}
    fields: {n: text, word: word}
    index: {word: "hw:{word}"}
  i:
    key: i:{id}
    type: entity
    ttl: 2h in 1s..1d
    ttl_by: {n: {1..2: 1500ms, 3..5: 2h}}
    fields: {n: int 1..5 optional, id: unix_s, raw: bytes, at: unix_s, ver: int}
    stamps: {updated: at, version: ver}
    index: {at: ia}
channels:
  ch: {channel: "ch:{shop}", durable: {maxlen: 9, age: 1h}, message: {id: int, n: int, note: text optional}}
  ch2: {channel: "ch2:{n}", sharded: true, envelope: plain, message: {n: int}}
`, []printed{
		{"EID", `
// EID names one e.
type EID struct {
	ID  int64
	Day time.Time
}
`},
		{"EFields", `
// EFields makes changes of single fields of e.
var EFields = struct {
	N    entity.Field[EValue, int64]
	Word entity.OptionalField[EValue, Word]
	At   entity.Field[EValue, time.Time]
	Note entity.OptionalField[EValue, string]
}{
	N:    entity.Field[EValue, int64]{Name: "n", At: func(v *EValue) *int64 { return &v.N }},
	Word: entity.OptionalField[EValue, Word]{Name: "word", At: func(v *EValue) **Word { return &v.Word }},
	At:   entity.Field[EValue, time.Time]{Name: "at", At: func(v *EValue) *time.Time { return &v.At }},
	Note: entity.OptionalField[EValue, string]{Name: "note", At: func(v *EValue) **string { return &v.Note }},
}
`},
		{"EStore", `
// EStore is all e: what can be done with them.
type EStore struct {
	*entity.Store[EID, EValue]
}
`},
		{"EStore.ByN", `
// ByN is those of one n.
func (s EStore) ByN(n int64) entity.Of[EValue] {
	return s.Like("n", &EValue{N: n})
}
`},
		{"EStore.ByWord", `
// ByWord is those of one word.
func (s EStore) ByWord(word Word) entity.Of[EValue] {
	value := word
	return s.Like("word", &EValue{Word: &value})
}
`},
		{"EStore.ByAt", `
// ByAt is all of them, by at.
func (s EStore) ByAt() entity.Of[EValue] {
	return s.By("at", "")
}
`},
		{"Keyspace.EStore", `
// EStore is all e: made, changed and found with their indexes in step.
func (k *Keyspace) EStore(shop string) EStore {
	expiresKey, err1 := EExpiryKey(shop)
	recordsKey, err2 := ELedgerKey(shop)
	leaseKey, err3 := ESweepKey(shop)
	spec := entity.Spec[EID, EValue]{
		Prefix: "e:" + shop + ":",
		Key:    func(name EID) (string, error) { return EKey(shop, name.ID, name.Day) },
		Parse: func(text string) (id EID, ok bool) {
			_, part0, part1, ok := ParseEKey(text)
			id.ID = part0
			id.Day = part1
			return id, ok
		},
		Fields: &fields_EValue,
		Indexes: []entity.Index[EValue]{
			{Name: "n", Field: "n", Prefix: "i:" + shop + ":", Key: func(v *EValue) (string, error) {
				return EIndexNKey(shop, v.N)
			}, Legal: func(key string) bool {
				_, _, ok := ParseEIndexNKey(key)
				return ok
			}},
			{Name: "word", Field: "word", Prefix: "iw:" + shop + ":", Suffix: ":x", Key: func(v *EValue) (string, error) {
				return EIndexWordKey(shop, *v.Word)
			}, Legal: func(key string) bool {
				_, _, ok := ParseEIndexWordKey(key)
				return ok
			}},
			{Name: "at", Score: "at", Prefix: "at:" + shop},
			{Name: "n+at", Score: "at", Field: "n", Prefix: "na:" + shop + ":", Key: func(v *EValue) (string, error) {
				return EIndexNAtKey(shop, v.N)
			}, Legal: func(key string) bool {
				_, _, ok := ParseEIndexNAtKey(key)
				return ok
			}},
		},
		Expires:  expiresKey,
		Records:  recordsKey,
		Lease:    leaseKey,
		IndexTTL: 2 * time.Hour,
		OnUpdate: []entity.Event{{Mode: entity.Append, MaxLen: 9, Age: 1 * time.Hour,
			Name: []entity.Part{{Name: "ch:", Literal: true}, {Name: "shop", Key: 1, Form: value.Quoted}},
			Data: []entity.Part{{Name: "id", Key: 2, Form: value.Bare}, {Name: "n", Field: "n", Form: value.Bare},
				{Name: "note", Field: "note", Form: value.Quoted}}}},
		OnExpire: []entity.Event{{Mode: entity.PublishSharded, Plain: true,
			Name: []entity.Part{{Name: "ch2:", Literal: true}, {Name: "n", Field: "n", Form: value.Bare}},
			Data: []entity.Part{{Name: "n", Field: "n", Form: value.Bare}}}},
		Pieces: func(name EID) []string { return []string{shop, string(strconv.AppendInt(nil, name.ID, 10))} },
	}
	return EStore{entity.New(keywright.Binding{Client: k.client, Entry: &entry_E, Err: cmp.Or(err1, err2, err3)},
		&spec)}
}
`},
		{"FStore.ByAt", `
// ByAt is those of one at.
func (s FStore) ByAt(at string) entity.Of[FValue] {
	value, err := codec_FValue_At.Parse(string(at))
	if err != nil {
		return s.At("at", "", err)
	}
	return s.Like("at", &FValue{At: value})
}
`},
		{"Keyspace.FStore", `
// FStore is all f: made, changed and found with their indexes in step.
func (k *Keyspace) FStore(shop string) FStore {
	expiresKey, err1 := FExpiryKey(shop)
	recordsKey, err2 := FLedgerKey(shop)
	leaseKey, err3 := FSweepKey(shop)
	spec := entity.Spec[int64, FValue]{
		Prefix: "f:",
		Suffix: ":" + shop,
		Key:    func(name int64) (string, error) { return FKey(name, shop) },
		Parse: func(text string) (id int64, ok bool) {
			part0, _, ok := ParseFKey(text)
			id = part0
			return id, ok
		},
		Fields: &fields_FValue,
		Indexes: []entity.Index[FValue]{
			{Name: "at", Field: "at", Prefix: "f:a:" + shop + ":", Key: func(v *FValue) (string, error) {
				value, err := codec_FValue_At.Encode(v.At)
				if err != nil {
					return "", err
				}
				return FIndexAtKey(shop, value)
			}, Legal: func(key string) bool {
				_, _, ok := ParseFIndexAtKey(key)
				return ok
			}},
		},
		Expires:  expiresKey,
		Records:  recordsKey,
		Lease:    leaseKey,
		IndexTTL: 2 * time.Hour,
		Identify: func(id int64, v *FValue) { v.ID = id },
	}
	return FStore{entity.New(keywright.Binding{Client: k.client, Entry: &entry_F, Err: cmp.Or(err1, err2, err3)},
		&spec)}
}
`},
		{"spec_G", `
func spec_G() (*entity.Spec[string, GValue], error) {
	expiresKey, err1 := GExpiryKey()
	recordsKey, err2 := GLedgerKey()
	leaseKey, err3 := GSweepKey()
	spec := entity.Spec[string, GValue]{
		Prefix: "g:",
		Key:    GKey,
		Parse:  ParseGKey,
		Fields: &fields_GValue,
		Indexes: []entity.Index[GValue]{
			{Name: "kind", Field: "kind", Prefix: "gi:", Key: func(v *GValue) (string, error) {
				return GIndexKindKey(v.Kind)
			}, Legal: func(key string) bool {
				_, ok := ParseGIndexKindKey(key)
				return ok
			}},
		},
		Expires:  expiresKey,
		Records:  recordsKey,
		Lease:    leaseKey,
		IndexTTL: 2 * time.Hour,
		Identify: func(id string, v *GValue) { v.At, _ = codec_GValue_At.Parse(string(id)) },
	}
	return &spec, cmp.Or(err1, err2, err3)
}
`},
		{"spec_H", `
func spec_H() (*entity.Spec[int64, HValue], error) {
	expiresKey, err1 := HExpiryKey()
	recordsKey, err2 := HLedgerKey()
	leaseKey, err3 := HSweepKey()
	spec := entity.Spec[int64, HValue]{
		Prefix: "h:",
		Key:    HKey,
		Parse:  ParseHKey,
		Fields: &fields_HValue,
		Indexes: []entity.Index[HValue]{
			{Name: "word", Field: "word", Prefix: "hw:", Key: func(v *HValue) (string, error) {
				return HIndexWordKey(v.Word)
			}, Legal: func(key string) bool {
				_, ok := ParseHIndexWordKey(key)
				return ok
			}},
		},
		Expires:   expiresKey,
		Records:   recordsKey,
		Lease:     leaseKey,
		IndexTTL:  48 * time.Hour,
		TTLFields: []string{"word"},
		Identify:  func(id int64, v *HValue) { v.N = string(string(strconv.AppendInt(nil, id, 10))) },
		TTL: func(v *HValue) time.Duration {
			switch x := v.Word; {
			case x == "low":
				return 1 * time.Minute
			case x == "high":
				return 90 * time.Second
			}
			return 0
		},
	}
	return &spec, cmp.Or(err1, err2, err3)
}
`},
		{"IFields", `
// IFields makes changes of single fields of i.
var IFields = struct {
	N   entity.OptionalField[IValue, int64]
	ID  entity.Field[IValue, time.Time]
	Raw entity.Field[IValue, []byte]
}{
	N:   entity.OptionalField[IValue, int64]{Name: "n", At: func(v *IValue) **int64 { return &v.N }},
	ID:  entity.Field[IValue, time.Time]{Name: "id", At: func(v *IValue) *time.Time { return &v.ID }},
	Raw: entity.Field[IValue, []byte]{Name: "raw", At: func(v *IValue) *[]byte { return &v.Raw }},
}
`},
		{"IStore.ByAt", `
// ByAt is all of them, by at.
func (s IStore) ByAt() entity.Of[IValue] {
	key, err := IIndexAtKey()
	return s.At("at", key, err)
}
`},
		{"Keyspace.IStore", `
// IStore is all i: made, changed and found with their indexes in step.
func (k *Keyspace) IStore() IStore { return k.store_I }
`},
		{"spec_I", `
func spec_I() (*entity.Spec[int64, IValue], error) {
	expiresKey, err1 := IExpiryKey()
	recordsKey, err2 := ILedgerKey()
	leaseKey, err3 := ISweepKey()
	spec := entity.Spec[int64, IValue]{
		Prefix: "i:",
		Key:    IKey,
		Parse:  ParseIKey,
		Fields: &fields_IValue,
		Indexes: []entity.Index[IValue]{
			{Name: "at", Score: "at", Prefix: "ia"},
		},
		Expires:   expiresKey,
		Records:   recordsKey,
		Lease:     leaseKey,
		IndexTTL:  48 * time.Hour,
		Version:   "ver",
		Updated:   "at",
		Seconds:   true,
		TTLFields: []string{"n"},
		TTL: func(v *IValue) time.Duration {
			if v.N == nil {
				return 0
			}
			switch x := *v.N; {
			case x >= 1 && x <= 2:
				return 1500 * time.Millisecond
			case x >= 3 && x <= 5:
				return 2 * time.Hour
			}
			return 0
		},
	}
	return &spec, cmp.Or(err1, err2, err3)
}
`},
		{"Keyspace.Sweeper", `
// Sweeper cleans up after all entities until ctx ends: what has expired leaves its
// indexes and is announced. Any process may run one; they take turns.
func (k *Keyspace) Sweeper(ctx context.Context, o entity.SweepOptions, failed func(error)) {
	var all sync.WaitGroup
	all.Go(func() { k.GStore().Sweeper(ctx, o, failed) })
	all.Go(func() { k.HStore().Sweeper(ctx, o, failed) })
	all.Go(func() { k.IStore().Sweeper(ctx, o, failed) })
	all.Wait()
}
`},
	})
}

// TestConstructs holds what the other constructs are made of: all their keys and channels, options that a program may
// change and those that it may not, and the periods and windows of a ranking.
func TestConstructs(t *testing.T) {
	prints(t, `keywright: 1
package: p
owner: o
vars: {id: int, low: {type: high|low, default: low}, day: date, hour: date YYYY-MM-DD-HH}
keys:
  lo: {key: "lo:{id}:{day}", type: lock, ttl: 5s, notify: free}
  c: {key: "c:{id}:{day}", type: cache, value: {q: int}, ttl: 5m, fresh: 4m, absent: 1s}
  c2: {key: "c2:{id}:{day}", type: cache, value: int, ttl: any, fill: "c2f:{day}:{id}"}
  c3: {key: c3, type: cache, value: int, ttl: 5m, fill: c3f}
  cnt: {key: "cnt:{id}", type: counter, ttl: 5s}
  l1: {key: "l1:{id}", type: ratelimit, rate: 100 per 90s burst 7, ttl: 5m}
  l2: {key: "l2:{id}", type: ratelimit, rate: 100 per 1h, algorithm: fixed, ttl: 2h}
  q: {key: "{q}:{low}", type: queue, value: {q: int}, lease: 5s, retry: 3, ttl: none, order: low}
  q1: {key: "q1", type: queue, ttl: none}
  r: {key: "r:{id}:{day}", type: ranking, ttl: 7d, score: int, cached: 90s}
  r2: {key: "r2:{hour}", type: ranking, ttl: 7d, score: int, ties: first, cached: 90s}
  r3: {key: "r3", type: ranking, ttl: 7d, score: int}
  r4: {key: "r4:{day}", type: ranking, ttl: 7d, score: unix_s}
`, []printed{
		{"Tuning", `
// Tuning are the options of the constructs, by entry. What is left zero is as
// declared.
type Tuning struct {
	Lo lock.Options
	C  cache.Options
	C2 cache.Options
	C3 cache.Options
	Q  queue.Options
	Q1 queue.Options
}
`},
		{"NewTuned", `
// NewTuned is New with other options.
func NewTuned(c *keywright.Client, t Tuning) *Keyspace {
	k := &Keyspace{client: c, tuning: t}
	k.tuning.Lo.Announce = true // others listen on the declared channel
	k.tuning.C.Fresh = cmp.Or(k.tuning.C.Fresh, 4*time.Minute)
	k.tuning.C.Absent = cmp.Or(k.tuning.C.Absent, 1*time.Second)
	k.cache_C = cache.New(keywright.Binding{Client: k.client, Entry: &entry_C}, &value_C, k.tuning.C)
	k.tuning.C2.TTL = cmp.Or(k.tuning.C2.TTL, 1*time.Hour)
	k.tuning.C2.Fill = fill_C2
	k.cache_C2 = cache.New(keywright.Binding{Client: k.client, Entry: &entry_C2}, &value_C2, k.tuning.C2)
	k.tuning.C3.Fill = fill_C3
	k.cache_C3 = cache.New(keywright.Binding{Client: k.client, Entry: &entry_C3}, &value_C3, k.tuning.C3)
	k.limit_L1 = limit.New(keywright.Binding{Client: k.client, Entry: &entry_L1},
		limit.GCRA(100, 90*time.Second, 7))
	k.limit_L2 = limit.New(keywright.Binding{Client: k.client, Entry: &entry_L2}, limit.Fixed(100, 1*time.Hour))
	k.tuning.Q.Lease = cmp.Or(k.tuning.Q.Lease, 5*time.Second)
	k.tuning.Q.Retry = cmp.Or(k.tuning.Q.Retry, 3)
	return k
}
`},
		{"Keyspace.Lo", `
// Lo:
//
// Key lo:{id}:{day}, string, TTL 5s.
func (k *Keyspace) Lo(id int64, day time.Time) lock.Lock {
	main, err1 := LoKey(id, day)
	fence, err2 := LoFenceKey(id, day)
	waiters, err3 := LoWaitersKey(id, day)
	shared, err4 := LoSharedKey(id, day)
	channel, err5 := LoReleasedChannel()
	return lock.New(keywright.Binding{Client: k.client, Entry: &entry_Lo,
		Err: cmp.Or(err1, err2, err3, err4, err5)},
		lock.Keys{Main: main, Fence: fence, Waiters: waiters, Shared: shared, Channel: channel}, &k.tuning.Lo)
}
`},
		{"Keyspace.C", `
// C:
//
// Key c:{id}:{day}, string, TTL 5m.
func (k *Keyspace) C(id int64, day time.Time) cache.Item[CValue] { return k.cache_C.Key(CKey(id, day)) }
`},
		{"Keyspace.CCache", `
// CCache is what all C have in common: several at once, tags, a tier of its own.
func (k *Keyspace) CCache() *cache.Cache[CValue] { return k.cache_C }
`},
		{"fill_C2", `
func fill_C2(main string) string {
	id, day, _ := ParseC2Key(main)
	name, _ := C2FillKey(day, id)
	return name
}
`},
		{"fill_C3", `
func fill_C3(main string) string {
	name, _ := C3FillKey()
	return name
}
`},
		{"Keyspace.Cnt", `
// Cnt:
//
// Key cnt:{id}, string, TTL 5s.
func (k *Keyspace) Cnt(id int64) counter.Counter {
	name, err := CntKey(id)
	return counter.New(keywright.Binding{Client: k.client, Entry: &entry_Cnt, Key: name, Err: err})
}
`},
		{"Keyspace.L1", `
// L1:
//
// Key l1:{id}, string, TTL 5m.
func (k *Keyspace) L1(id int64) limit.Limiter { return k.limit_L1.Of(L1Key(id)) }
`},
		{"Keyspace.Q", `
// Q:
//
// Key {q}:{low}, list, TTL none.
func (k *Keyspace) Q(q string) queue.Queue[QValue] {
	lane1, err1 := QKey(q, LowHigh)
	lane2, err2 := QKey(q, LowLow)
	leases, err3 := QLeasesKey(q)
	delayed, err4 := QDelayedKey(q)
	dead, err5 := QDeadKey(q)
	state, err6 := QStateKey(q)
	workers, err7 := QWorkersKey(q)
	runs, err8 := QRunsKey(q)
	channel, err9 := QReadyChannel(q)
	job := queue.Name{Before: "{" + q + "}:job:", After: ""}
	result := queue.Name{Before: "{" + q + "}:result:", After: ""}
	unique := queue.Name{Before: "{" + q + "}:unique:", After: ""}
	return queue.New(keywright.Binding{Client: k.client, Entry: &entry_Q,
		Err: cmp.Or(err1, err2, err3, err4, err5, err6, err7, err8, err9)},
		queue.Keys{Lanes: []queue.Lane{{Name: "high", Key: lane1}, {Name: "low", Key: lane2}}, Job: job,
			Result: result, Unique: unique, Leases: leases, Delayed: delayed, Dead: dead, State: state, Workers: workers,
			Runs: runs, Channel: channel, Default: "low", ID: func(id string) error {
				if _, _, ok := ParseQJobKey(job.Of(id)); !ok {
					return value.Bad("is no text")
				}
				return nil
			}}, &payload_Q, &k.tuning.Q)
}
`},
		{"Keyspace.Q1", `
// Q1:
//
// Key q1, list, TTL none.
func (k *Keyspace) Q1() queue.Queue[string] {
	main, err1 := Q1Key()
	leases, err2 := Q1LeasesKey()
	delayed, err3 := Q1DelayedKey()
	dead, err4 := Q1DeadKey()
	state, err5 := Q1StateKey()
	workers, err6 := Q1WorkersKey()
	runs, err7 := Q1RunsKey()
	channel, err8 := Q1ReadyChannel()
	job := queue.Name{Before: "{q1}:job:", After: ""}
	result := queue.Name{Before: "{q1}:result:", After: ""}
	unique := queue.Name{Before: "{q1}:unique:", After: ""}
	return queue.New(keywright.Binding{Client: k.client, Entry: &entry_Q1,
		Err: cmp.Or(err1, err2, err3, err4, err5, err6, err7, err8)},
		queue.Keys{Lanes: []queue.Lane{{Key: main}}, Job: job, Result: result, Unique: unique, Leases: leases,
			Delayed: delayed, Dead: dead, State: state, Workers: workers, Runs: runs, Channel: channel,
			ID: func(id string) error {
				if _, ok := ParseQ1JobKey(job.Of(id)); !ok {
					return value.Bad("is no text")
				}
				return nil
			}}, &payload_Q1, &k.tuning.Q1)
}
`},
		{"Keyspace.RBoard", `
// RBoard:
//
// Key r:{id}:{day}, zset, TTL 7d.
//
// It is the whole ranking: every period of it, ranks, neighbours, windows.
func (k *Keyspace) RBoard(id int64) (*ranking.Board[string, int64], error) {
	return ranking.New(keywright.Binding{Client: k.client, Entry: &entry_R},
		ranking.Config[string, int64]{Step: ranking.Day, Ties: ranking.ByMember, Member: &member_R, Score: &score_R,
			Key: func(t time.Time) (string, error) { return RKey(id, t) },
		})
}
`},
		{"Keyspace.RWindows", `
// RWindows is the sum of the last periods of R, weighted, the newest first; kept for 90s.
func (k *Keyspace) RWindows(weights []float64, id int64) (*ranking.Windows[string, int64, float64], error) {
	board, err := k.RBoard(id)
	if err != nil {
		return nil, err
	}
	return ranking.NewWindows(keywright.Binding{Client: k.client, Entry: &entry_RWindow}, board,
		ranking.WindowConfig[float64]{Score: &sums_R, Weights: weights,
			Key: func(end time.Time) (string, error) { return RWindowKey(id, ranking.Day.Window(end, weights)) },
		})
}
`},
		{"Keyspace.R2Board", `
// R2Board:
//
// Key r2:{hour}, zset, TTL 7d.
//
// It is the whole ranking: every period of it, ranks, neighbours, windows.
func (k *Keyspace) R2Board() (*ranking.Board[string, int64], error) {
	return ranking.New(keywright.Binding{Client: k.client, Entry: &entry_R2},
		ranking.Config[string, int64]{Step: ranking.Hour, Ties: ranking.FirstToReach, Member: &member_R2,
			Score: &whole_R2,
			Key:   func(t time.Time) (string, error) { return R2Key(t) },
		})
}
`},
		{"whole_R2", `
var whole_R2 = value.IntScore(0, 1<<52)
`},
		{"Keyspace.R2Windows", `
no Keyspace.R2Windows
`},
		{"Keyspace.R3", `
// R3:
//
// Key r3, zset, TTL 7d.
func (k *Keyspace) R3() typed.ZSet[string, int64] {
	name, err := R3Key()
	return typed.NewZSet(keywright.Binding{Client: k.client, Entry: &entry_R3, Key: name, Err: err}, &member_R3,
		&score_R3)
}
`},
		{"Keyspace.R3Board", `
no Keyspace.R3Board
`},
		{"Keyspace.R4Board", `
no Keyspace.R4Board
`},
	})
}

// TestStamps: fields that the server fills in are changed by no caller, and those of an entity are only read by its
// handle.
func TestStamps(t *testing.T) {
	prints(t, `keywright: 1
package: p
owner: o
vars: {id: int}
keys:
  e:
    key: e:{id}
    type: entity
    ttl: 1h
    fields: {n: int, made: unix_ms, ver: int}
    stamps: {created: made, version: ver}
    index: {n: en}
`, []printed{{"EFields", `
// EFields makes changes of single fields of e.
var EFields = struct {
	N entity.Field[EValue, int64]
}{
	N: entity.Field[EValue, int64]{Name: "n", At: func(v *EValue) *int64 { return &v.N }},
}
`}, {"EHandle.N", `
// N is the field n.
func (h EHandle) N() typed.FieldReader[int64] {
	return typed.NewFieldReader(h.Key, "n", &codec_EValue_N)
}
`}})
}
