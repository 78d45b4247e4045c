package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/topology"
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

// patient is one server, and everything the checks look at. What the server does
// not tell is absent, and absent is said, never assumed.
type patient struct {
	config  connect.Config
	address string
	info    topology.Info
	setting map[string]string
	noConf  bool
	tried   trials
	offset  time.Duration
	rtt     time.Duration
	user    string
	noDB    string   // the database of the URL that it lacks
	lost    string   // a command that a restart loses where a script or a transaction has written
	silent  []string // questions that were answered with an error, and the error
}

// examination is all servers of one keyspace.
type examination struct {
	config   connect.Config
	patients []*patient
	nodes    topology.Nodes // of a cluster
	advice   []Advice
}

// maxPatients bounds the nodes of a cluster that are examined.
const maxPatients = 200

// Diagnose examines a server, or every node of a cluster, in some forty round
// trips each. Only a keyspace of which no server answers is an error: what one of
// them does not answer is part of the diagnosis. now is the local clock.
func Diagnose(ctx context.Context, c connect.Config, now func() time.Time) (Diagnosis, error) {
	first, err := anyOf(ctx, &c)
	if err != nil {
		return Diagnosis{}, err
	}
	defer first.close()
	x := &examination{config: c}
	p := &patient{config: c, address: first.address}
	p.examine(ctx, first, now)
	x.patients = append(x.patients, p)
	if err := ctx.Err(); err != nil {
		return Diagnosis{}, err
	}
	if p.info.Clustered() {
		x.cluster(ctx, first, now)
	}
	d := Diagnosis{Facts: x.facts(), Advice: x.advise()}
	return d, ctx.Err()
}

// anyOf connects to the first of the addresses that answers, under sentinels to
// the primary, and leaves it as the first of c.
func anyOf(ctx context.Context, c *connect.Config) (l *link, err error) {
	if c.Mode == connect.Sentinel {
		primary, err := c.Primary(ctx)
		if err != nil {
			return nil, err
		}
		*c = c.At(primary)
		return dial(ctx, *c)
	}
	for _, address := range c.Addresses {
		one := *c
		one.Addresses = []string{address}
		if l, err = dial(ctx, one); err == nil {
			*c = one
			return l, nil
		}
	}
	return nil, err
}

// examine asks everything, whatever of it is answered.
func (p *patient) examine(ctx context.Context, l *link, now func() time.Time) {
	p.setting, p.offset = map[string]string{}, -1<<62
	steps := []struct {
		what string
		ask  func(context.Context, *link, func() time.Time) error
	}{{"INFO", p.read}, {"TIME", p.clock}, {"CONFIG GET", p.settings}, {"ACL WHOAMI", p.whoami}, {"SELECT", p.database},
		{"the permissions", p.try}, {"ACL DRYRUN", p.replay}}
	for _, step := range steps {
		if err := step.ask(ctx, l, now); err != nil && ctx.Err() == nil {
			p.silent = append(p.silent, step.what+": "+err.Error())
		}
	}
}

func (p *patient) read(ctx context.Context, l *link, _ func() time.Time) (err error) {
	p.info, err = l.info(ctx)
	return err
}

// cluster examines the other nodes, and says which slots nothing answers for.
func (x *examination) cluster(ctx context.Context, first *link, now func() time.Time) {
	nodes, err := first.nodes(ctx)
	if err != nil {
		x.add("warning", "the nodes of the cluster are not known: "+err.Error(), "Only one of them could be looked at.", "run doctor as a user with +cluster|nodes")
		return
	}
	x.nodes = nodes
	if covered := nodes.Covered(); covered < topology.Slots {
		x.add("danger", fmt.Sprintf("%d of %d slots belong to no node", topology.Slots-covered, topology.Slots), "Keys in these slots can neither be read nor written; with cluster-require-full-coverage nothing can.", "give the slots to a node: valkey-cli or redis-cli --cluster fix")
	}
	if nodes.Moving() {
		x.add("note", "slots are being moved between nodes", "An audit during that is incomplete.", "wait until the reshard has ended, or end it: --cluster fix")
	}
	for i, n := range nodes {
		if n.Is("myself") || n.Is("noaddr") || n.Is("handshake") {
			continue
		}
		if i >= maxPatients {
			x.add("note", fmt.Sprintf("only %d of %d nodes were looked at", maxPatients, len(nodes)), "That many are looked at in one run.", "name another node behind -u")
			return
		}
		x.node(ctx, n, now)
	}
}

// node examines one more node of the cluster.
func (x *examination) node(ctx context.Context, n topology.Node, now func() time.Time) {
	config := x.config.At(n.Address)
	l, err := dial(ctx, config)
	if err != nil {
		x.unreachable(n, err)
		return
	}
	defer l.close()
	p := &patient{config: config, address: n.Address}
	p.examine(ctx, l, now)
	x.patients = append(x.patients, p)
}

func (x *examination) unreachable(n topology.Node, err error) {
	cause := err.Error()
	if n.Primary() {
		x.add("danger", fmt.Sprintf("the primary %s of the slots %s does not answer: %s", n.Address, rangesText(n.Slots), cause), "Its keys can neither be read nor written until it is back or a replica of it has taken over.", "start it, or look why no replica takes over (CLUSTER FAILOVER TAKEOVER at one)")
		return
	}
	x.add("warning", fmt.Sprintf("the node %s does not answer: %s", n.Address, cause), "It cannot take over when a primary fails.", "start it, or remove it: CLUSTER FORGET")
}

func rangesText(slots []topology.Range) string {
	out := make([]string, len(slots))
	for i, r := range slots {
		out[i] = r.String()
	}
	return strings.Join(out, ", ")
}

func (x *examination) add(level, what, why, fix string) {
	x.advice = append(x.advice, Advice{level, what, why, fix})
}

// advise applies the checks to every server. What several say is said once, with
// their addresses.
func (x *examination) advise() []Advice {
	at := map[Advice][]string{}
	var order []Advice
	for _, p := range x.patients {
		for _, check := range checks {
			if a, found := check(p); found {
				if at[a] == nil {
					order = append(order, a)
				}
				at[a] = append(at[a], p.address)
			}
		}
	}
	out := append([]Advice{}, x.advice...)
	for _, a := range order {
		if n := len(at[a]); len(x.patients) > 1 && n < len(x.patients) {
			a.What += " (at " + strings.Join(at[a][:min(n, 5)], ", ")
			if n > 5 {
				a.What += fmt.Sprintf(" and %d more", n-5)
			}
			a.What += ")"
		}
		out = append(out, a)
	}
	rank := []string{"danger", "warning", "note"}
	slices.SortStableFunc(out, func(a, b Advice) int { return slices.Index(rank, a.Level) - slices.Index(rank, b.Level) })
	return out
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
var settingsRead = []string{"maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "save", "bind", "protected-mode", "requirepass", "stop-writes-on-bgsave-error"}

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

func (p *patient) database(ctx context.Context, l *link, _ func() time.Time) (err error) {
	if !p.info.Clustered() {
		p.noDB, err = l.lacks(ctx, p.config.DB)
	}
	return err
}

func (p *patient) whoami(ctx context.Context, l *link, _ func() time.Time) error {
	reply, err := l.ask(ctx, "ACL", "WHOAMI")
	if denied, err := forbidden(err); err != nil || denied {
		return err
	}
	p.user, _ = reply.(string)
	return nil
}

// written are commands that an AOF has between MULTI and EXEC, where a script has written.
var written = [][]string{{"SET", "k", "v"}, {"HSET", "k", "f", "v"}, {"ZADD", "k", "0", "m"}, {"SADD", "k", "m"}, {"RPUSH", "k", "v"},
	{"XADD", "k", "*", "f", "v"}, {"DEL", "k"}, {"PEXPIREAT", "k", "0"}}

// replay asks whether the default user may do what is in the AOF. A server that reads it at its
// start runs each EXEC with the rights of that user, and leaves out one that is refused, without
// a word in its log (https://github.com/redis/redis/issues/14541, newer versions do not).
func (p *patient) replay(ctx context.Context, l *link, _ func() time.Time) error {
	if p.info["aof_enabled"] != "1" {
		return nil
	}
	for _, command := range written {
		reply, err := l.ask(ctx, append([]string{"ACL", "DRYRUN", "default"}, command...)...)
		if denied, err := forbidden(err); err != nil || denied { // or the server is older than the command
			return err
		}
		if reply != "OK" {
			p.lost = command[0]
			return nil
		}
	}
	return nil
}

const unknown = "unknown (not permitted)"

func (x *examination) facts() []Fact {
	p := x.patients[0]
	i := p.info
	or := func(v string) string { return cmp.Or(v, unknown) }
	brand, version := i.Brand()
	var out []Fact
	add := func(name, format string, args ...any) { out = append(out, Fact{name, fmt.Sprintf(format, args...)}) }
	add("server", "%s %s", brand, or(version))
	add("topology", "%s", x.topologyText())
	add("user", "%s", or(p.user))
	add("tls", "%v", p.config.TLS != nil)
	add("uptime", "%s s", or(i["uptime_in_seconds"]))
	add("clients", "%s", or(i["connected_clients"]))
	keys, databases := x.keys()
	add("keys", "%d in %d database%s", keys, databases, pluralEnding(databases))
	add("memory", "%s used, limit %s", or(i["used_memory_human"]), limitText(i["maxmemory_human"]))
	add("eviction", "%s", or(p.policy()))
	add("persistence", "%s", persistenceText(i, p.setting))
	add("round trip", "%s", p.rtt.Round(10*time.Microsecond))
	if p.offset > -1<<61 {
		add("clock", "%s ours, give or take %s", ahead(p.offset.Round(time.Millisecond)), (p.rtt / 2).Round(10*time.Microsecond))
	} else {
		add("clock", unknown)
	}
	missing := "none of those that were tried"
	if denied := p.tried.denied(); len(denied) > 0 {
		missing = strings.Join(denied, ", ")
	}
	add("missing permissions", "%s", missing)
	return out
}

// keys counts the keys of the primaries that answered.
func (x *examination) keys() (keys int64, databases int) {
	all := map[int]bool{}
	for _, p := range x.patients {
		if len(x.patients) > 1 && p.info.Replica() {
			continue
		}
		for db, n := range p.info.Databases() {
			keys += n
			all[db] = true
		}
	}
	return keys, len(all)
}

func limitText(v string) string {
	if v == "0B" || v == "" {
		return "none"
	}
	return v
}

func (x *examination) topologyText() string {
	i := x.patients[0].info
	switch {
	case i.Clustered():
		return fmt.Sprintf("cluster of %d shards, %d of %d nodes answer", len(x.nodes.Shards()), len(x.patients), max(len(x.nodes), 1))
	case i.Replica():
		return fmt.Sprintf("replica of %s:%s, link %s", i["master_host"], i["master_port"], i["master_link_status"])
	case i.Primary():
		return fmt.Sprintf("primary with %s replicas (%d in step)", i["connected_slaves"], len(i.InStep()))
	}
	return unknown
}

func persistenceText(i topology.Info, setting map[string]string) string {
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

// ahead says how far a clock is from another one.
func ahead(d time.Duration) string {
	switch {
	case d > 0:
		return d.String() + " ahead of"
	case d < 0:
		return (-d).String() + " later than"
	}
	return "as"
}

// pluralEnding is that of a plural.
func pluralEnding(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
