package golang

import (
	"fmt"
	"strings"
)

// pressure writes the method that does what is declared for when memory is short.
func (g *generator) pressure() {
	if len(g.ks.Pressure) == 0 {
		return
	}
	pkg, lease := g.use(module+"/pressure"), g.keys[g.ks.PressureLease]
	var steps strings.Builder
	for i := range g.ks.Pressure {
		r := &g.ks.Pressure[i]
		action := fmt.Sprintf("To: %s", ratio(r.Release))
		if r.Shorten > 0 {
			action = "Shorten: " + g.duration(r.Shorten)
		}
		values := make([]string, len(r.Values))
		for i, v := range r.Values {
			values[i] = quote(v)
		}
		fmt.Fprintf(&steps, "{At: %s, %s, Entry: %s, Target: k.store_%s.Going(%s), Values: []string{%s}},\n", ratio(r.At),
			action, quote(r.Entry.Name), g.keys[r.Entry.Keys[0]].name, quote(r.Index.Name), strings.Join(values, ", "))
	}
	name := g.methods.Take("Pressure", "Client")
	g.printf("// %s does what is declared for when memory is short:\n//\n", name)
	for i := range g.ks.Pressure {
		g.printf("//   - %s\n", printable(g.ks.Pressure[i].String()))
	}
	g.printf("//\n// Run it in any process; they take turns.\nfunc (k *Keyspace) %s(o %s.Options) *%s.Watcher {\nlease, "+
		"err := %sKey()\n", name, pkg, pkg, g.call(lease.name))
	g.printf("return %s.New(%s, []%s.Step{\n%s}, o)\n}\n\n", pkg,
		binding("entry_"+lease.name, "Key: lease, Err: err"), pkg, steps.String())
}

// ratio returns a percentage as a number.
func ratio(percent int) string { return fmt.Sprintf("0.%02d", percent) }
