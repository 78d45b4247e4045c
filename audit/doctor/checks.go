package doctor

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source/server/examine"
)

// check is a rule about one server, and what it sees there: the message of the finding.
type check struct {
	finding.Rule
	sees func(*examine.Patient) (string, bool)
}

// always returns what sees a thing that has one message.
func always(message string, is func(*examine.Patient) bool) func(*examine.Patient) (string, bool) {
	return func(p *examine.Patient) (string, bool) { return message, is(p) }
}

// checks lists the rules.
var checks = []check{
	{finding.Rule{Code: "KW701", Name: "no-such-database", Severity: finding.Error,
		Summary: "The server lacks the database that the URL names",
		Explain: "No command of a client with this URL reaches a key.", Fix: "name another one at the end of the URL"},
		func(p *examine.Patient) (string, bool) { return p.NoDB, p.NoDB != "" }},
	{finding.Rule{Code: "KW702", Name: "open-to-all", Severity: finding.Error,
		Summary: "Anybody who reaches the port is logged in",
		Explain: "The default user is on and has no password: a connection that did not log in could run a command.",
		Fix:     "ACL SETUSER default off, or a password for it (requirepass), and bind to an inner address"},
		always("anybody who reaches the port is logged in: the default user is on and has no password",
			func(p *examine.Patient) bool { return p.Open && p.Exposed() })},
	{finding.Rule{Code: "KW703", Name: "evicts-all-keys", Severity: finding.Warning,
		Summary: "The server may evict keys that never expire",
		Explain: "An allkeys policy takes locks, queues and settings just as caches when memory runs out.",
		Fix:     "use noeviction or a volatile policy where anything but a cache is kept"},
		func(p *examine.Patient) (string, bool) {
			return "the server may evict keys that never expire (" + p.Policy() + ")", strings.HasPrefix(p.Policy(), "allkeys")
		}},
	{finding.Rule{Code: "KW704", Name: "no-memory-limit", Severity: finding.Note, Summary: "No memory limit is set",
		Explain: "The server grows until the machine kills it.",
		Fix:     "set maxmemory below what the machine has, a fork of a snapshot included"},
		always("no memory limit is set",
			func(p *examine.Patient) bool { return p.Number("maxmemory") == 0 && p.Policy() == "noeviction" })},
	{finding.Rule{Code: "KW705", Name: "nothing-on-disk", Severity: finding.Warning, Summary: "Nothing is written to disk",
		Explain: "A restart loses every key.",
		Fix:     "turn on AOF (appendonly yes) or snapshots, unless all of it is a cache"},
		always("nothing is written to disk", func(p *examine.Patient) bool {
			saves, known := p.Settings["save"]
			on, told := p.AOF()
			return known && saves == "" && told && !on && p.Info.Primary()
		})},
	{finding.Rule{Code: "KW706", Name: "snapshot-failed", Severity: finding.Error, Summary: "The last snapshot failed",
		Explain: "The data on disk is old; unless stop-writes-on-bgsave-error is no, the server refuses all " +
			"writes (MISCONF).",
		Fix: "look into the server's log: disk full, or no memory for the fork?"},
		always("the last snapshot failed", tells("rdb_last_bgsave_status", "err"))},
	{finding.Rule{Code: "KW707", Name: "aof-write-failed", Severity: finding.Error,
		Summary: "The last write of the AOF failed", Explain: "Writes are not on disk.",
		Fix: "look into the server's log: is the disk full?"},
		always("the last write of the AOF failed", tells("aof_last_write_status", "err"))},
	{finding.Rule{Code: "KW708", Name: "aof-not-replayed", Severity: finding.Error,
		Summary: "A restart may lose what scripts and transactions have written",
		Explain: "At its start a server runs the transactions of its AOF with the rights of the default user, and " +
			"leaves out " +
			"those that it may not run. Newer versions do not.",
		Fix: "user default off ~* +@all: no client can log in as it, and the AOF is read whole"},
		func(p *examine.Patient) (string, bool) {
			return "a restart may lose what scripts and transactions have written: the default user may not " + p.Lost,
				p.Lost != ""
		}},
	{finding.Rule{Code: "KW709", Name: "replica-cut-off", Severity: finding.Error,
		Summary: "The replica has lost its primary", Explain: "What it shows is old.",
		Fix: "look at the primary and the network between them"},
		always("the replica has lost its primary",
			func(p *examine.Patient) bool { return p.Info.Replica() && p.Info["master_link_status"] == "down" })},
	{finding.Rule{Code: "KW710", Name: "clock-differs", Severity: finding.Warning,
		Summary: "The clock of the server differs from the one here",
		Explain: "TTLs run by the server's clock; what compares them with a local time is wrong by this much.",
		Fix:     "synchronise the clocks (NTP)"},
		func(p *examine.Patient) (string, bool) {
			off, told := p.Offset()
			return fmt.Sprintf("the clocks differ by %s", off.Round(time.Second)),
				told && (off > 2*time.Second || off < -2*time.Second)
		}},
	{finding.Rule{Code: "KW711", Name: "too-few-replicas", Severity: finding.Error,
		Summary: "Writes are refused for lack of replicas (NOREPLICAS)",
		Explain: "Fewer replicas are in step than min-replicas-to-write asks for.",
		Fix:     "bring the replicas back; to write without them, CONFIG SET min-replicas-to-write 0"}, noReplicas},
	{finding.Rule{Code: "KW712", Name: "replicas-were-few", Severity: finding.Warning,
		Summary: "Writes were refused for lack of replicas",
		Explain: "Fewer replicas were in step than min-replicas-to-write asks for.",
		Fix:     "look at the replicas and the network between them"},
		func(p *examine.Patient) (string, bool) { // what was refused is counted, whether there are enough now or not
			n := refusedFor(p, "NOREPLICAS")
			return fmt.Sprintf("%d writes were refused for lack of replicas (NOREPLICAS) since the start", n),
				n > 0 && !fewReplicas(p)
		}},
	{finding.Rule{Code: "KW713", Name: "memory-full", Severity: finding.Error,
		Summary: "The memory is full and nothing may be evicted", Explain: "Writes fail with OOM.",
		Fix: "delete what is not needed (`keywright top` shows what is large), raise maxmemory, or let caches be evicted"},
		func(p *examine.Patient) (string, bool) {
			return "the memory is full and nothing may be evicted (" + p.Policy() + "): writes fail with OOM; in use are " +
				used(p), p.Policy() != "" && isFull(p) && !evicts(p)
		}},
	{finding.Rule{Code: "KW714", Name: "memory-nearly-full", Severity: finding.Warning,
		Summary: "The memory is nearly full, and nothing may be evicted, or that is not known",
		Explain: "At the limit writes fail with OOM.",
		Fix:     "`keywright top` shows what is large; raise maxmemory in time"}, nearly},
	{finding.Rule{Code: "KW715", Name: "keys-evicted", Severity: finding.Warning,
		Summary: "The memory is full, and keys were evicted", Explain: "Keys go before their TTL ends.",
		Fix: "`keywright top` shows what is large; raise maxmemory"},
		func(p *examine.Patient) (string, bool) {
			n := p.Number("evicted_keys")
			return fmt.Sprintf("the memory is full: %d keys were evicted since the start", n),
				memoryShare(p) >= full && n > 0 && evicts(p)
		}},
	{finding.Rule{Code: "KW716", Name: "memory-ran-out", Severity: finding.Warning,
		Summary: "Writes were refused for lack of memory", Explain: "The memory was full, or still is.",
		Fix: "raise maxmemory, or have less in it: `keywright top` shows what is large"},
		func(p *examine.Patient) (string, bool) { // what was refused is counted, whether the memory is full now or not
			n := refusedFor(p, "OOM")
			return fmt.Sprintf("%d writes were refused for lack of memory (OOM) since the start", n), n > 0 && !isFull(p)
		}},
	{finding.Rule{Code: "KW717", Name: "aof-rewrite-failed", Severity: finding.Error,
		Summary: "The last rewrite of the AOF failed",
		Explain: "The file grows until the disk is full, and a start takes ever longer.",
		Fix:     "look into the server's log: disk full, or no memory for the fork? Then BGREWRITEAOF"},
		always("the last rewrite of the AOF failed", tells("aof_last_bgrewrite_status", "err"))},
	{finding.Rule{Code: "KW718", Name: "waits-for-disk", Severity: finding.Warning,
		Summary: "Every write waits for the disk",
		Explain: "All clients wait for it, also those that only read; a slow disk makes locks and leases run out.",
		Fix:     "appendfsync everysec loses a second at most; keep always only where that is too much"},
		always("every write waits for the disk (appendfsync always)", syncs("always"))},
	{finding.Rule{Code: "KW719", Name: "disk-when-it-suits", Severity: finding.Warning,
		Summary: "The system decides when writes are on disk",
		Explain: "A power cut loses what was written in about the last 30 s, jobs and locks too.",
		Fix:     "CONFIG SET appendfsync everysec"},
		always("the system decides when writes are on disk (appendfsync no)", syncs("no"))},
	{finding.Rule{Code: "KW720", Name: "silent-snapshots", Severity: finding.Warning,
		Summary: "Snapshots may fail without any client hearing of it",
		Explain: "Writes go on although nothing is saved any more.",
		Fix:     "CONFIG SET stop-writes-on-bgsave-error yes, or watch rdb_last_bgsave_status"},
		always("snapshots may fail without any client hearing of it (stop-writes-on-bgsave-error no)",
			func(p *examine.Patient) bool {
				return p.Settings["stop-writes-on-bgsave-error"] == "no" && p.Settings["save"] != ""
			})},
	{finding.Rule{Code: "KW721", Name: "old-snapshot", Severity: finding.Warning,
		Summary: "The last snapshot is more than a day old, and there is no AOF",
		Explain: "A crash would lose all writes since.",
		Fix:     "BGSAVE now; set save so that snapshots are made, or turn on AOF"}, oldSnapshot},
	{finding.Rule{Code: "KW722", Name: "loading", Severity: finding.Warning, Summary: "The server is loading its data",
		Explain: "Until it has all of it, it answers nothing else (LOADING).",
		Fix:     "wait; INFO persistence says how far it is"},
		always("the server is loading its data", tells("loading", "1"))},
	{finding.Rule{Code: "KW723", Name: "server-too-old", Severity: finding.Error,
		Summary: "The server is older than what keywright supports",
		Explain: "An audit refuses it, and scripts of generated code fail.",
		Fix:     "update: Redis from 6.2, Valkey from 7.2"},
		func(p *examine.Patient) (string, bool) {
			brand, version := p.Info.Brand()
			return brand + " " + version + " is older than what keywright supports", p.Unsupported()
		}},
	{finding.Rule{Code: "KW724", Name: "auditor-lacks", Severity: finding.Warning,
		Summary: "The user may not run what audits need", Explain: "An audit lacks what these tell, or cannot run.",
		Fix: "`keywright acl print --self` prints a user that has what it needs"}, lacks(examine.ForAudit)},
	{finding.Rule{Code: "KW725", Name: "program-lacks", Severity: finding.Note,
		Summary: "The user may not run what programs need",
		Explain: "It is good for audits, not for programs: locks, queues, entities and caches need these.",
		Fix:     "`keywright acl print` prints the users of the programs"}, lacks(examine.ForPrograms)},
	{finding.Rule{Code: "KW726", Name: "few-keys", Severity: finding.Note,
		Summary: "The user may not touch every key",
		Explain: "An audit says nothing of the keys that are out of reach, but how many they are.",
		Fix:     "audit as a user with ~*"},
		always("the user may not touch every key", (*examine.Patient).FewKeys)},
	{finding.Rule{Code: "KW727", Name: "refuses-to-answer", Severity: finding.Error,
		Summary: "The server answers questions with errors",
		Explain: "What it would have said is missing in this diagnosis.",
		Fix:     "mend what the error says, and run doctor again"},
		func(p *examine.Patient) (string, bool) {
			return "the server refuses to answer: " + strings.Join(p.Silent, "; "), len(p.Silent) > 0
		}},
	{finding.Rule{Code: "KW728", Name: "settings-not-known", Severity: finding.Note,
		Summary: "The settings are not known, or not all of them",
		Explain: "Persistence, eviction and binding could not be looked at, or not all of it. A managed service " +
			"keeps CONFIG " +
			"from everybody.",
		Fix: "run doctor as a user with +config|get; a managed service tells them in its console"},
		func(p *examine.Patient) (string, bool) {
			why := p.Blind["CONFIG GET"]
			return "the settings are not known, or not all of them: CONFIG GET: " + why, why != ""
		}},
	{finding.Rule{Code: "KW729", Name: "state-not-known", Severity: finding.Warning,
		Summary: "The state of the server is not known, or not all of it",
		Explain: "Memory, persistence, replicas and keys could not be looked at, or not all of it.",
		Fix:     "run doctor as a user with +info"},
		func(p *examine.Patient) (string, bool) {
			why := p.Blind["INFO"]
			return "the state of the server is not known, or not all of it: INFO: " + why, why != "" && len(p.Silent) == 0
		}},
	{finding.Rule{Code: "KW730", Name: "replay-not-known", Severity: finding.Note,
		Summary: "Whether a restart loses what scripts have written is not known",
		Explain: "At its start a server runs the transactions of its AOF with the rights of the default user. Servers that " +
			"are older than ACL DRYRUN are not distinguished from those that refuse it.",
		Fix: "look at ACL GETUSER default: it is best off, with ~* +@all"},
		func(p *examine.Patient) (string, bool) {
			why := p.Blind["ACL DRYRUN"]
			return "whether a restart loses what scripts and transactions have written is not known: ACL DRYRUN: " + why,
				why != "" && len(p.Silent) == 0
		}},
	{finding.Rule{Code: "KW731", Name: "lua-holes", Severity: finding.Note,
		Summary: "The version may have holes in its Lua engine",
		Explain: "A user who may run EVAL can break out of it (CVE-2025-49844, CVE-2025-46817 to 46819), unless your " +
			"distribution has mended this version.",
		Fix: "update, or ask the distribution; take EVAL from users that do not need it"}, luaHoles},
	{finding.Rule{Code: "KW732", Name: "replica-lags", Severity: finding.Warning,
		Summary: "A replica is not in step with its primary",
		Explain: "What it shows is old, and a failover to it loses what it lacks. Audits do not read it.",
		Fix:     "look at the replica (is it stopped, or busy?) and at the network between them"}, lagging},
}

// tells returns whether a figure of INFO has a value.
func tells(name, value string) func(*examine.Patient) bool {
	return func(p *examine.Patient) bool { return p.Info[name] == value }
}

// syncs returns whether an AOF is written to disk in a way.
func syncs(how string) func(*examine.Patient) bool {
	return func(p *examine.Patient) bool { return p.Info["aof_enabled"] == "1" && p.Settings["appendfsync"] == how }
}

// refusedFor returns how many commands were refused with an error, since the start; 0: none, or it is
// not reported.
func refusedFor(p *examine.Patient, code string) int64 {
	n, _ := strconv.ParseInt(p.Info.Fields("errorstat_" + code)["count"], 10, 64)
	return n
}

// fewReplicas reports whether a primary refuses writes for lack of replicas. INFO tells how many are
// good only where some are needed.
func fewReplicas(p *examine.Patient) bool {
	good, told := p.Info.Number("min_slaves_good_slaves")
	return p.Info.Primary() && told && good < max(p.Number("min-replicas-to-write"), 1)
}

func noReplicas(p *examine.Patient) (string, bool) {
	needed := "needed are as many as min-replicas-to-write says"
	if n := p.Number("min-replicas-to-write"); n > 0 {
		needed = fmt.Sprintf("needed are %d (min-replicas-to-write)", n)
	}
	return fmt.Sprintf("writes are refused for lack of replicas (NOREPLICAS): in step are %d, %s",
		p.Number("min_slaves_good_slaves"), needed), fewReplicas(p)
}

// lagging sees the replicas that have not confirmed what their primary has written.
func lagging(p *examine.Patient) (string, bool) {
	var behind []string
	for _, f := range p.Info.Followers() {
		if !f.InStep() {
			state := fmt.Sprintf("lags by %d bytes, silent for %s", f.Behind, f.Silent)
			if !f.Online {
				state = "loading the data set"
			}
			behind = append(behind, f.Address+" ("+state+")")
		}
	}
	more := ""
	if n := len(behind); n > mostNamed {
		behind, more = behind[:mostNamed], fmt.Sprintf(" and %d more", n-mostNamed)
	}
	return "replicas are not in step: " + strings.Join(behind, ", ") + more, len(behind) > 0
}

// mostNamed bounds how many of a kind a message names.
const mostNamed = 5

// Shares of the limit from which memory is nearly full, and full: a server that
// refuses writes stays a little below its limit.
const (
	nearlyFull = 0.9
	full       = 0.995
)

// memoryShare returns how much of the limit is used, as eviction counts it; 0: there is
// no limit, or it is not reported.
func memoryShare(p *examine.Patient) float64 {
	limit, used := p.Number("maxmemory"), p.Number("used_memory")
	if limit <= 0 || used < 0 {
		return 0
	}
	return float64(used-max(p.Number("mem_not_counted_for_evict"), 0)) / float64(limit)
}

func used(p *examine.Patient) string {
	whole := math.Floor(memoryShare(p) * 100) // 100 % is all
	return fmt.Sprintf("%.0f %% of maxmemory (%s)", whole, p.Info["maxmemory_human"])
}

// evicts says whether the server has keys that its policy may take.
func evicts(p *examine.Patient) bool {
	switch policy := p.Policy(); {
	case strings.HasPrefix(policy, "allkeys"):
		return true
	case strings.HasPrefix(policy, "volatile"):
		for name := range p.Info {
			if n, _ := strconv.ParseInt(p.Info.Fields(name)["expires"], 10, 64); strings.HasPrefix(name, "db") && n > 0 {
				return true
			}
		}
	}
	return false
}

// isFull: at the limit, or near it and writes were refused.
func isFull(p *examine.Patient) bool {
	share := memoryShare(p)
	return share >= full || share >= nearlyFull && refusedFor(p, "OOM") > 0
}

func nearly(p *examine.Patient) (string, bool) {
	if memoryShare(p) < nearlyFull {
		return "", false
	}
	if p.Policy() == "" {
		return "the memory is nearly full, or full: in use are " + used(p) +
			"; whether keys are evicted at the limit, or writes fail, is not known", true
	}
	return "the memory is nearly full and nothing may be evicted (" + p.Policy() + "): in use are " + used(p),
		!isFull(p) && !evicts(p)
}

// oldSnapshot: without an AOF all writes since the last snapshot are lost in a crash.
func oldSnapshot(p *examine.Patient) (string, bool) {
	saved, changes := p.Number("rdb_last_save_time"), p.Number("rdb_changes_since_last_save")
	age := time.Duration(0) // not known
	if now := p.Number("server_time_usec") / 1e6; saved > 0 && now > 0 {
		age = time.Duration(now-saved) * time.Second
	}
	on, told := p.AOF()
	return fmt.Sprintf("the last snapshot is more than a day old, and there is no AOF: a crash would lose %d changes",
			changes),
		p.Settings["save"] != "" && told && !on && changes > 0 && age > 24*time.Hour
}

// lacks sees which of the commands that were tried for something the user may not run.
func lacks(what examine.Purpose) func(*examine.Patient) (string, bool) {
	return func(p *examine.Patient) (string, bool) {
		denied := p.Denied(what)
		return "the user may not run " + strings.Join(denied, ", "), len(denied) > 0
	}
}

// fixedIn lists the releases from which on the Lua holes of 2025 are mended. Distributions mend older versions
// without a new number.
var fixedIn = map[string][]string{
	"redis":  {"7.2.11", "7.4.6", "8.0.4", "8.2.2"},
	"valkey": {"7.2.11", "8.0.6", "8.1.4"},
}

func luaHoles(p *examine.Patient) (string, bool) {
	brand, version := p.Info.Brand()
	message := fmt.Sprintf("%s %s may have holes in its Lua engine (CVE-2025-49844 and others)", brand, version)
	if version == "" {
		return message, false
	}
	series := strings.Join(strings.SplitN(version, ".", 3)[:min(2, strings.Count(version, ".")+1)], ".")
	for _, fixed := range fixedIn[brand] {
		if strings.HasPrefix(fixed, series+".") {
			return message, topology.Older(version, fixed)
		}
	}
	newest := fixedIn[brand][len(fixedIn[brand])-1]
	return message, topology.Older(version, newest)
}
