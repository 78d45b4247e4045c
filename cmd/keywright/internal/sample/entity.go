package sample

import (
	"strconv"
	"strings"

	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
)

// entity makes n items of an entity and the indexes that belong to them.
func (g *maker) entity(e *keyspace.Entry, n int) []Key {
	main := e.Keys[0]
	ix := indexer{g: g, entry: e, at: map[string]int{}}
	groups := g.groups(e)
	var out []Key
	for _, item := range g.names(main, n) {
		known := map[string]string{}
		for i, p := range main.Pattern.Placeholders() {
			known[p.Name] = item.values[i]
		}
		k := Key{Decl: main, Name: item.key, Kind: main.Kind, TTL: g.ttl(main.TTL),
			Rows: [][][]byte{g.record(main, known, groups)}}
		out = append(out, k)
		ix.add(k, known)
	}
	return append(out, ix.keys...)
}

// groupCount says how many values a field has that an index groups items by.
const groupCount = 12

// groups returns the values of the fields that have an index per value.
func (g *maker) groups(e *keyspace.Entry) map[string][]string {
	out := map[string][]string{}
	for _, index := range e.Index {
		for _, p := range index.Key.Pattern.Placeholders() {
			if p.Name == index.Field {
				out[p.Name] = g.pool(p, groupCount)
			}
		}
	}
	return out
}

// record returns the hash of an item. A field with the name of a placeholder has its
// value; what was made is added to known.
func (g *maker) record(main *keyspace.Key, known map[string]string, groups map[string][]string) [][]byte {
	var row [][]byte
	for _, f := range main.Fields {
		v, ok := known[f.Name]
		if !ok {
			if f.Type.Optional && g.IntN(3) == 0 {
				continue
			}
			v = string(g.value(f.Type))
			if group := groups[f.Name]; len(group) > 0 {
				v = group[g.IntN(len(group))]
			}
		}
		known[f.Name] = v
		row = append(row, []byte(f.Name), []byte(v))
	}
	if f := main.Fields; len(row) == 0 && len(f) > 0 { // an item without fields is none
		row = append(row, []byte(f[0].Name), g.value(f[0].Type))
		known[f[0].Name] = string(row[1])
	}
	return row
}

// indexer gathers the members of the index keys.
type indexer struct {
	g     *maker
	entry *keyspace.Entry
	keys  []Key
	at    map[string]int // where an index key is in keys
}

func (ix *indexer) add(item Key, known map[string]string) {
	for _, index := range ix.entry.Index {
		key, ok := build(index.Key.Pattern, known)
		if !ok {
			continue
		}
		ix.append(index.Key, key, item, [][]byte{ix.score(index, item, known), ix.member(index, known)})
	}
	ix.bookkeeping(item, known)
}

// bookkeeping is what an entity keeps beside its indexes: when each item ends,
// where it is, and who sweeps.
func (ix *indexer) bookkeeping(item Key, known map[string]string) {
	var record []indexrecord.Place
	for _, index := range ix.entry.Index {
		if index.Field != "" || index.Score != "expires" {
			place := indexrecord.Place{Index: index.Name, Value: known[index.Field], All: index.Field == ""}
			to := &place.Prefix
			for _, e := range index.Key.Pattern.Elements() {
				if e.Placeholder < 0 {
					*to += e.Literal
				} else if name := index.Key.Pattern.Placeholders()[e.Placeholder].Name; name == index.Field {
					to = &place.Suffix
				} else {
					*to += known[name]
				}
			}
			record = append(record, place)
		}
	}
	for _, decl := range ix.entry.Keys[1:] {
		key, ok := build(decl.Pattern, known)
		if !ok || strings.HasPrefix(decl.Role, "index.") {
			continue
		}
		id := ix.member(keyspace.Index{Key: decl}, known)
		switch decl.Role {
		case "expiry":
			ix.append(decl, key, item, [][]byte{ix.score(keyspace.Index{Score: "expires"}, item, known), id})
		case "ledger":
			if _, made := ix.at[string(key)]; !made {
				ix.append(decl, key, item, [][]byte{nil, indexrecord.Complete(record...)})
			}
			ix.append(decl, key, item, [][]byte{id, indexrecord.Encode(record...)})
		case "sweep", "pressure":
			if _, made := ix.at[string(key)]; !made {
				ix.append(decl, key, item, [][]byte{[]byte("sample")})
			}
		}
	}
}

func (ix *indexer) append(decl *keyspace.Key, key []byte, item Key, row [][]byte) {
	i, ok := ix.at[string(key)]
	if !ok {
		i = len(ix.keys)
		ix.at[string(key)] = i
		ix.keys = append(ix.keys, Key{Decl: decl, Name: key, Kind: decl.Kind, Rows: [][][]byte{nil}})
	}
	k := &ix.keys[i]
	k.Rows[0] = append(k.Rows[0], row...)
	if decl.TTL.Policy == keyspace.TTLExpires {
		k.TTL = min(max(k.TTL, item.TTL), decl.TTL.LiveMax()) // an index lives as long as its last item
	}
}

// member names the item: the placeholders of its key that the index key does
// not have.
func (ix *indexer) member(index keyspace.Index, known map[string]string) []byte {
	var parts []string
	for _, p := range ix.entry.Keys[0].Pattern.Placeholders() {
		if !has(index.Key.Pattern, p.Name) {
			parts = append(parts, known[p.Name])
		}
	}
	return []byte(strings.Join(parts, ":"))
}

func (ix *indexer) score(index keyspace.Index, item Key, known map[string]string) []byte {
	if index.Score == "expires" {
		return strconv.AppendInt(nil, ix.g.now.Add(item.TTL).UnixMilli(), 10)
	}
	if index.Score == "" {
		return []byte("0")
	}
	return []byte(known[index.Score])
}

// build makes the key from named values; ok = false when one is missing, as of
// an optional field.
func build(p *pattern.Pattern, known map[string]string) (key []byte, ok bool) {
	values := make([]string, len(p.Placeholders()))
	for i, place := range p.Placeholders() {
		if values[i], ok = known[place.Name]; !ok {
			return nil, false
		}
	}
	key, err := p.Build(values...)
	return key, err == nil
}

func has(p *pattern.Pattern, name string) bool {
	for _, place := range p.Placeholders() {
		if place.Name == name {
			return true
		}
	}
	return false
}
