package examine

import (
	"cmp"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/source/server/internal/fleet"
)

// Patient is what one server says of itself. What it does not tell is absent, and absent is said, never assumed.
type Patient struct {
	Address  string
	Info     topology.Info
	Settings map[string]string
	Blind    map[string]string // questions that were not answered, and why
	Open     bool              // a connection that does not log in may run commands
	NoDB     string            // the database of the URL that it lacks
	Lost     string            // a command that a restart loses where a script or a transaction has written
	Orphans  []OrphanSlot      // of a primary of a cluster
	Silent   []string          // questions that were answered with an error that is no refusal, and the error

	config connect.Config
	tried  trials
	offset time.Duration
	rtt    time.Duration
	user   string
}

// Offset returns how far the server's clock is from the one here; ok is false if it does not tell.
func (p *Patient) Offset() (d time.Duration, ok bool) { return p.offset, p.offset > -1<<61 }

// Denied returns the commands that were tried for a purpose and that the user may not run.
func (p *Patient) Denied(what Purpose) []string { return p.tried.deniedFor(what) }

// FewKeys reports whether the user may run commands, but not on every key.
func (p *Patient) FewKeys() bool { return p.tried.fewKeys }

// Unsupported reports whether the server is older than what keywright supports.
func (p *Patient) Unsupported() bool { return fleet.Supported(p.Address, p.Info) != nil }

// Policy returns the policy of eviction, "" if it is not known.
func (p *Patient) Policy() string {
	return cmp.Or(p.Settings["maxmemory-policy"], p.Info["maxmemory_policy"])
}

// Number returns a figure of INFO, or of the settings; -1: it is not known.
func (p *Patient) Number(name string) int64 {
	if n, told := p.Info.Number(name); told {
		return n
	}
	if n, told := topology.Info(p.Settings).Number(name); told {
		return n
	}
	return -1
}

// AOF reports whether there is one; known is false if the server does not tell.
func (p *Patient) AOF() (on, known bool) {
	if v, told := p.Info["aof_enabled"]; told {
		return v == "1", true
	}
	v, told := p.Settings["appendonly"]
	return v == "yes", told
}

// Exposed reports whether other machines are let in without a password. What is not known is not
// taken for exposed.
func (p *Patient) Exposed() bool {
	if p.config.Network == "tcp" && !loopback(p.Address) {
		return true // that is where the connection that did not log in came from
	}
	addresses, known := p.Settings["bind"]
	outside := func(one string) bool { return !loopback(strings.TrimPrefix(one, "-")) }
	listens := known && (addresses == "" || slices.ContainsFunc(strings.Fields(addresses), outside))
	major, _ := p.Info.Release()
	// Redis 6 guards no server with a bind
	guarded := p.Settings["protected-mode"] == "yes" && (major >= 7 || addresses == "")
	return listens && p.Settings["protected-mode"] != "" && !guarded
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
