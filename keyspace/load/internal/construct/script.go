package construct

import (
	"cmp"
	"io/fs"
	"path"
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	yaml "go.yaml.in/yaml/v4"
)

// script has no key of its own: it names those of other entries.
func (b *builder) script() {
	what := "the entry " + b.e.Name
	s := &keyspace.ScriptSpec{Keys: b.d.Names(b.props, "keys", what, b.e.At)}
	b.e.Script = s
	if p, ok := b.props["file"]; !ok {
		b.d.Report("KW006", b.e.Pos, "add file: scripts/"+b.e.Name+".lua", "%s has no file", what)
	} else if text, ok := b.d.Text(p.Value, "file"); ok {
		s.File = path.Join(b.d.Dir, text)
		s.Text = b.scriptText(p.Value, s.File)
	}
	s.Args = b.Fields(b.d, b.props, "args", what)
	if p, ok := b.props["returns"]; ok {
		if t, ok := b.TypeOf(b.d, p.Value, "what "+b.e.Name+" returns"); ok {
			s.Returns = &t
		}
	}
	s.Effect = keyspace.Writes
	if p, ok := b.props["effect"]; ok {
		text, _ := b.d.ScalarText(p.Value, "effect")
		if s.Effect = keyspace.Effect(text); !slices.Contains([]keyspace.Effect{keyspace.Reads, keyspace.Idempotent,
			keyspace.Writes}, s.Effect) {
			b.d.Report("KW103", b.d.At(p.Value), cmp.Or(b.d.Near(text, []string{"reads", "idempotent", "writes"}),
				"write reads, idempotent or writes"), "%s: %q is not what a script can do", what, text)
		}
	}
}

// scriptText reads a script: what is declared about it is checked against what
// it does.
func (b *builder) scriptText(n *yaml.Node, file string) string {
	if !fs.ValidPath(file) {
		b.MustExist(b.d, n, file, "the script "+file, "create it")
		return ""
	}
	text, problem := node.ReadFile(b.FS, file)
	if problem != "" {
		b.d.Report("KW308", b.d.At(n), "create it", "the script %s %s", file, problem)
	}
	return string(text)
}
