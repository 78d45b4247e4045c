package rdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/fault"
	"github.com/keywright/keywright/source/rdb/internal/window"
)

// Two opcodes whose meaning depends on the family: 242 is a hash template in
// Redis from version 15, 243 what modules keep of the next key in Redis from
// version 13, and the import of slots in Valkey.
const (
	opcode242 = 242
	opcode243 = 243
)

// opcode describes what may be where a value's type could, from a version of RDB on.
type opcode struct {
	read  func(*reader)
	since int
}

// opcodes lists the opcodes of Redis.
var opcodes = [256]opcode{
	opcode242: {(*reader).hashTemplate, 15},
	opcode243: {(*reader).keyMeta, 13},
	244:       {(*reader).slotInfo, 11},
	245:       {(*reader).function, 10},
	246:       {(*reader).oldFunction, 10},
	247:       {(*reader).moduleAux, 9},
	248:       {func(r *reader) { r.idle = window.Clamp(r.Count()) }, 9},
	249:       {func(r *reader) { r.freq = int(r.Byte()) }, 9},
	250:       {(*reader).auxiliary, 7},
	251:       {(*reader).sizes, 7},
	252:       {(*reader).expiryMS, 3},
	253:       {func(r *reader) { r.expiry = int64(int32(r.Uint32())) * 1000 }, 1},
	254:       {(*reader).selectDB, 1},
	255:       {(*reader).finish, 1},
}

// expiryMS is little endian since version 9; before, it was in the order of
// the machine that wrote it, which was little endian too wherever it mattered.
func (r *reader) expiryMS() {
	if r.expiry = int64(r.Uint64()); r.expiry < 0 {
		r.expiry = 0 // long past
	}
}

func (r *reader) selectDB() {
	db := r.Count()
	if db > math.MaxInt32 {
		r.Failf("database %d", db)
		return
	}
	r.db = int(db)
	r.dbs++
	r.skipsDB = r.options.OnlyDB >= 0 && r.db != r.options.OnlyDB
}

// sizes are how many keys the database has: a hint, which a file may lie about.
func (r *reader) sizes() {
	keys := r.Count()
	r.Count() // with a TTL
	if r.skipsDB || keys > 1<<40 {
		return
	}
	r.expected = min(r.expected+int64(keys), 1<<40)
	if s := r.req.Sample; s > 0 && s < r.expected {
		r.share = shareOf(int64(keys), s, r.expected)
	}
}

// share describes what a sample takes of the keys of one database: some of every so many, spread
// evenly, beginning with the first.
type share struct {
	some, of int64
	sum      int64
	left     int64 // a file may have more keys than it says
}

// shareOf returns the share of a database in a sample of all the keys that are known so far.
func shareOf(keys, sample, known int64) share {
	hi, lo := bits.Mul64(uint64(keys), uint64(sample))
	whole, rest := bits.Div64(hi, lo, uint64(known))
	if rest > 0 {
		whole++
	}
	return share{some: sample, of: known, sum: known - sample, left: int64(whole)}
}

// takes reports whether the next key is one of the sample.
func (s *share) takes() bool {
	if s.sum += s.some; s.sum < s.of || s.left == 0 {
		return false
	}
	s.sum -= s.of
	s.left--
	return true
}

// maxAux bounds the auxiliary fields kept.
const maxAux = 64

// auxiliary is a field that the server, another program or a module has written: about the snapshot, or, in KeyDB,
// about the key that follows or the one before. What belongs to the next key lasts over it, as in the loader of
// servers.
func (r *reader) auxiliary() {
	name := string(r.Body(r.Text(), make([]byte, 0, maxAux), maxAux))
	read, known := fields[name]
	if !known {
		r.unknownField(name)
	}
	if read == nil && len(r.aux) == maxAux {
		r.SkipText()
		return
	}
	value := string(r.Body(r.Text(), make([]byte, 0, maxAux), maxAux))
	switch {
	case r.Err != nil:
	case read != nil:
		read(r, name, value)
	default:
		r.aux[name] = value
	}
}

// fields lists the auxiliary fields that are known, and what is done with those that are not only kept.
var fields = map[string]func(r *reader, name, value string){
	"redis-bits": nil, "used-mem": nil, "repl-stream-db": nil, "repl-id": nil, "repl-offset": nil, "aof-preamble": nil,
	"aof-base": nil, "lua": nil, "df-ver": nil,
	"ctime": func(r *reader, name, value string) {
		r.aux[name] = value
		if seconds, err := strconv.ParseInt(value, 10, 64); err == nil && seconds > 0 && seconds < math.MaxInt64/1000 {
			r.now = seconds * 1000
		}
	},
	"redis-ver":  func(r *reader, name, value string) { r.aux[name], r.model = value, modelOf(name, value) },
	"valkey-ver": func(r *reader, name, value string) { r.aux[name], r.model = value, modelOf(name, value) },
	// KeyDB: when a key was last changed, and that a member of the key before expires by itself.
	"mvcc-tstamp":          func(*reader, string, string) {},
	"keydb-subexpire-key":  func(*reader, string, string) {},
	"keydb-subexpire-when": func(r *reader, _, _ string) { r.members++ },
}

// unknownField notes a field that this version does not know.
func (r *reader) unknownField(name string) {
	if r.unknown == nil {
		r.unknown = map[string]int64{}
	}
	if _, there := r.unknown[name]; there || len(r.unknown) < maxAux {
		r.unknown[name]++
	} else {
		r.unlisted++
	}
}

func (r *reader) slotInfo() {
	for range 3 { // the slot, its keys, those with a TTL
		r.Count()
	}
}

// slotImport: keys of these slots are on their way in and not served yet.
func (r *reader) slotImport() {
	r.SkipText()
	for n := r.Count(); n > 0 && r.Err == nil; n-- {
		r.Count()
		r.Count()
	}
	r.note("slots were being imported when the snapshot was made: their keys are counted, though not served yet")
}

// note adds a note once, however often its reason comes.
func (r *reader) note(text string) {
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// function is a library of functions, as its source.
func (r *reader) function() {
	r.libraries++
	t := r.Text()
	if c := r.contents; c == nil || c.Library == nil {
		r.Skip(t.Stored)
	} else if t.Size > source.MaxLibrary {
		c.larger++
		r.Skip(t.Stored)
	} else if code := r.Body(t, nil, source.MaxLibrary); r.Err == nil {
		r.stick(c.library(code))
	}
}

// oldFunction is what the release candidates of Redis 7.0 wrote.
func (r *reader) oldFunction() {
	if r.libraries++; r.contents != nil {
		r.contents.older++
	}
	r.SkipText() // name
	r.SkipText() // engine
	if r.Count() > 0 {
		r.SkipText() // description
	}
	r.SkipText() // code
}

func (r *reader) moduleAux() {
	if name := r.moduleName(r.Count()); r.Err == nil && !slices.Contains(r.modules, name) && len(r.modules) < maxAux {
		r.modules = append(r.modules, name)
	}
	if op := r.Count(); op != moduleUint {
		r.Failf("a module's auxiliary data that begin with %d, not with when they are for", op)
		return
	}
	r.Count()
	r.moduleValue()
}

// keyMeta is what modules keep of the key that follows: classes, each with a
// number and a value in the framing of modules.
func (r *reader) keyMeta() {
	for n := r.Count(); n > 0 && r.Err == nil; n-- {
		r.Uint32()
		r.moduleValue()
		r.meta = true
	}
}

// maxTemplates bounds the memory of all hash templates: their field names, and
// what a template and a name take without any bytes.
const (
	maxTemplates = 16 << 20
	templateCost = 128
	nameCost     = 32
)

// fits counts memory for hash templates. It is false, and an error, when there
// would be too much.
func (r *reader) fits(bytes int) bool {
	if r.templated += bytes; r.templated > maxTemplates {
		r.Failf("hash templates of more than %d bytes", maxTemplates)
	}
	return r.Err == nil
}

// hashTemplate is a list of field names that hashes of the snapshot refer to.
func (r *reader) hashTemplate() {
	id := r.Count()
	if !r.fits(templateCost) {
		return
	}
	fields := []string{}
	for n := r.Count(); n > 0 && r.Err == nil; n-- {
		t := r.Text()
		if !r.fits(int(min(t.Size, maxTemplates)) + nameCost) {
			return
		}
		fields = append(fields, string(r.Body(t, nil, maxTemplates)))
	}
	if r.templates == nil {
		r.templates = map[uint64][]string{}
	}
	r.templates[id] = fields
}

// finish reads the checksum, and says what follows it.
func (r *reader) finish() {
	r.done = true
	if r.version < 5 {
		r.trailing()
		return
	}
	want := r.Sum()
	p := r.Take(8)
	if p == nil {
		return
	}
	// 0 is of a server that is configured to write none.
	if got := binary.LittleEndian.Uint64(p); r.sums && got != 0 && got != want {
		r.Err = &fault.Error{Offset: r.Offset() - 8,
			Err: fmt.Errorf("%w (it says %016x, the bytes give %016x)", ErrChecksum, got, want)}
		return
	} else if r.sums && got == 0 {
		r.note("the snapshot has no checksum (rdbchecksum no): damage would not be noticed")
	}
	r.trailing()
}

// trailing says what comes after the snapshot.
func (r *reader) trailing() {
	err := r.deliver()
	r.stick(err)
	if err != nil {
		return
	}
	switch follows := r.options.Follows; {
	case follows != nil && follows.Commands > 0:
		r.follow(follows.Commands, "commands after the snapshot in its append-only folder: %d, files: %d", follows.Commands,
			follows.Files)
	case follows == nil && r.aux["aof-base"] == "1":
		r.follow(0, "the snapshot is the base of an append-only folder, and the commands in the other files came after it")
	}
	if !r.More() || r.endMark() {
		return
	}
	if r.aux["aof-preamble"] == "1" || r.aux["aof-base"] == "1" {
		r.follow(0, "the file goes on with commands (it is an AOF)")
		return
	}
	r.incomplete = append(r.incomplete, source.Why(source.BytesLeft, "", nil))
}

// follow notes that commands came after the snapshot.
func (r *reader) follow(commands int64, format string, args ...any) {
	why := source.Why(source.CommandsLeft, "", fmt.Sprintf(format, args...))
	why.Keys = commands
	r.incomplete = append(r.incomplete, why)
}

// markSize is the size of the mark that ends a snapshot whose size a primary did not know when it began to send it.
const markSize = 40

// endMark reports whether all that follows is such a mark, which a program that wrote down what came over a replication
// link left in the file.
func (r *reader) endMark() bool {
	before := r.Err
	if !r.Need(markSize) {
		r.Err = before // less than a mark follows
		return false
	}
	if bytes.ContainsFunc(r.Buf[r.Pos:r.Pos+markSize], func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'f')
	}) {
		return false
	}
	if r.Pos += markSize; r.More() {
		return false
	}
	r.note("the mark that ends a snapshot on a replication link follows it")
	return true
}

// Opcodes in a module's values, which frame them for those who lack the module.
const (
	moduleEnd = iota
	moduleInt
	moduleUint
	moduleFloat
	moduleDouble
	moduleString
)

// moduleValue passes a value by its own framing.
func (r *reader) moduleValue() {
	for r.Err == nil {
		switch op := r.Count(); op {
		case moduleEnd:
			return
		case moduleInt, moduleUint:
			r.Count()
		case moduleFloat:
			r.Skip(4)
		case moduleDouble:
			r.Skip(8)
		case moduleString:
			r.SkipText()
		default:
			r.Failf("opcode %d in a module's value, which no version writes", op)
		}
	}
}

const moduleAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// moduleName returns the name in a module's id: nine letters of six bits, and ten
// bits of version. See https://redis.io/docs/latest/develop/reference/modules/modules-native-types/.
func (r *reader) moduleName(id uint64) string {
	if id == r.moduleID && r.module != "" {
		return r.module
	}
	name := make([]byte, 9)
	for i := range name {
		name[i] = moduleAlphabet[id>>(58-6*i)&63]
	}
	r.module, r.moduleID = string(name), id
	return r.module
}

var _ source.Source = (*Source)(nil)
