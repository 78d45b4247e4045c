package load

import (
	"fmt"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
	"github.com/keywright/keywright/keyspace/pattern"
)

// sectionShape reads the naming law: segments with their separators, `[…]`
// around optional ones at the end.
func (l *loader) sectionShape(d *scope.Document) {
	p, ok := d.Props["shape"]
	if !ok {
		return
	}
	text, ok := d.Text(p.Value, "shape")
	if !ok {
		return
	}
	if d.Space != nil {
		text = pattern.Moved(text, d.Space.Default, d.Space.Name)
	}
	parts, err := l.shapeParts(text)
	if err != nil {
		d.Report("KW106", d.At(p.Value), `as in "{purpose}:{domain}:{resource}[:{id}]"`, "shape: %v", err)
		return
	}
	l.KS.Shapes = append(l.KS.Shapes, &keyspace.Shape{Text: text, Parts: parts, Pos: d.At(p.Value)})
}

func (l *loader) shapeParts(text string) ([]keyspace.ShapePart, error) {
	var parts []keyspace.ShapePart
	optional := false
	for rest := text; rest != ""; {
		part := keyspace.ShapePart{}
		if rest[0] == '[' {
			optional, rest = true, rest[1:]
		}
		part.Optional = optional
		if len(parts) > 0 {
			if rest == "" || rest[0] != ':' {
				return nil, fmt.Errorf("expected : before %q", rest)
			}
			part.Separator, rest = ":", rest[1:]
		}
		end := strings.IndexAny(rest, ":[]")
		if end < 0 {
			end = len(rest)
		}
		if optional && (end == len(rest) || rest[end] != ']') {
			return nil, fmt.Errorf("the optional part %q has no closing ]", rest)
		}
		segment := rest[:end]
		rest = rest[end:]
		if optional {
			rest = rest[1:]
			if rest != "" && rest[0] != '[' {
				return nil, fmt.Errorf("only optional parts may follow an optional one, not %q", rest)
			}
		}
		switch {
		case segment == "":
			return nil, fmt.Errorf("a part is empty")
		case segment[0] == '{' && strings.IndexAny(segment[1:], "{}") == len(segment)-2:
			part.Name = segment[1 : len(segment)-1]
			if t, ok := l.UseVar(part.Name); ok {
				part.Type = &t
			}
		case strings.ContainsAny(segment, "{}"):
			return nil, fmt.Errorf("a part is either a literal or one {name}, not %q", segment)
		default:
			part.Literal = segment
		}
		parts = append(parts, part)
	}
	return parts, nil
}
