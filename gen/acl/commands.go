package acl

import "github.com/keywright/keywright/keyspace"

// The commands of a component, by what it does to which type. Nothing that
// finds keys (SCAN, RANDOMKEY) or concerns the server as a whole is in here:
// those commands do not heed key rules. Each of them exists in Redis 7.0, since a
// server refuses an ACL file with a command that it does not know.

// basics are what a client needs to connect, pipeline, follow a cluster and ask
// how the server is.
const basics = `auth hello ping echo quit reset select command client|setname client|getname client|id client|tracking client|trackinginfo client|caching
	client|no-evict client|reply info time role wait multi exec discard watch unwatch asking readonly readwrite
	cluster|slots cluster|shards cluster|nodes cluster|myid cluster|info cluster|keyslot`

const readsAny = `exists type ttl pttl expiretime pexpiretime`

const writesAny = `del unlink expire pexpire expireat pexpireat persist eval evalsha eval_ro evalsha_ro script|load script|exists`

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
	keyspace.String: `set setnx setex psetex getset getdel getex append incr incrby incrbyfloat decr decrby setrange setbit bitfield mset msetnx pfadd pfmerge`,
	keyspace.Hash:   `hset hsetnx hmset hdel hincrby hincrbyfloat`,
	keyspace.List:   `lpush rpush lpushx rpushx lpop rpop lset lrem ltrim linsert lmove blmove blpop brpop lmpop blmpop`,
	keyspace.Set:    `sadd srem spop smove sinterstore sunionstore sdiffstore`,
	keyspace.ZSet: `zadd zincrby zrem zremrangebyscore zremrangebyrank zremrangebylex zpopmin zpopmax bzpopmin bzpopmax zmpop bzmpop
		zrangestore zunionstore zinterstore zdiffstore geoadd geosearchstore`,
	keyspace.Stream: `xadd xdel xtrim xreadgroup xack xclaim xautoclaim xsetid xgroup|create xgroup|createconsumer xgroup|delconsumer xgroup|destroy xgroup|setid`,
}
