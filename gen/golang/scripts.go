package golang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

// scripts writes a function per declared script.
func (g *generator) scripts() {
	for _, e := range g.ks.Entries {
		if e.Script != nil {
			g.script(e)
		}
	}
}

func (g *generator) script(e *keyspace.Entry) {
	name := g.methods.Take(exported(e.Name), "Client")
	var scope gen.Names
	params, calls := g.unite(e.Script.Keys, &scope)
	own := len(params)
	args := make([]stored, len(e.Script.Args))
	codecs := make([]string, len(e.Script.Args))
	for i, a := range e.Script.Args {
		args[i] = g.stored(name+"_"+a.Name, &a.Type, false)
		codecs[i] = fmt.Sprintf("argument_%s_%d", name, i+1)
		g.printf("var %s = %s\n\n", codecs[i], args[i].codec)
		params = append(params, param{name: scope.Take(unexported(a.Name), taken...), typ: args[i].typ})
	}
	result, reply := g.reply(name, e.Script)
	constructor := map[keyspace.Effect]string{keyspace.Reads: "NewReadOnlyScript"}[e.Script.Effect]
	if constructor == "" {
		constructor = "NewScript"
	}
	g.printf("var entry_%s = keywright.Entry{Name: %s, Type: \"script\"}\n\nvar script_%s = keywright.%s(%s, %s)\n\n",
		name, quote(e.Name), name, constructor, quote(e.Name), quoteText(e.Script.Text))
	g.out.WriteString(comment("", e.Doc, name+": "))
	g.printf("// One round trip.\n")
	g.printf("func (k *Keyspace) %s(%s) %s {\n", name, signature(params), result)
	g.scriptBody(name, e, calls, params[own:], codecs, reply)
}

// scriptBody builds keys and arguments; the first error counts.
func (g *generator) scriptBody(name string, e *keyspace.Entry, calls []string, params []param, codecs []string,
	reply string) {
	typed := g.use(module + "/typed")
	g.printf("var err error\nkeys := make([]string, 0, %d)\nargs := make([]string, 0, %d)\n", len(calls), len(params))
	for _, call := range calls {
		g.printf("if name, failed := %s; failed == nil {\nkeys = append(keys, name)\n} else if err == nil {\nerr = failed\n}\n", call)
	}
	for i, p := range params {
		g.printf("args, err = %s.Arg(args, &%s, %s, %s, err)\n", typed, codecs[i], quote(e.Script.Args[i].Name), p.name)
	}
	effect := map[keyspace.Effect]string{keyspace.Reads: "Reads", keyspace.Idempotent: "Idempotent",
		keyspace.Writes: "Writes"}[e.Script.Effect]
	call := fmt.Sprintf("%s.NewCall(%s, %s.Call{Script: script_%s, Effect: keywright.%s, Keys: keys, Args: args}, %s)",
		typed, binding("entry_"+name, "Err: err"), typed, name, effect, reply)
	if e.Script.Returns == nil {
		call = "keywright.Act{Op: " + call + "}"
	}
	g.printf("return %s\n}\n\n", call)
}

// unite gives the parameters of several keys, each placeholder once, and the
// calls that build the keys of them. A placeholder means one thing in a file; in
// keys of different files it may not, and then is a parameter of its own.
func (g *generator) unite(names []string, scope *gen.Names) (params []param, calls []string) {
	for _, entry := range names {
		_, k := g.ks.Lookup(entry)
		code := g.keys[k]
		if code == nil {
			continue
		}
		var passed []string
		for _, p := range code.params {
			same := slices.IndexFunc(params, func(q param) bool { return q.place.Name == p.place.Name && q.typ == p.typ })
			if same < 0 {
				same = len(params)
				p.name = scope.Take(unexported(p.place.Name), append([]string{"failed"}, taken...)...)
				params = append(params, p)
			}
			passed = append(passed, params[same].name)
		}
		calls = append(calls, fmt.Sprintf("%sKey(%s)", g.call(code.name), strings.Join(passed, ", ")))
	}
	return params, calls
}

// reply returns the Go type of the operation of a script and the function that decodes
// it.
func (g *generator) reply(name string, s *keyspace.ScriptSpec) (typ, decode string) {
	typed := g.use(module + "/typed")
	switch {
	case s.Returns == nil:
		return "keywright.Act", typed + ".ReplyNone"
	case s.Returns.Kind == scalar.Bool:
		return "keywright.Op[bool]", typed + ".ReplyBool"
	}
	r := g.stored(name+"_result", s.Returns, false)
	g.printf("var result_%s = %s\n\n", name, r.codec)
	return "keywright.Op[" + r.typ + "]", fmt.Sprintf("%s.Reply(&result_%s)", typed, name)
}

// plainKey reports whether a key has a handle that may delete it.
func plainKey(k *keyspace.Key) bool {
	return !k.Entry.Construct.InStep()
}
