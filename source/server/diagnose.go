package server

import (
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
	Facts    []Fact   `json:"facts"`
	Advice   []Advice `json:"advice"`
	NotKnown []Fact   `json:"not_known"` // what could not be looked at, and why: no advice is given on it
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

// AdviceLevels are the levels of advice, the gravest first.
var AdviceLevels = []string{"danger", "warning", "note"}

// From is how many pieces of advice have a level, or a graver one.
func (d Diagnosis) From(level string) (n int) {
	for _, a := range d.Advice {
		if slices.Index(AdviceLevels, a.Level) <= slices.Index(AdviceLevels, level) {
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
	blind   map[string]string // questions that were not answered, and why
	open    bool              // a connection that does not log in may run commands
	tried   trials
	offset  time.Duration
	rtt     time.Duration
	user    string
	noDB    string   // the database of the URL that it lacks
	lost    string   // a command that a restart loses where a script or a transaction has written
	silent  []string // questions that were answered with an error that is no refusal, and the error
}

// examination is all servers of one keyspace.
type examination struct {
	config   connect.Config
	patients []*patient
	nodes    topology.Nodes // of a cluster
	advice   []Advice
	notKnown []Fact
	lost     int // primaries that do not answer
}

// maxPatients bounds the nodes of a cluster that are examined.
const maxPatients = 200

// Diagnose examines a server, or every node of a cluster, in some sixty round
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
	d := Diagnosis{Facts: x.facts(), Advice: x.advise(), NotKnown: x.unknown()}
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

// question is something that a server is asked; what is the command, as an error names it.
type question struct {
	what string
	ask  func(*patient, context.Context, *link, func() time.Time) error
}

// questions are asked in order.
var questions = []question{{"INFO", (*patient).read}, {"TIME", (*patient).clock}, {"CONFIG GET", (*patient).settings},
	{"ACL WHOAMI", (*patient).whoami}, {"SELECT", (*patient).database}, {"the permissions", (*patient).try},
	{"ACL DRYRUN", (*patient).replay}, {"a login without a password", (*patient).stranger}}

// examine asks everything, whatever of it is answered.
func (p *patient) examine(ctx context.Context, l *link, now func() time.Time) {
	p.setting, p.blind, p.offset = map[string]string{}, map[string]string{}, -1<<62
	for _, q := range questions {
		err := q.ask(p, ctx, l, now)
		if err == nil || ctx.Err() != nil {
			continue
		}
		p.blind[q.what] = reason(err)
		if !denied(err) {
			p.silent = append(p.silent, q.what+": "+err.Error())
		}
	}
}

// reason is what a server answered, without what to do: that is said once.
func reason(err error) string {
	if refused, ok := errors.AsType[*wire.ServerError](err); ok {
		return refused.Error()
	}
	return err.Error()
}

// denied reports whether an error is that the user may not run a command, or that there is no
// such command: another time is no use.
func denied(err error) bool {
	if refused, ok := errors.AsType[*wire.ServerError](err); ok {
		return refused.Code == "NOPERM" || refused.Code == "ERR"
	}
	explained, ok := errors.AsType[*connect.Error](err)
	return errors.Is(err, errNotTold) || ok && explained.Kind == connect.Denied
}

// errNotTold is that a server answers, and leaves out what is asked for.
var errNotTold = errors.New("the server does not tell")

// infoRead are the figures of INFO that the checks cannot do without.
var infoRead = []string{"role", "used_memory", "maxmemory", "maxmemory_policy", "aof_enabled", "rdb_last_bgsave_status"}

func (p *patient) read(ctx context.Context, l *link, _ func() time.Time) error {
	info, err := topology.ReadInfo(ctx, l.ask, "default", "commandstats")
	if err != nil {
		return l.strange(err)
	}
	p.info = info
	return lacks(infoRead, info)
}

// lacks says which of the names have no value.
func lacks(names []string, of map[string]string) error {
	var missing []string
	for _, name := range names {
		if _, told := of[name]; !told {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w %s", errNotTold, strings.Join(missing, ", "))
}

// cluster examines the other nodes, and says which slots nothing answers for.
func (x *examination) cluster(ctx context.Context, first *link, now func() time.Time) {
	nodes, err := first.nodes(ctx)
	if err != nil {
		x.add("warning", "the nodes of the cluster are not known: "+err.Error(), "Only one of them could be looked at.", "run doctor as a user with +cluster|nodes")
		x.dark("CLUSTER NODES", err.Error())
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
			x.add("note", fmt.Sprintf("only %d of %d nodes were looked at", maxPatients, len(nodes)), "That many are looked at in one run.", "name another node after -u")
			x.dark("nodes", fmt.Sprintf("%d more", len(nodes)-maxPatients))
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
	x.dark("the node "+n.Address, cause)
	if n.Primary() {
		x.lost++
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

// dark notes what could not be looked at.
func (x *examination) dark(what, why string) { x.notKnown = append(x.notKnown, Fact{what, why}) }

// unknown is what was not answered, by any of the servers. What several refuse alike is told once.
func (x *examination) unknown() []Fact {
	out := append([]Fact{}, x.notKnown...)
	for _, q := range questions {
		at := map[string]int{}
		var order []string
		for _, p := range x.patients {
			if why := p.blind[q.what]; why != "" && !slices.Contains(unasked, q.what) {
				if at[why]++; at[why] == 1 {
					order = append(order, why)
				}
			}
		}
		for _, why := range order {
			f := Fact{q.what, why}
			if n := at[why]; len(x.patients) > 1 && n < len(x.patients) {
				f.Value += fmt.Sprintf(" (%d of %d nodes)", n, len(x.patients))
			}
			out = append(out, f)
		}
	}
	return out
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
	slices.SortStableFunc(out, func(a, b Advice) int {
		return slices.Index(AdviceLevels, a.Level) - slices.Index(AdviceLevels, b.Level)
	})
	return out
}

// clock compares the clocks; the truth lies within half a round trip.
func (p *patient) clock(ctx context.Context, l *link, now func() time.Time) error {
	start := now()
	reply, err := l.ask(ctx, "TIME")
	p.rtt = now().Sub(start)
	if err != nil {
		return err
	}
	pair, _ := reply.([]any)
	if len(pair) != 2 {
		return fmt.Errorf("%w the time", errNotTold)
	}
	seconds, _ := strconv.ParseInt(fmt.Sprint(pair[0]), 10, 64)
	micros, _ := strconv.ParseInt(fmt.Sprint(pair[1]), 10, 64)
	p.offset = time.Unix(seconds, micros*1000).Sub(start.Add(p.rtt / 2))
	return nil
}

// settingsRead are the settings that the checks look at.
var settingsRead = []string{"maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "save", "bind", "protected-mode",
	"stop-writes-on-bgsave-error", "min-replicas-to-write"}

func (p *patient) settings(ctx context.Context, l *link, _ func() time.Time) error {
	for _, name := range settingsRead {
		reply, err := l.ask(ctx, "CONFIG", "GET", name)
		if err != nil {
			return err
		}
		if pair, ok := reply.([]any); ok && len(pair) >= 2 {
			p.setting[name] = fmt.Sprint(pair[1])
		}
	}
	return lacks(settingsRead, p.setting)
}

func (p *patient) database(ctx context.Context, l *link, _ func() time.Time) (err error) {
	if !p.info.Clustered() {
		p.noDB, err = l.lacks(ctx, p.config.DB)
	}
	return err
}

func (p *patient) whoami(ctx context.Context, l *link, _ func() time.Time) error {
	reply, err := l.ask(ctx, "ACL", "WHOAMI")
	p.user, _ = reply.(string)
	return err
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
		if err != nil { // or the server is older than the command
			return err
		}
		if reply != "OK" {
			p.lost = command[0]
			return nil
		}
	}
	return nil
}
