// Package examine asks servers what they say of themselves: INFO, settings, the clock, what the user may do, keys in
// slots that the node does not own. It reads no values and it judges nothing: package doctor does.
//
// API: may change until 1.0.
package examine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/source/server/internal/link"
)

// Fact represents one thing that is so.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Examination is what the servers of one keyspace say of themselves. It judges nothing.
type Examination struct {
	Patients     []*Patient
	Nodes        topology.Nodes // of a cluster
	NodesUnknown string         // why the nodes of a cluster are not known
	Silent       []SilentNode
	Unexamined   int // nodes, for there are too many

	config   connect.Config
	notKnown []Fact
}

// SilentNode represents a node of a cluster that does not answer.
type SilentNode struct {
	Node  topology.Node
	Cause string
}

// maxPatients bounds the nodes of a cluster that are examined.
const maxPatients = 200

// Examine asks a server, or every node of a cluster, in some sixty round
// trips each. Only a keyspace of which no server answers is an error: what one of
// them does not answer is part of the examination. now is the local clock.
func Examine(ctx context.Context, c connect.Config, now func() time.Time) (*Examination, error) {
	c.Loading = true
	first, err := anyOf(ctx, &c)
	if err != nil {
		return nil, err
	}
	defer first.Close()
	x := &Examination{config: c}
	p := &Patient{config: c, Address: first.Address}
	p.examine(ctx, first, now)
	x.Patients = append(x.Patients, p)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.Info.Clustered() {
		x.cluster(ctx, first, now)
	}
	return x, ctx.Err()
}

// anyOf connects to the first of the addresses that answers, under sentinels to
// the primary, and leaves it as the first of c.
func anyOf(ctx context.Context, c *connect.Config) (l *link.Link, err error) {
	if c.Mode == connect.Sentinel {
		primary, err := c.Primary(ctx)
		if err != nil {
			return nil, err
		}
		*c = c.At(primary)
		return link.Dial(ctx, *c)
	}
	for _, address := range c.Addresses {
		one := *c
		one.Addresses = []string{address}
		if l, err = link.Dial(ctx, one); err == nil {
			*c = one
			return l, nil
		}
	}
	return nil, err
}

// question represents something that a server is asked; what is the command, as an error names it.
type question struct {
	what string
	ask  func(*Patient, context.Context, *link.Link, func() time.Time) error
}

// questions are asked in order.
var questions = []question{{"INFO", (*Patient).read}, {"TIME", (*Patient).clock}, {"CONFIG GET", (*Patient).settings},
	{"ACL WHOAMI", (*Patient).whoami}, {"SELECT", (*Patient).database}, {"the permissions", (*Patient).try},
	{"ACL DRYRUN", (*Patient).replay}, {"a login without a password", (*Patient).stranger}}

// examine asks everything, whatever of it is answered.
func (p *Patient) examine(ctx context.Context, l *link.Link, now func() time.Time) {
	p.Settings, p.Blind, p.offset = map[string]string{}, map[string]string{}, -1<<62
	for _, q := range questions {
		err := q.ask(p, ctx, l, now)
		if err == nil || ctx.Err() != nil {
			continue
		}
		p.Blind[q.what] = link.Reason(err)
		if !final(err) {
			p.Silent = append(p.Silent, q.what+": "+err.Error())
		}
	}
}

// final reports whether another time is no use: the user may not run a command, there is no such command, or the server
// leaves out what is asked for.
func final(err error) bool { return errors.Is(err, errNotTold) || link.Denied(err) }

// errNotTold is that a server answers, and leaves out what is asked for.
var errNotTold = errors.New("the server does not tell")

// infoRead lists the figures of INFO that the checks cannot do without.
var infoRead = []string{"role", "used_memory", "maxmemory", "maxmemory_policy", "aof_enabled", "rdb_last_bgsave_status"}

func (p *Patient) read(ctx context.Context, l *link.Link, _ func() time.Time) error {
	info, err := topology.ReadInfo(ctx, l.Ask, "default", "commandstats")
	if err != nil {
		return l.Explained(err)
	}
	p.Info = info
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

// cluster examines the other nodes.
func (x *Examination) cluster(ctx context.Context, first *link.Link, now func() time.Time) {
	nodes, err := first.Nodes(ctx)
	if err != nil {
		x.NodesUnknown = err.Error()
		x.dark("CLUSTER NODES", err.Error())
		return
	}
	x.Nodes = nodes
	x.orphans(ctx, x.Patients[0], first)
	for i, n := range nodes {
		if n.Is("myself") || n.Is("noaddr") || n.Is("handshake") {
			continue
		}
		if i >= maxPatients {
			x.Unexamined = len(nodes) - maxPatients
			x.dark("nodes", fmt.Sprintf("%d more", len(nodes)-maxPatients))
			return
		}
		x.node(ctx, n, now)
	}
}

// node examines one more node of the cluster.
func (x *Examination) node(ctx context.Context, n topology.Node, now func() time.Time) {
	config := x.config.At(n.Address)
	l, err := link.Dial(ctx, config)
	if err != nil {
		x.unreachable(n, err)
		return
	}
	defer l.Close()
	p := &Patient{config: config, Address: n.Address}
	p.examine(ctx, l, now)
	x.Patients = append(x.Patients, p)
	x.orphans(ctx, p, l)
}

func (x *Examination) unreachable(n topology.Node, err error) {
	cause := err.Error()
	x.dark("the node "+n.Address, cause)
	x.Silent = append(x.Silent, SilentNode{n, cause})
}

// dark notes what could not be looked at.
func (x *Examination) dark(what, why string) { x.notKnown = append(x.notKnown, Fact{what, why}) }

// Unknown returns what was not answered, by any of the servers. What several refuse alike is there once.
func (x *Examination) Unknown() []Fact {
	out := append([]Fact{}, x.notKnown...)
	for _, q := range questions {
		at := map[string]int{}
		var order []string
		for _, p := range x.Patients {
			if why := p.Blind[q.what]; why != "" && !slices.Contains(unasked, q.what) {
				if at[why]++; at[why] == 1 {
					order = append(order, why)
				}
			}
		}
		for _, why := range order {
			f := Fact{q.what, why}
			if n := at[why]; len(x.Patients) > 1 && n < len(x.Patients) {
				f.Value += fmt.Sprintf(" (%d of %d nodes)", n, len(x.Patients))
			}
			out = append(out, f)
		}
	}
	return out
}

// clock compares the clocks; the truth is within half a round trip.
func (p *Patient) clock(ctx context.Context, l *link.Link, now func() time.Time) error {
	start := now()
	reply, err := l.Ask(ctx, "TIME")
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

// settingsRead lists the settings that the checks look at.
var settingsRead = []string{"maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "save", "bind",
	"protected-mode",
	"stop-writes-on-bgsave-error", "min-replicas-to-write"}

func (p *Patient) settings(ctx context.Context, l *link.Link, _ func() time.Time) error {
	for _, name := range settingsRead {
		reply, err := l.Ask(ctx, "CONFIG", "GET", name)
		if err != nil {
			return err
		}
		if pair, ok := reply.([]any); ok && len(pair) >= 2 {
			p.Settings[name] = fmt.Sprint(pair[1])
		}
	}
	return lacks(settingsRead, p.Settings)
}

func (p *Patient) database(ctx context.Context, l *link.Link, _ func() time.Time) (err error) {
	if !p.Info.Clustered() {
		p.NoDB, err = l.LacksDatabase(ctx, p.config.DB)
	}
	return err
}

func (p *Patient) whoami(ctx context.Context, l *link.Link, _ func() time.Time) error {
	reply, err := l.Ask(ctx, "ACL", "WHOAMI")
	p.user, _ = reply.(string)
	return err
}

// written are commands that an AOF has between MULTI and EXEC, where a script has written.
var written = [][]string{{"SET", "k", "v"}, {"HSET", "k", "f", "v"}, {"ZADD", "k", "0", "m"}, {"SADD", "k", "m"},
	{"RPUSH", "k", "v"},
	{"XADD", "k", "*", "f", "v"}, {"DEL", "k"}, {"PEXPIREAT", "k", "0"}}

// replay asks whether the default user may do what is in the AOF. A server that reads it at its
// start runs each EXEC with the rights of that user, and leaves out one that is refused, without
// a word in its log (https://github.com/redis/redis/issues/14541, newer versions do not).
func (p *Patient) replay(ctx context.Context, l *link.Link, _ func() time.Time) error {
	if p.Info["aof_enabled"] != "1" {
		return nil
	}
	for _, command := range written {
		reply, err := l.Ask(ctx, append([]string{"ACL", "DRYRUN", "default"}, command...)...)
		if err != nil { // or the server is older than the command
			return err
		}
		if reply != "OK" {
			p.Lost = command[0]
			return nil
		}
	}
	return nil
}
