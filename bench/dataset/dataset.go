// Package dataset generates the keyspace the audit is measured and checked on:
// N keys of 28 patterns and every Redis type, with planted violations and a
// manifest that says exactly what a right report contains. keyspace.yaml in
// this folder is the matching declaration.
//
// It is not a model of any one product. Sizes and shares are chosen so that
// every encoding occurs, lists and streams of several nodes among them, and one
// million keys take some 600 MB of a server and 260 MB of a snapshot. Every TTL is
// at least a day, so nothing expires while a benchmark runs.
package dataset

import (
	_ "embed"
	"fmt"
	"io"

	"github.com/keywright/keywright/bench/keygen"
)

// Declaration is keyspace.yaml, the declaration the dataset is made for.
//
//go:embed keyspace.yaml
var Declaration []byte

// Options say which dataset. The same options give the same bytes.
type Options struct {
	Keys int
	Seed uint64
}

// Write sends the dataset to w as RESP commands, fit for `redis-cli --pipe`,
// and returns what a right audit of it reports.
func Write(w io.Writer, o Options) (*Manifest, error) {
	if o.Keys < 0 {
		return nil, fmt.Errorf("dataset of %d keys: the number of keys must not be negative", o.Keys)
	}
	g := &generator{
		rand:     keygen.New(o.Seed),
		commands: newCommands(w),
		serials:  make([]uint64, len(families)),
		manifest: newManifest(o),
	}
	for range o.Keys {
		g.next()
	}
	g.manifest.Commands = g.commands.count
	return g.manifest, g.commands.flush()
}

type generator struct {
	rand     *keygen.Rand
	commands *commands
	serials  []uint64 // of each family: how many keys it has
	strays   uint64   // undeclared and foreign keys so far
	manifest *Manifest
	key      []byte
}

// Shares of all keys, per mille.
const (
	undeclaredShare = 30
	foreignShare    = 5
)

func (g *generator) next() {
	switch roll := g.rand.Below(1000); {
	case roll < undeclaredShare:
		g.undeclared()
	case roll < undeclaredShare+foreignShare:
		g.foreign()
	default:
		g.declared()
	}
}

func (g *generator) declared() {
	i := pick(g.rand.Below(totalWeight))
	f := &families[i]
	g.key = f.template.Append(g.key[:0], g.rand, g.serials[i])
	g.serials[i]++
	truth := &g.manifest.Entries[i]
	truth.Keys++
	fault := f.fault(g.rand)
	if fault != "" {
		truth.Violations[fault]++
	}
	fill := f.fill
	if fault == WrongType {
		fill = f.otherType()
	}
	g.write(fill, f.lifetime(g.rand, fault))
}

func (g *generator) undeclared() {
	s := strays[g.rand.Below(int64(len(strays)))]
	g.key = s.template.Append(g.key[:0], g.rand, g.strays)
	g.strays++
	g.manifest.Undeclared++
	if s.owned {
		g.manifest.UndeclaredOwned++
	}
	g.stray()
}

func (g *generator) foreign() {
	g.key = foreignKey.Append(g.key[:0], g.rand, g.strays)
	g.strays++
	g.manifest.Foreign++
	g.stray()
}

// stray gives a key that is not declared a string or a hash, and every second a TTL.
func (g *generator) stray() {
	fill := rawText
	if g.rand.Chance(300) {
		fill = profile
	}
	var lifetime int64
	if g.rand.Chance(500) {
		lifetime = g.rand.Between(day, 30*day)
	}
	g.write(fill, lifetime)
}

func (g *generator) write(fill filler, lifetime int64) {
	fill(g.commands, g.key, g.rand)
	if lifetime > 0 {
		g.commands.start(3).text("PEXPIRE").bytes(g.key).int(lifetime)
		g.manifest.WithTTL++
	}
}
