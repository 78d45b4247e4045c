package load

import (
	"cmp"
	"io/fs"
	"path"
	"slices"

	"github.com/keywright/keywright/keyspace"
	yaml "go.yaml.in/yaml/v4"
)

// script has no key of its own: it names those of other entries.
func (b *builder) script() {
	what := "the entry " + b.e.Name
	s := &keyspace.ScriptSpec{Keys: b.d.names(b.props, "keys", what, b.e.At)}
	b.e.Script = s
	if p, ok := b.props["file"]; !ok {
		b.d.report("KW006", b.e.Pos, "add file: scripts/"+b.e.Name+".lua", "%s has no file", what)
	} else if text, ok := b.d.text(p.value, "file"); ok {
		s.File = path.Join(b.d.dir, text)
		s.Text = b.scriptText(p.value, s.File)
	}
	s.Args = b.fields(b.d, b.props, "args", what)
	if p, ok := b.props["returns"]; ok {
		if t, ok := b.typeOf(b.d, p.value, "what "+b.e.Name+" returns"); ok {
			s.Returns = &t
		}
	}
	s.Effect = keyspace.Writes
	if p, ok := b.props["effect"]; ok {
		text, _ := b.d.scalarText(p.value, "effect")
		if s.Effect = keyspace.Effect(text); !slices.Contains([]keyspace.Effect{keyspace.Reads, keyspace.Idempotent,
			keyspace.Writes}, s.Effect) {
			b.d.report("KW103", b.d.at(p.value), cmp.Or(b.d.near(text, []string{"reads", "idempotent", "writes"}),
				"write reads, idempotent or writes"), "%s: %q is not what a script can do", what, text)
		}
	}
}

// scriptText reads a script: what is declared about it is checked against what
// it does.
func (b *builder) scriptText(n *yaml.Node, file string) string {
	if !fs.ValidPath(file) {
		b.mustExist(b.d, n, file, "the script "+file, "create it")
		return ""
	}
	text, problem := readFile(b.fsys, file)
	if problem != "" {
		b.d.report("KW308", b.d.at(n), "create it", "the script %s %s", file, problem)
	}
	return string(text)
}
