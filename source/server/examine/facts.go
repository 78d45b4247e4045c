package examine

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// unasked are questions that no figure of a server depends on: what they do not tell is an
// finding, and the examination is whole without it.
var unasked = []string{"ACL DRYRUN"}

// notKnown returns what is said in place of a figure.
func (p *Patient) notKnown(question string) string {
	return "not known: " + question + ": " + cmp.Or(p.Blind[question], errNotTold.Error()+" it")
}

// fact returns a figure of INFO, or why there is none.
func (p *Patient) fact(name string) string { return cmp.Or(p.Info[name], p.notKnown("INFO")) }

// Facts returns what the servers are, in the order in which people ask.
func (x *Examination) Facts() []Fact {
	p := x.Patients[0]
	brand, version := p.Info.Brand()
	var out []Fact
	add := func(name, format string, args ...any) { out = append(out, Fact{name, fmt.Sprintf(format, args...)}) }
	if version == "" {
		add("server", "%s", p.notKnown("INFO"))
	} else {
		add("server", "%s %s", brand, version)
	}
	add("topology", "%s", x.topologyText())
	add("user", "%s", cmp.Or(p.user, p.notKnown("ACL WHOAMI")))
	add("tls", "%v", p.config.TLS != nil)
	if uptime, told := p.Info["uptime_in_seconds"]; told {
		add("uptime", "%s s", uptime)
	} else {
		add("uptime", "%s", p.notKnown("INFO"))
	}
	add("clients", "%s", p.fact("connected_clients"))
	add("keys", "%s", x.keysText())
	add("memory", "%s", p.memoryText())
	add("eviction", "%s", cmp.Or(p.Policy(), p.notKnown("INFO")))
	add("persistence", "%s", p.persistenceText())
	add("round trip", "%s", p.rtt.Round(10*time.Microsecond))
	if p.offset > -1<<61 {
		add("clock", "%s ours, give or take %s", clockDifference(p.offset.Round(time.Millisecond)),
			(p.rtt / 2).Round(10*time.Microsecond))
	} else {
		add("clock", "%s", p.notKnown("TIME"))
	}
	missing := "none of those that were tried"
	if denied := p.tried.denied(); len(denied) > 0 {
		missing = strings.Join(denied, ", ")
	}
	if why := p.Blind["the permissions"]; why != "" {
		missing = "not known: " + why
	}
	add("missing permissions", "%s", missing)
	return out
}

// keysText counts the keys of the primaries that answered.
func (x *Examination) keysText() string {
	all, keys, silent := map[int]bool{}, int64(0), 0
	for _, p := range x.Patients {
		if len(p.Info) == 0 {
			silent++
		}
		if len(x.Patients) > 1 && p.Info.Replica() {
			continue
		}
		for db, n := range p.Info.Databases() {
			keys += n
			all[db] = true
		}
	}
	if silent == len(x.Patients) {
		return x.Patients[0].notKnown("INFO")
	}
	text := fmt.Sprintf("%d in %d database%s", keys, len(all), pluralEnding(len(all)))
	for _, n := range x.Silent {
		if n.Node.Primary() {
			silent++
		}
	}
	if silent > 0 {
		text = "at least " + text + fmt.Sprintf(", without those of %d node%s that could not be asked", silent,
			pluralEnding(silent))
	} else if x.Patients[0].Info.Clustered() && len(x.Nodes) == 0 {
		text = "at least " + text + ": the other nodes of the cluster are not known"
	}
	return text
}

func (p *Patient) memoryText() string {
	limit := p.fact("maxmemory_human")
	if n := p.Number("maxmemory"); n == 0 {
		limit = "none"
	} else if p.Info["maxmemory_human"] == "" && n > 0 {
		limit = fmt.Sprintf("%d bytes", n)
	}
	return p.fact("used_memory_human") + " used, limit " + limit
}

func (x *Examination) topologyText() string {
	p := x.Patients[0]
	i := p.Info
	switch {
	case i.Clustered() && len(x.Nodes) == 0:
		return "cluster, of which one node was looked at: the others are not known"
	case i.Clustered():
		return fmt.Sprintf("cluster of %d shards, %d of %d nodes answer", len(x.Nodes.Shards()), len(x.Patients),
			max(len(x.Nodes), 1))
	case i.Replica():
		return fmt.Sprintf("replica of %s:%s, link %s", p.fact("master_host"), p.fact("master_port"),
			p.fact("master_link_status"))
	case i.Primary() && i["connected_slaves"] != "":
		return fmt.Sprintf("primary with %s replicas (%d in step)", i["connected_slaves"], len(i.InStep()))
	case i.Primary():
		return "primary; replicas " + p.notKnown("INFO")
	}
	return p.notKnown("INFO")
}

func (p *Patient) persistenceText() string {
	aof := "no AOF"
	if on, known := p.AOF(); !known {
		aof = "AOF " + p.notKnown("INFO")
	} else if on {
		aof = "AOF, fsync " + cmp.Or(p.Settings["appendfsync"], p.notKnown("CONFIG GET"))
	}
	rdb := "no snapshots"
	if save, known := p.Settings["save"]; !known {
		rdb = "snapshots " + p.notKnown("CONFIG GET")
	} else if save != "" {
		rdb = "snapshots " + save
	}
	return aof + "; " + rdb
}

// clockDifference says how far a clock is from another one.
func clockDifference(d time.Duration) string {
	switch {
	case d > 0:
		return d.String() + " ahead of"
	case d < 0:
		return (-d).String() + " later than"
	}
	return "as"
}

// pluralEnding returns that of a plural.
func pluralEnding(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
