package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
)

// Diagnosis is what `keywright doctor` found.
type Diagnosis struct {
	Facts  []Fact   `json:"facts"`
	Advice []Advice `json:"advice"`
}

// Fact is one thing that is so.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Advice is one thing that should be otherwise. Level is "danger", "warning" or
// "note".
type Advice struct {
	Level string `json:"level"`
	What  string `json:"what"`
	Why   string `json:"why"`
	Fix   string `json:"fix"`
}

// Dangers is how many things are dangerous.
func (d Diagnosis) Dangers() int {
	n := 0
	for _, a := range d.Advice {
		if a.Level == "danger" {
			n++
		}
	}
	return n
}

// patient is everything the checks look at. What the server does not tell is
// absent, and absent is said, never assumed.
type patient struct {
	config  connect.Config
	info    map[string]string
	setting map[string]string
	noConf  bool
	denied  []string // commands of an audit that the user may not run
	offset  time.Duration
	rtt     time.Duration
	user    string
}

// Diagnose examines a server in about twenty round trips. now is the local
// clock.
func Diagnose(ctx context.Context, c connect.Config, now func() time.Time) (Diagnosis, error) {
	t, err := discover(ctx, c, Primary)
	if err != nil {
		return Diagnosis{}, err
	}
	defer t.close()
	p := &patient{config: c, setting: map[string]string{}}
	l := t.shards[0].conn
	if p.info, err = l.info(ctx); err != nil {
		return Diagnosis{}, err
	}
	for _, step := range []func(context.Context, *link, func() time.Time) error{p.clock, p.settings, p.permissions, p.whoami} {
		if err := step(ctx, l, now); err != nil {
			return Diagnosis{}, err
		}
	}
	d := Diagnosis{Facts: p.facts(t), Advice: []Advice{}}
	for _, check := range checks {
		if a, found := check(p); found {
			d.Advice = append(d.Advice, a)
		}
	}
	return d, nil
}

// forbidden turns "you may not" into a fact; other errors stay errors.
func forbidden(err error) (bool, error) {
	var answer *wire.ServerError
	if errors.As(err, &answer) {
		return true, nil
	}
	var explained *connect.Error
	if errors.As(err, &explained) && explained.Kind == connect.Denied {
		return true, nil
	}
	return false, err
}

// clock compares the clocks; the truth lies within half a round trip.
func (p *patient) clock(ctx context.Context, l *link, now func() time.Time) error {
	start := now()
	reply, err := l.ask(ctx, "TIME")
	p.rtt = now().Sub(start)
	if denied, err := forbidden(err); err != nil || denied {
		p.offset = -1 << 62
		return err
	}
	pair, _ := reply.([]any)
	if len(pair) != 2 {
		p.offset = -1 << 62
		return nil
	}
	seconds, _ := strconv.ParseInt(fmt.Sprint(pair[0]), 10, 64)
	micros, _ := strconv.ParseInt(fmt.Sprint(pair[1]), 10, 64)
	p.offset = time.Unix(seconds, micros*1000).Sub(start.Add(p.rtt / 2))
	return nil
}

// settingsRead are the settings that the checks look at.
var settingsRead = []string{"maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "save", "bind", "protected-mode", "requirepass", "min-replicas-to-write"}

func (p *patient) settings(ctx context.Context, l *link, _ func() time.Time) error {
	for _, name := range settingsRead {
		reply, err := l.ask(ctx, "CONFIG", "GET", name)
		denied, err := forbidden(err)
		if err != nil {
			return err
		}
		if denied {
			p.noConf = true
			break
		}
		if pair, ok := reply.([]any); ok && len(pair) >= 2 {
			value := fmt.Sprint(pair[1])
			if name == "requirepass" { // whether, never what
				value = strconv.FormatBool(value != "")
			}
			p.setting[name] = value
		}
	}
	return nil
}

// permissions tries the commands of an audit on a key that is unlikely to exist.
func (p *patient) permissions(ctx context.Context, l *link, _ func() time.Time) error {
	const key = "keywright:doctor:no-such-key"
	for _, args := range [][]string{{"SCAN", "0", "COUNT", "1"}, {"TYPE", key}, {"PTTL", key}, {"MEMORY", "USAGE", key}, {"DBSIZE"}, {"INFO", "server"}, {"OBJECT", "ENCODING", key}, {"GETRANGE", key, "0", "0"}} {
		_, err := l.ask(ctx, args...)
		denied, other := forbidden(err)
		if other != nil && !strings.Contains(other.Error(), "no such key") {
			return other
		}
		if denied && strings.Contains(fmt.Sprint(err), "NOPERM") {
			p.denied = append(p.denied, strings.Join(args[:min(2, len(args))], " "))
		}
	}
	return nil
}

func (p *patient) whoami(ctx context.Context, l *link, _ func() time.Time) error {
	reply, err := l.ask(ctx, "ACL", "WHOAMI")
	if denied, err := forbidden(err); err != nil || denied {
		return err
	}
	p.user, _ = reply.(string)
	return nil
}

const unknown = "unknown (not permitted)"

func (p *patient) facts(t *topology) []Fact {
	i := p.info
	or := func(v string) string { return cmp.Or(v, unknown) }
	brand, version := brandOf(i)
	var out []Fact
	add := func(name, format string, args ...any) { out = append(out, Fact{name, fmt.Sprintf(format, args...)}) }
	add("server", "%s %s", brand, or(version))
	add("topology", "%s", topologyText(t, i))
	add("user", "%s", or(p.user))
	add("tls", "%v", p.config.TLS != nil)
	add("uptime", "%s s", or(i["uptime_in_seconds"]))
	add("clients", "%s", or(i["connected_clients"]))
	add("keys", "%d in %d databases", t.size(), t.databases())
	add("memory", "%s used, limit %s", or(i["used_memory_human"]), limitText(i["maxmemory_human"]))
	add("eviction", "%s", or(cmp.Or(p.setting["maxmemory-policy"], i["maxmemory_policy"])))
	add("persistence", "%s", persistenceText(i, p.setting))
	add("round trip", "%s", p.rtt.Round(10*time.Microsecond))
	if p.offset > -1<<61 {
		add("clock", "%s ahead of ours, give or take %s", p.offset.Round(time.Millisecond), (p.rtt / 2).Round(10*time.Microsecond))
	} else {
		add("clock", unknown)
	}
	missing := "none"
	if len(p.denied) > 0 {
		missing = strings.Join(p.denied, ", ")
	}
	add("missing permissions", "%s", missing)
	return out
}

func limitText(v string) string {
	if v == "0B" || v == "" {
		return "none"
	}
	return v
}

func topologyText(t *topology, i map[string]string) string {
	switch {
	case t.cluster:
		return fmt.Sprintf("cluster of %d shards", len(t.shards))
	case i["role"] == "slave":
		return fmt.Sprintf("replica of %s:%s, link %s", i["master_host"], i["master_port"], i["master_link_status"])
	case i["role"] == "master":
		return fmt.Sprintf("primary with %s replicas (%d in step)", i["connected_slaves"], len(replicasOf(i)))
	}
	return unknown
}

func persistenceText(i, setting map[string]string) string {
	aof := "no AOF"
	if i["aof_enabled"] == "1" {
		aof = "AOF, fsync " + cmp.Or(setting["appendfsync"], "unknown")
	}
	rdb := "no snapshots"
	if setting["save"] != "" {
		rdb = "snapshots " + setting["save"]
	} else if _, known := setting["save"]; !known {
		rdb = "snapshots unknown"
	}
	return aof + "; " + rdb
}

// checks are the rows of advice.
var checks = []func(*patient) (Advice, bool){
	func(p *patient) (Advice, bool) {
		open := p.setting["requirepass"] == "false" && p.user == "default" && p.config.Password.Empty()
		return Advice{"danger", "anybody who reaches the port is logged in with all rights", "The default user has no password. Protected mode only guards a server without any bind setting.", "set a password on the default user, or ACL users, and bind to an inner address"},
			open && p.setting["protected-mode"] != "yes"
	},
	func(p *patient) (Advice, bool) {
		return Advice{"warning", "protected mode is off", "Without a password it is what keeps strangers out of a server that listens everywhere.", "CONFIG SET protected-mode yes"},
			p.setting["protected-mode"] == "no" && p.setting["requirepass"] == "false" && strings.Contains(p.setting["bind"], "*")
	},
	func(p *patient) (Advice, bool) {
		policy := cmp.Or(p.setting["maxmemory-policy"], p.info["maxmemory_policy"])
		return Advice{"warning", "the server may evict keys that never expire (" + policy + ")", "An allkeys policy takes locks, queues and settings just as caches when memory runs out.", "use noeviction or a volatile policy where anything but a cache is kept"},
			strings.HasPrefix(policy, "allkeys")
	},
	func(p *patient) (Advice, bool) {
		policy := cmp.Or(p.setting["maxmemory-policy"], p.info["maxmemory_policy"])
		return Advice{"note", "no memory limit is set", "The server grows until the machine kills it.", "set maxmemory below what the machine has, a fork of a snapshot included"},
			p.info["maxmemory"] == "0" && policy == "noeviction"
	},
	func(p *patient) (Advice, bool) {
		saves, known := p.setting["save"]
		return Advice{"warning", "nothing is written to disk", "A restart loses every key.", "turn on AOF (appendonly yes) or snapshots, unless all of it is a cache"},
			known && saves == "" && p.info["aof_enabled"] == "0" && p.info["role"] == "master"
	},
	func(p *patient) (Advice, bool) {
		return Advice{"danger", "the last snapshot failed", "The server may refuse writes (stop-writes-on-bgsave-error), and the data on disk is old.", "look into the server's log: disk full, or no memory for the fork?"},
			p.info["rdb_last_bgsave_status"] == "err"
	},
	func(p *patient) (Advice, bool) {
		return Advice{"danger", "the last write of the AOF failed", "Writes are not on disk.", "look into the server's log: is the disk full?"},
			p.info["aof_last_write_status"] == "err"
	},
	func(p *patient) (Advice, bool) {
		return Advice{"danger", "the replica has lost its primary", "What it shows is old.", "look at the primary and the network between them"},
			p.info["role"] == "slave" && p.info["master_link_status"] != "up"
	},
	func(p *patient) (Advice, bool) {
		off := p.offset > -1<<61 && (p.offset > 2*time.Second || p.offset < -2*time.Second)
		return Advice{"warning", fmt.Sprintf("the clocks differ by %s", p.offset.Round(time.Second)), "TTLs run by the server's clock; what compares them with a local time is wrong by this much.", "synchronise the clocks (NTP)"}, off
	},
	func(p *patient) (Advice, bool) {
		return Advice{"warning", "the user may not run " + strings.Join(p.denied, ", "), "An audit lacks what these tell, or cannot run.", "`keywright acl print --self` prints a user that has what it needs"}, len(p.denied) > 0
	},
	func(p *patient) (Advice, bool) {
		return Advice{"note", "CONFIG is not permitted", "Persistence, eviction and binding could not be looked at.", "run doctor as a user with +config|get, or ask the operator"}, p.noConf
	},
	luaHoles,
}

// fixedIn are the releases from which on the Lua holes of 2025 (CVE-2025-49844,
// CVE-2025-46817 to 46819) are mended. Distributions mend older versions
// without a new number.
var fixedIn = map[string][]string{
	"redis":  {"7.2.11", "7.4.6", "8.0.4", "8.2.2"},
	"valkey": {"7.2.11", "8.0.6", "8.1.4"},
}

func luaHoles(p *patient) (Advice, bool) {
	brand, version := brandOf(p.info)
	a := Advice{"note", fmt.Sprintf("%s %s may have holes in its Lua engine (CVE-2025-49844 and others)", brand, version), "A user who may run EVAL can break out of it, unless your distribution has mended this version.", "update, or ask the distribution; take EVAL from users that do not need it"}
	if version == "" {
		return a, false
	}
	series := strings.Join(strings.SplitN(version, ".", 3)[:min(2, strings.Count(version, ".")+1)], ".")
	for _, fixed := range fixedIn[brand] {
		if strings.HasPrefix(fixed, series+".") {
			return a, older(version, fixed)
		}
	}
	newest := fixedIn[brand][len(fixedIn[brand])-1]
	return a, older(version, newest)
}
