package acl

import (
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
)

// The commands of a component, by what it does to which type. Nothing that
// finds keys (SCAN, RANDOMKEY) or concerns the server as a whole is in here:
// those commands ignore key rules. Each of them exists in Redis 7.0, since a
// server refuses an ACL file with a command that it does not know.

// basics say what a client needs to connect, pipeline and follow a cluster or
// sentinels. The client library ends the subscriptions of a connection that was used by
// one caller alone, also where there was none; that needs the right to no channel.
const basics = `auth hello ping echo quit command client|setname client|getname client|id
	time role wait multi exec discard watch unwatch asking readonly readwrite
	unsubscribe punsubscribe sunsubscribe
	cluster|slots cluster|shards cluster|myid cluster|info cluster|keyslot`

// tracks is for client-side caching: what reads by it, and a lock that is lost, is notified of a change from the
// server. No rule refuses CLIENT TRACKING ON BCAST, by which a user receives the names of all keys that change.
const tracks = `client|tracking client|trackinginfo client|caching`

// asksMemory is for those that must know how full a server is and what it does
// then: workers of queues and pressure rules.
const asksMemory = `info`

// ownSlots is for those that must know which keys a server of a cluster has.
const ownSlots = `cluster|nodes`

// finds is for repairs only: SCAN shows the names of all keys.
const finds = `scan info`

// actingKey says which process executes a plan, and acts are the commands of that.
const (
	actingKey = "keywright:acting"
	acts      = `get set pttl pexpire unlink select`
)

// migrationKey has the epochs of a migration, and tickets beside it; migrates are the
// commands on both, and looksAtMigration those of who only reads.
const (
	migrationKey     = "keywright:migrate:"
	migrates         = `hget hmget hset hdel hlen zmscore zrange zadd zrem pexpire time type pexpiretime`
	looksAtMigration = `hmget type pexpiretime`
)

// runs are the commands that scripts need, of those that write and of those that
// only read.
const (
	runs      = `eval evalsha eval_ro evalsha_ro script|load script|exists`
	runsReads = `eval_ro evalsha_ro`
)

const readsAny = `exists type ttl pttl expiretime pexpiretime`

const writesAny = `del unlink expire pexpire expireat pexpireat persist`

var reads = map[keyspace.Kind]string{
	keyspace.String: `get mget strlen getrange getbit bitcount bitpos bitfield_ro pfcount`,
	keyspace.Hash:   `hget hmget hgetall hexists hlen hkeys hvals hstrlen hscan hrandfield`,
	keyspace.List:   `lrange llen lindex lpos`,
	keyspace.Set:    `smembers sismember smismember scard srandmember sscan sinter sunion sdiff sintercard`,
	keyspace.ZSet: `zrange zrangebyscore zrevrange zrevrangebyscore zrangebylex zrevrangebylex zscore zmscore zrank zrevrank zcard zcount zlexcount
		zscan zrandmember zunion zinter zdiff zintercard geopos geodist geohash geosearch`,
	keyspace.Stream: `xrange xrevrange xlen xread xpending xinfo|stream xinfo|groups xinfo|consumers`,
}

var writes = map[keyspace.Kind]string{
	keyspace.String: `set setnx setex psetex getset getdel getex append incr incrby incrbyfloat decr decrby setrange setbit bitfield bitop mset msetnx pfadd pfmerge`,
	keyspace.Hash:   `hset hsetnx hmset hdel hincrby hincrbyfloat`,
	keyspace.List:   `lpush rpush lpushx rpushx lpop rpop lset lrem ltrim linsert lmove blmove blpop brpop lmpop blmpop`,
	keyspace.Set:    `sadd srem spop smove sinterstore sunionstore sdiffstore`,
	keyspace.ZSet: `zadd zincrby zrem zremrangebyscore zremrangebyrank zremrangebylex zpopmin zpopmax bzpopmin bzpopmax zmpop bzmpop
		zrangestore zunionstore zinterstore zdiffstore geoadd geosearchstore`,
	keyspace.Stream: `xadd xdel xtrim xreadgroup xack xclaim xautoclaim xsetid xgroup|create xgroup|createconsumer xgroup|delconsumer xgroup|destroy xgroup|setid`,
}

// role describes what a component does with the keys of an entry.
type role uint8

const (
	read     role = iota + 1 // looks at them
	renew                    // looks at what slides, and renews its TTL by that
	prolong                  // the same with the times at which items of an entity expire
	consume                  // reads a stream in a consumer group
	settle                   // the same with dead letters, which go to a stream and come back
	announce                 // adds to a stream
	write                    // does what it likes
	locate                   // names it in a script, which finds its server by it

	publishes  // on a channel
	subscribes // to a channel
)

// consumes, settles and announces are what these roles do to a stream beside
// reading it.
const (
	consumes  = `xreadgroup xack xclaim xautoclaim xgroup|create xgroup|createconsumer xgroup|delconsumer pexpire`
	settles   = consumes + ` xadd xdel`
	announces = `xadd xtrim pexpire`
)

// renames gives the sum of a ranking's periods the name of its window, when that was added up in steps.
const renames = `rename`

// commands returns what a role does with keys of a kind: commands that name keys.
func (r role) commands(kind keyspace.Kind) string {
	switch r {
	case read:
		return readsAny + " " + reads[kind]
	case renew:
		return renew.meant(kind) + " pexpire"
	case prolong:
		return renew.commands(kind) + " zadd"
	case consume:
		return readsAny + " " + reads[kind] + " " + consumes
	case settle:
		return readsAny + " " + reads[kind] + " " + settles
	case announce:
		return readsAny + " " + reads[kind] + " " + announces
	case locate:
		return ""
	}
	return readsAny + " " + reads[kind] + " " + writes[kind] + " " + writesAny
}

// meant returns the commands by which a role does what it may and no more. Who renews a TTL can also end a life.
func (r role) meant(kind keyspace.Kind) string {
	switch {
	case r != renew && r != prolong:
		return r.commands(kind)
	case kind == keyspace.String:
		return read.commands(kind) + " getex"
	}
	return read.commands(kind)
}

// byReading lists the commands that change something and need no more than the
// right to read the key: a consumer group is no key to an ACL.
var byReading = []string{"xreadgroup"}

// effects returns the commands that do something to a key of a kind, those that do
// most harm first. For "" they are those of every kind.
func effects(kind keyspace.Kind, writing bool) []string {
	kinds := []keyspace.Kind{kind}
	if kind == "" {
		kinds = []keyspace.Kind{keyspace.String, keyspace.Hash, keyspace.List, keyspace.Set, keyspace.ZSet, keyspace.Stream}
	}
	var out []string
	for _, k := range kinds {
		for _, c := range strings.Fields(writes[k]) {
			if writing || slices.Contains(byReading, c) {
				out = append(out, c)
			}
		}
	}
	if writing {
		out = append(out, strings.Fields(writesAny)...)
	}
	for _, k := range kinds {
		out = append(out, strings.Fields(reads[k])...)
	}
	return append(out, strings.Fields(readsAny)...)
}
