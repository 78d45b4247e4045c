package server

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/topology"
)

func (p *patient) policy() string {
	return cmp.Or(p.setting["maxmemory-policy"], p.info["maxmemory_policy"])
}

// number is a figure of INFO, or of the settings; -1: it is not told.
func (p *patient) number(name string) int64 {
	if n, told := p.info.Number(name); told {
		return n
	}
	if n, told := topology.Info(p.setting).Number(name); told {
		return n
	}
	return -1
}

// checks are the rows of advice. What a server does not tell is no finding: it is in NotKnown.
var checks = []func(*patient) (Advice, bool){
	func(p *patient) (Advice, bool) {
		return Advice{"danger", p.noDB, "No command of a client with this URL reaches a key.", "name another one at the end of the URL"}, p.noDB != ""
	},
	anybody,
	func(p *patient) (Advice, bool) {
		policy := p.policy()
		return Advice{"warning", "the server may evict keys that never expire (" + policy + ")", "An allkeys policy takes locks, queues and settings just as caches when memory runs out.", "use noeviction or a volatile policy where anything but a cache is kept"},
			strings.HasPrefix(policy, "allkeys")
	},
	func(p *patient) (Advice, bool) {
		policy := p.policy()
		return Advice{"note", "no memory limit is set", "The server grows until the machine kills it.", "set maxmemory below what the machine has, a fork of a snapshot included"},
			p.number("maxmemory") == 0 && policy == "noeviction"
	},
	func(p *patient) (Advice, bool) {
		saves, known := p.setting["save"]
		on, told := p.aof()
		return Advice{"warning", "nothing is written to disk", "A restart loses every key.", "turn on AOF (appendonly yes) or snapshots, unless all of it is a cache"},
			known && saves == "" && told && !on && p.info.Primary()
	},
	func(p *patient) (Advice, bool) {
		return Advice{"danger", "the last snapshot failed", "The data on disk is old; unless stop-writes-on-bgsave-error is no, the server refuses all writes (MISCONF).", "look into the server's log: disk full, or no memory for the fork?"},
			p.info["rdb_last_bgsave_status"] == "err"
	},
	func(p *patient) (Advice, bool) {
		return Advice{"danger", "the last write of the AOF failed", "Writes are not on disk.", "look into the server's log: is the disk full?"},
			p.info["aof_last_write_status"] == "err"
	},
	func(p *patient) (Advice, bool) {
		return Advice{"danger", "a restart may lose what scripts and transactions have written: the default user may not " + p.lost,
			"At its start a server runs the transactions of its AOF with the rights of the default user, and leaves out those that it may not run. Newer versions do not.",
			"user default off ~* +@all: no client can log in as it, and the AOF is read whole"}, p.lost != ""
	},
	func(p *patient) (Advice, bool) {
		return Advice{"danger", "the replica has lost its primary", "What it shows is old.", "look at the primary and the network between them"},
			p.info.Replica() && p.info["master_link_status"] == "down"
	},
	func(p *patient) (Advice, bool) {
		off := p.offset > -1<<61 && (p.offset > 2*time.Second || p.offset < -2*time.Second)
		return Advice{"warning", fmt.Sprintf("the clocks differ by %s", p.offset.Round(time.Second)), "TTLs run by the server's clock; what compares them with a local time is wrong by this much.", "synchronise the clocks (NTP)"}, off
	},
	noReplicas, replicasWereFew, fullMemory, memoryRanOut, aofRewrite, slowDisk, lazyDisk, silentSnapshots, oldSnapshot, loading, tooOld,
	auditorLacks, programLacks, fewKeys, unanswered, noSettings, noInfo, noReplay,
	luaHoles,
}

// anybody: the default user is on and has no password, which was tried, and not only this machine
// reaches the port.
func anybody(p *patient) (Advice, bool) {
	return Advice{"danger", "anybody who reaches the port is logged in: the default user is on and has no password",
		"A connection that did not log in could run a command.", "ACL SETUSER default off, or a password for it (requirepass), and bind to an inner address"}, p.open && p.exposed()
}

// exposed reports whether other machines are let in without a password. What is not known is not
// taken for exposed.
func (p *patient) exposed() bool {
	if p.config.Network == "tcp" && !loopback(p.address) {
		return true // that is where the connection that did not log in came from
	}
	addresses, known := p.setting["bind"]
	outside := func(one string) bool { return !loopback(strings.TrimPrefix(one, "-")) }
	listens := known && (addresses == "" || slices.ContainsFunc(strings.Fields(addresses), outside))
	major, _ := p.info.Release()
	guarded := p.setting["protected-mode"] == "yes" && (major >= 7 || addresses == "") // Redis 6 guards no server with a bind
	return listens && p.setting["protected-mode"] != "" && !guarded
}

// loopback reports whether an address is one that only its own machine reaches.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// refusedFor is how many commands were refused with an error, since the start; 0: none, or it is
// not told.
func (p *patient) refusedFor(code string) int64 {
	n, _ := strconv.ParseInt(p.info.Fields("errorstat_" + code)["count"], 10, 64)
	return n
}

// fewReplicas reports whether a primary refuses writes for lack of replicas. INFO tells how many are
// good only where some are needed.
func (p *patient) fewReplicas() bool {
	good, told := p.info.Number("min_slaves_good_slaves")
	return p.info.Primary() && told && good < max(p.number("min-replicas-to-write"), 1)
}

func noReplicas(p *patient) (Advice, bool) {
	needed := "needed are as many as min-replicas-to-write says"
	if n := p.number("min-replicas-to-write"); n > 0 {
		needed = fmt.Sprintf("needed are %d (min-replicas-to-write)", n)
	}
	return Advice{"danger", "writes are refused for lack of replicas (NOREPLICAS)", fmt.Sprintf("In step are %d; %s.", p.number("min_slaves_good_slaves"), needed),
		"bring the replicas back; to write without them, CONFIG SET min-replicas-to-write 0"}, p.fewReplicas()
}

// replicasWereFew: what was refused is counted, whether there are enough replicas now or not.
func replicasWereFew(p *patient) (Advice, bool) {
	n := p.refusedFor("NOREPLICAS")
	return Advice{"warning", fmt.Sprintf("%d writes were refused for lack of replicas (NOREPLICAS) since the start", n), "Fewer replicas were in step than min-replicas-to-write asks for.",
		"look at the replicas and the network between them"}, n > 0 && !p.fewReplicas()
}

// Shares of the limit from which memory is nearly full, and full: a server that
// refuses writes stays a little below its limit.
const (
	nearlyFull = 0.9
	full       = 0.995
)

// memoryShare is how much of the limit is used, as eviction counts it; 0: there is
// no limit, or it is not told.
func (p *patient) memoryShare() float64 {
	limit, used := p.number("maxmemory"), p.number("used_memory")
	if limit <= 0 || used < 0 {
		return 0
	}
	return float64(used-max(p.number("mem_not_counted_for_evict"), 0)) / float64(limit)
}

// evicts says whether the server has keys that its policy may take.
func (p *patient) evicts() bool {
	switch policy := p.policy(); {
	case strings.HasPrefix(policy, "allkeys"):
		return true
	case strings.HasPrefix(policy, "volatile"):
		for name := range p.info {
			if n, _ := strconv.ParseInt(p.info.Fields(name)["expires"], 10, 64); strings.HasPrefix(name, "db") && n > 0 {
				return true
			}
		}
	}
	return false
}

// full: at the limit, or near it and writes were refused.
func (p *patient) full() bool {
	share := p.memoryShare()
	return share >= full || share >= nearlyFull && p.refusedWrites() > 0
}

func (p *patient) refusedWrites() int64 { return p.refusedFor("OOM") }

func fullMemory(p *patient) (Advice, bool) {
	share := p.memoryShare()
	used := fmt.Sprintf("%.0f %% of maxmemory (%s)", share*100, p.info["maxmemory_human"])
	switch {
	case p.policy() == "":
		return Advice{"warning", "the memory is nearly full, or full", "In use are " + used + ". Whether keys are evicted at the limit, or writes fail, is not known.", "`keywright top` shows what is large; raise maxmemory in time"}, share >= nearlyFull
	case p.full() && !p.evicts():
		return Advice{"danger", "the memory is full and nothing may be evicted (" + p.policy() + "): writes fail with OOM", "In use are " + used + ".", "delete what is not needed (`keywright top` shows what is large), raise maxmemory, or let caches be evicted"}, true
	case share >= nearlyFull && !p.evicts():
		return Advice{"warning", "the memory is nearly full and nothing may be evicted (" + p.policy() + ")", "In use are " + used + "; at the limit writes fail with OOM.", "`keywright top` shows what is large; raise maxmemory in time"}, true
	case share >= full && p.number("evicted_keys") > 0:
		return Advice{"warning", fmt.Sprintf("the memory is full: %d keys were evicted since the start", p.number("evicted_keys")), "Keys go before their TTL ends.", "`keywright top` shows what is large; raise maxmemory"}, true
	}
	return Advice{}, false
}

// memoryRanOut: what was refused is counted, whether the memory is full now or not.
func memoryRanOut(p *patient) (Advice, bool) {
	n := p.refusedWrites()
	return Advice{"warning", fmt.Sprintf("%d writes were refused for lack of memory (OOM) since the start", n), "The memory was full, or still is.", "raise maxmemory, or have less in it: `keywright top` shows what is large"}, n > 0 && !p.full()
}

func aofRewrite(p *patient) (Advice, bool) {
	return Advice{"danger", "the last rewrite of the AOF failed", "The file grows until the disk is full, and a start takes ever longer.", "look into the server's log: disk full, or no memory for the fork? Then BGREWRITEAOF"},
		p.info["aof_last_bgrewrite_status"] == "err"
}

func slowDisk(p *patient) (Advice, bool) {
	return Advice{"warning", "every write waits for the disk (appendfsync always)", "All clients wait for it, also those that only read; a slow disk makes locks and leases run out.", "appendfsync everysec loses a second at most; keep always only where that is too much"},
		p.info["aof_enabled"] == "1" && p.setting["appendfsync"] == "always"
}

func lazyDisk(p *patient) (Advice, bool) {
	return Advice{"warning", "the system decides when writes are on disk (appendfsync no)", "A power cut loses what was written in about the last 30 s, jobs and locks too.", "CONFIG SET appendfsync everysec"},
		p.info["aof_enabled"] == "1" && p.setting["appendfsync"] == "no"
}

func silentSnapshots(p *patient) (Advice, bool) {
	return Advice{"warning", "snapshots may fail without any client hearing of it (stop-writes-on-bgsave-error no)", "Writes go on although nothing is saved any more.", "CONFIG SET stop-writes-on-bgsave-error yes, or watch rdb_last_bgsave_status"},
		p.setting["stop-writes-on-bgsave-error"] == "no" && p.setting["save"] != ""
}

// oldSnapshot: without an AOF all writes since the last snapshot are lost in a crash.
func oldSnapshot(p *patient) (Advice, bool) {
	saved, changes := p.number("rdb_last_save_time"), p.number("rdb_changes_since_last_save")
	age := time.Duration(0) // not known
	if now := p.number("server_time_usec") / 1e6; saved > 0 && now > 0 {
		age = time.Duration(now-saved) * time.Second
	}
	on, told := p.aof()
	return Advice{"warning", "the last snapshot is more than a day old, and there is no AOF", fmt.Sprintf("A crash would lose %d changes.", changes), "BGSAVE now; set save so that snapshots are made, or turn on AOF"},
		p.setting["save"] != "" && told && !on && changes > 0 && age > 24*time.Hour
}

func loading(p *patient) (Advice, bool) {
	return Advice{"warning", "the server is loading its data", "Until it has all of it, it answers nothing else (LOADING).", "wait; INFO persistence says how far it is"}, p.info["loading"] == "1"
}

func tooOld(p *patient) (Advice, bool) {
	err := supported(p.address, p.info)
	if err == nil {
		return Advice{}, false
	}
	brand, version := p.info.Brand()
	return Advice{"danger", brand + " " + version + " is older than what keywright supports", "An audit refuses it, and scripts of generated code fail.", "update: Redis from 6.2, Valkey from 7.2"}, true
}

func auditorLacks(p *patient) (Advice, bool) {
	denied := p.tried.deniedFor(forAudit)
	return Advice{"warning", "the user may not run " + strings.Join(denied, ", "), "An audit lacks what these tell, or cannot run.", "`keywright acl print --self` prints a user that has what it needs"}, len(denied) > 0
}

func programLacks(p *patient) (Advice, bool) {
	denied := p.tried.deniedFor(forPrograms)
	return Advice{"note", "the user may not run " + strings.Join(denied, ", "), "It is good for audits, not for programs: locks, queues, entities and caches need these.", "`keywright acl print` prints the users of the programs"}, len(denied) > 0
}

func fewKeys(p *patient) (Advice, bool) {
	return Advice{"note", "the user may not touch every key", "An audit says nothing of the keys that are out of reach, but how many they are.", "audit as a user with ~*"}, p.tried.fewKeys
}

func unanswered(p *patient) (Advice, bool) {
	return Advice{"danger", "the server refuses to answer: " + strings.Join(p.silent, "; "), "What it would have said is missing in this diagnosis.", "mend what the error says, and run doctor again"}, len(p.silent) > 0
}

// noSettings: a managed service keeps CONFIG from everybody.
func noSettings(p *patient) (Advice, bool) {
	return Advice{"note", "the settings are not known, or not all of them: CONFIG GET: " + p.blind["CONFIG GET"], "Persistence, eviction and binding could not be looked at, or not all of it.",
		"run doctor as a user with +config|get; a managed service tells them in its console"}, p.blind["CONFIG GET"] != ""
}

func noInfo(p *patient) (Advice, bool) {
	return Advice{"warning", "the state of the server is not known, or not all of it: INFO: " + p.blind["INFO"], "Memory, persistence, replicas and keys could not be looked at, or not all of it.",
		"run doctor as a user with +info"}, p.blind["INFO"] != "" && len(p.silent) == 0
}

// noReplay: servers that are older than the command are not told apart from those that refuse it.
func noReplay(p *patient) (Advice, bool) {
	why := p.blind["ACL DRYRUN"]
	return Advice{"note", "whether a restart loses what scripts and transactions have written is not known: ACL DRYRUN: " + why,
		"At its start a server runs the transactions of its AOF with the rights of the default user.", "look at ACL GETUSER default: it is best off, with ~* +@all"}, why != "" && len(p.silent) == 0
}

// fixedIn are the releases from which on the Lua holes of 2025 (CVE-2025-49844,
// CVE-2025-46817 to 46819) are mended. Distributions mend older versions
// without a new number.
var fixedIn = map[string][]string{
	"redis":  {"7.2.11", "7.4.6", "8.0.4", "8.2.2"},
	"valkey": {"7.2.11", "8.0.6", "8.1.4"},
}

func luaHoles(p *patient) (Advice, bool) {
	brand, version := p.info.Brand()
	a := Advice{"note", fmt.Sprintf("%s %s may have holes in its Lua engine (CVE-2025-49844 and others)", brand, version), "A user who may run EVAL can break out of it, unless your distribution has mended this version.", "update, or ask the distribution; take EVAL from users that do not need it"}
	if version == "" {
		return a, false
	}
	series := strings.Join(strings.SplitN(version, ".", 3)[:min(2, strings.Count(version, ".")+1)], ".")
	for _, fixed := range fixedIn[brand] {
		if strings.HasPrefix(fixed, series+".") {
			return a, topology.Older(version, fixed)
		}
	}
	newest := fixedIn[brand][len(fixedIn[brand])-1]
	return a, topology.Older(version, newest)
}
