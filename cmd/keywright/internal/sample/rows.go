package sample

import (
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

// rows makes the content of a key. A key without placeholders is the only one
// of its kind and holds more.
func (g *maker) rows(decl *keyspace.Key, only bool) [][][]byte {
	n := 3 + g.IntN(20)
	if only {
		n = 40 + g.IntN(200)
	}
	switch decl.Kind {
	case keyspace.String:
		return [][][]byte{{g.str(decl)}}
	case keyspace.Hash:
		return [][][]byte{g.hash(decl, n)}
	case keyspace.ZSet:
		return [][][]byte{g.zset(decl, n)}
	case keyspace.Stream:
		return g.stream(decl, n)
	}
	return [][][]byte{g.members(decl, n)}
}

func (g *maker) str(decl *keyspace.Key) []byte {
	switch {
	case decl.Headed:
		return append([]byte("q1 1763774000000 main 0 - -\n"), g.payload(decl)...)
	case decl.Value != nil:
		return g.payload(decl)
	case decl.Entry.Construct == keyspace.Counter, decl.Role == "fence":
		return strconv.AppendInt(nil, int64(g.IntN(10_000)), 10)
	case decl.Entry.Construct == keyspace.Lock:
		return []byte(g.uuid())
	}
	return g.value(scalar.Type{})
}

// payload returns a value of the declared type.
func (g *maker) payload(decl *keyspace.Key) []byte {
	fields := decl.JSON
	if decl.Headed {
		fields = decl.Entry.Shape
	}
	if len(fields) > 0 {
		return g.object(fields)
	}
	return g.value(*decl.Value)
}

// object returns a JSON object with the declared fields.
func (g *maker) object(fields []keyspace.Field) []byte {
	out := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, jsonText(f.Name)...), ':')
		out = append(out, g.jsonValue(f.Type)...)
	}
	return append(out, '}')
}

// jsonValue returns a value of a type as a member of a JSON object.
func (g *maker) jsonValue(t scalar.Type) []byte {
	v := g.value(t)
	switch {
	case t.Encrypted: // already base64
		return jsonText(string(v))
	case t.Kind == scalar.Bytes:
		return jsonText(base64.StdEncoding.EncodeToString(v))
	case t.Kind.InJSON() == scalar.Quoted:
		return jsonText(string(v))
	}
	return v
}

// jsonText returns text in JSON.
func jsonText(text string) []byte {
	out, _ := json.Marshal(text) // text can always be written
	return out
}

func (g *maker) hash(decl *keyspace.Key, n int) [][]byte {
	var row [][]byte
	for _, f := range decl.Fields {
		if f.Type.Optional && g.IntN(3) == 0 {
			continue
		}
		row = append(row, []byte(f.Name), g.value(f.Type))
	}
	if f := decl.Fields; len(row) == 0 && len(f) > 0 { // a hash without fields is none
		row = append(row, []byte(f[0].Name), g.value(f[0].Type))
	}
	if decl.Field == nil && decl.Fields != nil {
		return row
	}
	for _, name := range g.distinct(n, or(decl.Field)) {
		row = append(row, name, g.value(or(decl.Item)))
	}
	return row
}

func (g *maker) zset(decl *keyspace.Key, n int) [][]byte {
	score := scalar.Type{Kind: scalar.UnixMS}
	if decl.Score != nil {
		score = *decl.Score
	}
	var row [][]byte
	for _, m := range g.distinct(n, or(decl.Member)) {
		row = append(row, g.value(score), m)
	}
	return row
}

func (g *maker) stream(decl *keyspace.Key, n int) [][][]byte {
	rows := make([][][]byte, n)
	for i := range rows {
		rows[i] = g.hash(decl, 2)
		g.message(decl, rows[i])
	}
	return rows
}

// message puts the declared message into an entry of a durable channel.
func (g *maker) message(decl *keyspace.Key, row [][]byte) {
	c := decl.Entry.Topic
	if c == nil || decl.Role != "" || len(c.Message) == 0 {
		return
	}
	for i := 0; i+1 < len(row); i += 2 {
		if string(row[i]) == "data" {
			row[i+1] = g.object(c.Message)
		}
	}
}

func (g *maker) members(decl *keyspace.Key, n int) [][]byte { return g.distinct(n, or(decl.Member)) }

// distinct makes up to n different values.
func (g *maker) distinct(n int, t scalar.Type) [][]byte {
	seen := map[string]bool{}
	var out [][]byte
	for range 2 * n {
		v := g.value(t)
		if !seen[string(v)] && len(out) < n {
			seen[string(v)] = true
			out = append(out, v)
		}
	}
	return out
}

// or returns the declared type, text without one.
func or(t *scalar.Type) scalar.Type {
	if t == nil {
		return scalar.Type{}
	}
	return *t
}
