// Package software knows the keys that well-known software leaves in Redis:
// task queues, session stores, rate limiters. Its table says what a product's
// keys look like and what must be there before a keyspace is taken to hold them.
//
// It is data and a reader of it: to teach it another product, add rows to
// software.txt. It does not touch keys, and does not guess beyond its table.
//
// API: may change until 1.0.
package software

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/keywright/keywright/source"
)

// Product represents one piece of software that keeps keys.
type Product struct {
	Name  string
	URL   string   // where its keys are documented
	Globs []string // of all its keys, as SCAN MATCH reads them
	Signs []Sign
	Need  int    // how many signs must be met
	Ours  bool   // the application's own data, in a form that the product gave it
	Names []Sign // keys whose name, where the glob has its star, is that of another key

	named map[string]bool
}

// Sign represents a key that tells the product.
type Sign struct {
	Glob  string
	Kind  source.Kind
	Field string // a field of the hash, or of the JSON object; "": any
}

// Observation describes what was seen of some keys.
type Observation struct {
	Key    []byte // one of them
	Kind   source.Kind
	Fields []string // of the hash, or of the JSON object
}

//go:embed software.txt
var table string

// Products lists all that the table knows, by name.
var Products = sync.OnceValue(func() []Product {
	list, err := parseTable(table)
	if err != nil {
		return nil // held by TestTable
	}
	return list
})

var kinds = map[string]source.Kind{"string": source.String, "hash": source.Hash, "list": source.List, "set": source.Set,
	"zset": source.ZSet, "stream": source.Stream}

// parseTable reads the table.
func parseTable(text string) ([]Product, error) {
	var out []Product
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
			continue
		case line[0] != ' ':
			name, url, ok := strings.Cut(line, "  ")
			if !ok {
				return nil, fmt.Errorf("software.txt:%d: a name, two spaces and an address", i+1)
			}
			out = append(out, Product{Name: strings.TrimSpace(name), URL: strings.TrimSpace(url), Need: 1})
			continue
		case len(out) == 0 || len(words) < 2 && words[0] != "ours":
			return nil, fmt.Errorf("software.txt:%d: a row of no product", i+1)
		}
		if err := out[len(out)-1].row(words); err != nil {
			return nil, fmt.Errorf("software.txt:%d: %w", i+1, err)
		}
	}
	slices.SortFunc(out, func(a, b Product) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (p *Product) row(words []string) error {
	switch words[0] {
	case "keys":
		p.Globs = append(p.Globs, words[1:]...)
		return nil
	case "ours":
		p.Ours = true
		return nil
	case "names":
		if len(words) != 3 || kinds[words[2]] == source.Unknown || strings.Count(words[1], "*") != 1 {
			return fmt.Errorf("names is a glob with one star and a type")
		}
		p.Names = append(p.Names, Sign{Glob: words[1], Kind: kinds[words[2]]})
		return nil
	case "need":
		n, err := strconv.Atoi(words[1])
		p.Need = n
		return err
	case "sign":
		if len(words) < 3 || kinds[words[2]] == source.Unknown {
			return fmt.Errorf("a sign is a glob and a type")
		}
		s := Sign{Glob: words[1], Kind: kinds[words[2]]}
		if len(words) == 5 && words[3] == "field" {
			s.Field = words[4]
		} else if len(words) != 3 {
			return fmt.Errorf("after a sign's type only `field NAME` may stand")
		}
		p.Signs = append(p.Signs, s)
		return nil
	}
	return fmt.Errorf("%q is neither keys nor sign nor need", words[0])
}

// Found returns the products whose signs are met by what was seen.
func Found(seen []Observation) []Product {
	var out []Product
	for _, p := range Products() {
		met := 0
		for _, s := range p.Signs {
			if slices.ContainsFunc(seen, s.met) {
				met++
			}
		}
		if met >= p.Need {
			out = append(out, p)
		}
	}
	return out
}

func (s Sign) met(o Observation) bool {
	return s.Kind == o.Kind && source.Glob([]byte(s.Glob), o.Key) && (s.Field == "" || slices.Contains(o.Fields, s.Field))
}

// NameKeys finds the keys of the product that the names of others tell. keys lists
// those under a glob.
func (p *Product) NameKeys(keys func(glob string, kind source.Kind) [][]byte) {
	for _, n := range p.Names {
		before, behind, _ := strings.Cut(n.Glob, "*")
		for _, key := range keys(n.Glob, n.Kind) {
			if p.named == nil {
				p.named = map[string]bool{}
			}
			p.named[strings.TrimSuffix(strings.TrimPrefix(string(key), before), behind)] = true
		}
	}
}

// Has gives the glob that a key of the product is under.
func (p *Product) Has(key []byte) (glob string, ok bool) {
	for _, g := range p.Globs {
		if source.Glob([]byte(g), key) {
			return g, true
		}
	}
	if p.named[string(key)] && !strings.ContainsAny(string(key), `*?[]\\`) {
		return string(key), true
	}
	return "", false
}
