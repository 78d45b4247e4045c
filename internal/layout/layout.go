// Package layout fills the holes of documents: it executes the part of the language of text/template that the project's
// documents use. It calls no method of what it is given. A program that can call any method by its name keeps all
// methods of all its types, which were a third of the command line's size.
//
// It knows fields, variables, range, with, if, else, literal texts and numbers, the functions it is given, and the
// builtin functions index and or.
package layout

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"text/template/parse"
)

// Func represents a function of a layout.
type Func func(args []any) any

// Raw is text that is not escaped.
type Raw string

// Layout represents a document with holes. It may be filled by several goroutines.
type Layout struct {
	root   func() (*parse.ListNode, error) // reads the text, once: most runs of a program fill no document
	funcs  map[string]Func
	escape func(string) string
}

// builtin lists the functions that every layout has.
var builtin = map[string]Func{
	"index": func(args []any) any { return reflect.ValueOf(args[0]).Index(args[1].(int)).Interface() },
	"or": func(args []any) any {
		for _, a := range args {
			if truth(reflect.ValueOf(a)) {
				return a
			}
		}
		return args[len(args)-1]
	},
}

// New makes a layout. Every text that is filled in is escaped first, but Raw. Fill reads the layout, and says what is
// wrong with it.
func New(name, text string, escape func(string) string, funcs map[string]Func) *Layout {
	known := map[string]any{}
	all := map[string]Func{}
	for _, some := range []map[string]Func{builtin, funcs} {
		for name, f := range some {
			known[name], all[name] = f, f
		}
	}
	return &Layout{funcs: all, escape: escape, root: sync.OnceValues(func() (*parse.ListNode, error) {
		trees, err := parse.Parse(name, text, "", "", known)
		if err != nil {
			return nil, err
		}
		return trees[name].Root, nil
	})}
}

// Of returns a function of a layout that takes one argument.
func Of[A, R any](f func(A) R) Func {
	return func(args []any) any { return f(args[0].(A)) }
}

// Fill fills the layout. An error says that the layout asks for what the data has not.
func (l *Layout) Fill(data any) (string, error) {
	root, err := l.root()
	if err != nil {
		return "", err
	}
	s := &state{layout: l, variables: []variable{{"$", reflect.ValueOf(data)}}}
	s.list(root, reflect.ValueOf(data))
	return s.out.String(), s.err
}

// HTML escapes a text for an element or a quoted attribute.
func HTML(s string) string { return htmlEscapes.Replace(s) }

var htmlEscapes = strings.NewReplacer("\x00", "\ufffd", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<",
	"&lt;", ">", "&gt;")

// variable represents a name and its value.
type variable struct {
	name  string
	value reflect.Value
}

// state represents a layout that is being filled.
type state struct {
	layout    *Layout
	out       strings.Builder
	variables []variable // the innermost last
	err       error      // the first
}

// fail notes an error, and gives a value to go on with.
func (s *state) fail(format string, args ...any) reflect.Value {
	if s.err == nil {
		s.err = fmt.Errorf("a layout "+format, args...)
	}
	return reflect.ValueOf("")
}

func (s *state) list(l *parse.ListNode, dot reflect.Value) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		if s.err != nil {
			return
		}
		s.node(n, dot)
	}
}

func (s *state) node(n parse.Node, dot reflect.Value) {
	switch n := n.(type) {
	case *parse.TextNode:
		s.out.Write(n.Text)
	case *parse.ActionNode:
		s.print(s.pipe(n.Pipe, dot))
	case *parse.IfNode:
		s.branch(&n.BranchNode, dot, dot)
	case *parse.WithNode:
		s.branch(&n.BranchNode, dot, reflect.Value{})
	case *parse.RangeNode:
		s.each(&n.BranchNode, dot)
	default:
		s.fail("has %s", n)
	}
}

// branch goes on with inner where that is valid, and with the value that decides where it is not.
func (s *state) branch(n *parse.BranchNode, dot, inner reflect.Value) {
	v := s.pipe(n.Pipe, dot)
	if !truth(v) {
		s.list(n.ElseList, dot)
		return
	}
	if !inner.IsValid() {
		inner = v
	}
	s.list(n.List, inner)
}

func (s *state) each(n *parse.BranchNode, dot reflect.Value) {
	v := s.pipe(n.Pipe, dot)
	if v.Kind() != reflect.Slice {
		s.fail("goes through %s, which is no list", n.Pipe)
		return
	}
	if v.Len() == 0 {
		s.list(n.ElseList, dot)
		return
	}
	outer := len(s.variables)
	for i := range v.Len() {
		one := []reflect.Value{reflect.ValueOf(i), v.Index(i)}
		for at, d := range n.Pipe.Decl {
			s.variables = append(s.variables, variable{d.Ident[0], one[at+len(one)-len(n.Pipe.Decl)]})
		}
		s.list(n.List, v.Index(i))
		s.variables = s.variables[:outer]
	}
}

// pipe returns the value of an action: one call or one value.
func (s *state) pipe(p *parse.PipeNode, dot reflect.Value) reflect.Value {
	if len(p.Cmds) != 1 {
		return s.fail("has a pipe: %s", p)
	}
	args := p.Cmds[0].Args
	name, ok := args[0].(*parse.IdentifierNode)
	if !ok {
		return s.value(args[0], dot)
	}
	var given []any
	for _, a := range args[1:] {
		given = append(given, s.value(a, dot).Interface())
	}
	if s.err != nil {
		return reflect.ValueOf("")
	}
	return reflect.ValueOf(s.layout.funcs[name.Ident](given))
}

func (s *state) value(n parse.Node, dot reflect.Value) reflect.Value {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return s.field(dot, n.Ident)
	case *parse.VariableNode:
		for i := len(s.variables) - 1; ; i-- {
			if s.variables[i].name == n.Ident[0] {
				return s.field(s.variables[i].value, n.Ident[1:])
			}
		}
	case *parse.StringNode:
		return reflect.ValueOf(n.Text)
	case *parse.NumberNode:
		return reflect.ValueOf(int(n.Int64))
	}
	return s.fail("has %s", n)
}

// field returns what a path of fields leads to.
func (s *state) field(v reflect.Value, path []string) reflect.Value {
	for _, name := range path {
		in := reflect.Indirect(v)
		if in.Kind() != reflect.Struct || !in.FieldByName(name).IsValid() {
			return s.fail("asks for the field %s of %s", name, v.Type())
		}
		v = in.FieldByName(name)
	}
	return v
}

// truth reports whether there is something.
func truth(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.String:
		return v.Len() > 0
	case reflect.Struct:
		return true
	}
	return v.IsValid() && !v.IsZero()
}

func (s *state) print(v reflect.Value) {
	if raw, ok := v.Interface().(Raw); ok {
		s.out.WriteString(string(raw))
		return
	}
	s.out.WriteString(s.layout.escape(fmt.Sprint(v.Interface())))
}
