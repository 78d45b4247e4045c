package golang

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/keywright/keywright/keyspace"
)

// repositories writes, for each migration, a method per move that reads and writes a
// record as the phase of its part says.
func (g *generator) repositories() {
	for _, m := range g.ks.Migrations {
		typ := g.names.Take(exported(m.Name) + "Repositories")
		method := g.methods.Take(typ)
		g.printf("// %s are the records that the migration %s moves. Each is read and written where\n// the phase of its "+
			"part says.\ntype %s struct {\nk *Keyspace\nm *%s.Migration\n}\n\n",
			typ, printable(m.Name), typ, g.use(module+"/migrate"))
		g.printf("// %s gives the repositories of the records that an opened migration moves.\nfunc (k *Keyspace) %s(m "+
			"*migrate.Migration) %s { return %s{k, m} }\n\n", method, method, typ, typ)
		r := repositoryWriter{g, typ, map[string]bool{}}
		for _, p := range m.Parts {
			for _, mv := range p.Moves {
				r.move(mv)
			}
		}
	}
}

type repositoryWriter struct {
	*generator
	typ   string
	taken map[string]bool
}

// move writes the method of a move. What is not written to both sides, or is sealed, has none.
func (r repositoryWriter) move(mv *keyspace.Move) {
	k := mv.To.Keys[0]
	c := r.keys[k]
	name := c.name
	for i := 2; r.taken[name]; i++ {
		name = c.name + strconv.Itoa(i)
	}
	r.taken[name] = true
	form, known := repositoryForms[mv.Kind]
	if !known || k.Entry.HoldsSealed() || k.Entry.Construct != "" {
		r.printf("// The move %s has no repository: records of its kind are written by their own construct.\n\n",
			printable(mv.Name))
		return
	}
	typ, params, make := form(r.generator, c, k)
	if mv.TTL != nil {
		typ, make = "repository.Ending["+strings.TrimSuffix(strings.TrimPrefix(typ, "repository.Value["), "]")+"]",
			make+".Ending()"
	}
	r.use(module + "/migrate/repository")
	all := signature(c.params)
	if all != "" && params != "" {
		all += ", "
	}
	r.printf("// %s is a record of the move %s.\nfunc (r %s) %s(%s) %s {\n", name, printable(mv.Name), r.typ, name,
		all+params, typ)
	r.printf("name, err := %sKey(%s)\n", strings.ReplaceAll(r.call(c.name), "k.ns.", "r.k.ns."), arguments(c.params))
	r.printf("return %s\n}\n\n",
		fmt.Sprintf(make, fmt.Sprintf("repository.At(r.m, %s, string(name), err)", quote(mv.Name))))
}

// repositoryForms give, for each kind of record, the Go type of its repository, the parameters
// beside those of the key, and the expression that makes it.
var repositoryForms = map[keyspace.RecordKind]func(*generator, *keyCode, *keyspace.Key) (typ, params, make string){
	keyspace.StringRecord: func(g *generator, c *keyCode, k *keyspace.Key) (string, string, string) {
		typ := c.name + "Value"
		if len(k.JSON) == 0 {
			typ = g.sealed(c.name+"_value", k.Value).typ
		}
		return "repository.Value[" + typ + "]", "", "repository.NewValue(%s, &value_" + c.name + ")"
	},
	keyspace.FieldRecord: func(g *generator, c *keyCode, k *keyspace.Key) (string, string, string) {
		f, v := g.mapKey(c, k), g.sealed(c.name+"_value", k.Item)
		return "repository.Value[" + v.typ + "]", "field " + f.typ,
			"repository.NewField(%s, field, &field_" + c.name + ", &value_" + c.name + ")"
	},
	keyspace.HashRecord: func(_ *generator, c *keyCode, _ *keyspace.Key) (string, string, string) {
		return "repository.Value[" + c.name + "Value]", "", "repository.NewFields(%s, &fields_" + c.name + "Value)"
	},
	keyspace.MemberRecord: func(g *generator, c *keyCode, k *keyspace.Key) (string, string, string) {
		return "repository.Member", "member " + g.stored(c.name+"_member", k.Member, false).typ,
			"repository.NewMember(%s, member, &member_" + c.name + ")"
	},
	keyspace.ScoredRecord: func(g *generator, c *keyCode, k *keyspace.Key) (string, string, string) {
		return "repository.Value[" + g.score(k.Score).typ + "]", "member " + g.stored(c.name+"_member", k.Member, false).typ,
			"repository.NewScore(%s, member, &member_" + c.name + ", &score_" + c.name + ")"
	},
	keyspace.ElementRecord: func(g *generator, c *keyCode, k *keyspace.Key) (string, string, string) {
		return "repository.Value[[]" + g.sealed(c.name+"_member", k.Member).typ + "]", "",
			"repository.NewList(%s, &member_" + c.name + ")"
	},
}
