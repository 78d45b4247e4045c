// Package golang writes the Go package of a keyspace: per entry a typed handle,
// a key builder and a parser, value types, and functions for its scripts and
// events. The result uses the packages keywright, typed, value and key, and
// reads no YAML at run time.
//
// It writes text, as straight as one would by hand: no reflection, no
// tables to look keys up in. Whatever is in the declaration is either turned
// into an identifier or quoted as a string or put into a comment line by line;
// nothing of it reaches the code in another way.
//
// API: may change until 1.0.
package golang

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/format"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/gen/golang/internal/lines"
	"github.com/keywright/keywright/keyspace"
)

// Generate writes the package: one file.
func Generate(ks *keyspace.Keyspace) ([]gen.File, error) {
	space, err := ks.Generated()
	if err != nil {
		return nil, err
	}
	g := newGenerator(ks)
	g.space = space
	g.namespace()
	g.entries()
	g.scripts()
	g.channels()
	g.constructs()
	g.sweeper()
	g.pressure()
	g.allTopics()
	g.events()
	g.repositories()
	g.enums.write(g)
	g.variables()
	if len(g.faults) > 0 {
		return nil, errors.Join(g.faults...)
	}
	g.layOut(0)
	text, err := format.Source([]byte(lines.Break(g.head())))
	if err = errors.Join(err, g.bad); err != nil {
		return nil, fmt.Errorf("this cannot happen, please report it: the generated Go does not parse: %w", err)
	}
	text = append(append(bytes.TrimRight(text, "\n"), "\n\n"...), g.laid.Bytes()...)
	return []gen.File{{Name: g.pkg + ".go", Text: append(bytes.TrimRight(text, "\n"), '\n')}}, nil
}

// layOut lays out the declarations that are written, if they are longer than least: all of a large
// keyspace at once would take many times their size in memory.
func (g *generator) layOut(least int) {
	if g.out.Len() <= least {
		return
	}
	const head = "package p\n\n" // without one, a comment in front is not laid out as that of a declaration
	text, err := format.Source([]byte(head + lines.Break(g.out.String())))
	if err != nil {
		g.bad = err
	}
	if g.laid.Len() > 0 {
		g.laid.WriteByte('\n')
	}
	g.laid.Write(bytes.TrimPrefix(text, []byte(head)))
	g.out.Reset()
}

// piece says how much is laid out at once.
const piece = 1 << 16

// generator gathers the text of one package.
type generator struct {
	ks      *keyspace.Keyspace
	space   *keyspace.Namespace // nil: keys have fixed names
	pkg     string
	out     strings.Builder // whole declarations that are not laid out yet
	laid    bytes.Buffer    // what is
	bad     error           // what does not parse
	imports map[string]bool
	names   gen.Names // of the package
	methods gen.Names // of Keyspace
	enums   *enums
	keys    map[*keyspace.Key]*keyCode
	vars    map[string]string // declared helpers by their text: dates, types

	channelCodes map[*keyspace.Channel]*keyCode
	topics       map[*keyspace.Channel]*topicCode
	held         []string // fields of Keyspace
	tuning       []string // fields of Tuning
	making       []string // statements of NewTuned
	structs      map[*keyspace.Key][]field
	sweepers     []string // methods that give the stores of entities
	faults       []error  // of the declaration
}

func newGenerator(ks *keyspace.Keyspace) *generator {
	g := &generator{ks: ks, pkg: packageName(ks.Package), imports: map[string]bool{}, keys: map[*keyspace.Key]*keyCode{},
		vars: map[string]string{}, channelCodes: map[*keyspace.Channel]*keyCode{}, structs: map[*keyspace.Key][]field{},
		topics: map[*keyspace.Channel]*topicCode{}}
	g.enums = &enums{names: map[string]*enum{}}
	for _, name := range []string{"Keyspace", "New", "Entries", "Tuning", "NewTuned", "Namespace", "InNamespace"} {
		g.names.Take(name)
	}
	return g
}

func packageName(name string) string {
	name = strings.Join(gen.Words(name), "")
	if name == "" || name[0] >= '0' && name[0] <= '9' || reserved(name) ||
		name == "documentation" { // the go command ignores files of a package documentation
		name += "keys"
	}
	if name[0] >= '0' && name[0] <= '9' {
		name = "k" + name
	}
	return name
}

// printf writes a piece of code; formatting is gofmt's affair.
func (g *generator) printf(text string, args ...any) { fmt.Fprintf(&g.out, text, args...) }

// use notes an import and gives the name it is called by.
func (g *generator) use(path string) string {
	g.imports[path] = true
	return path[strings.LastIndexByte(path, '/')+1:]
}

// variables writes the helpers that functions above refer to.
func (g *generator) variables() {
	inits := make([]string, 0, len(g.vars))
	for init := range g.vars {
		inits = append(inits, init)
	}
	slices.Sort(inits)
	for _, init := range inits {
		g.printf("var %s = %s\n\n", g.vars[init], init)
	}
}

const module = "github.com/keywright/keywright"

// runtimePackages say what generated code may import, in the order of the file.
var runtimePackages = []string{"cmp", "context", "encoding/json", "errors", "math", "strconv", "strings", "sync",
	"time", "", module, module + "/cache", module + "/counter", module + "/entity", module + "/entity/pressure",
	module + "/event", module + "/keyspace/key", module + "/limit", module + "/lock", module + "/migrate",
	module + "/migrate/repository", module + "/queue", module + "/ranking", module + "/typed", module + "/value"}

func (g *generator) head() string {
	g.use(module)
	var b strings.Builder
	fmt.Fprintf(&b, "// %s\n\n", gen.Marker)
	fmt.Fprint(&b,
		comment("", cmp.Or(g.ks.Doc, "Package "+g.pkg+" is the typed access to a declared keyspace."), "Package "+g.pkg+": "))
	fmt.Fprintf(&b, "package %s\n\nimport (\n", g.pkg)
	for _, path := range runtimePackages {
		if path == "" {
			b.WriteByte('\n')
		} else if g.imports[path] {
			fmt.Fprintf(&b, "\t%q\n", path)
		}
	}
	b.WriteString(")\n\n")
	fmt.Fprintf(&b,
		"// Keyspace gives out the handles of the entries. It is safe for concurrent use;\n// make one per client and keep "+
			"it.\ntype Keyspace struct {\nclient *keywright.Client\n")
	if len(g.tuning) > 0 {
		b.WriteString("tuning Tuning\n")
	}
	fmt.Fprintf(&b, "%s\n}\n\n", strings.Join(g.held, "\n"))
	g.makers(&b)
	b.WriteString(
		"// Client is the client that the handles use.\nfunc (k *Keyspace) Client() *keywright.Client { return " +
			"k.client }\n\n")
	return b.String()
}

// makers writes what makes a Keyspace.
func (g *generator) makers(b *strings.Builder) {
	body := fmt.Sprintf("%s\nreturn k\n}\n\n", strings.Join(g.making, "\n"))
	if len(g.tuning) == 0 {
		fmt.Fprintf(b,
			"// New makes the handles' source.\nfunc New(c *keywright.Client) *Keyspace {\nk := &Keyspace{client: c}\n%s", body)
		return
	}
	fmt.Fprintf(b,
		"// Tuning are the options of the constructs, by entry. What is left zero is as\n// declared.\ntype Tuning struct "+
			"{\n%s\n}\n\n", strings.Join(g.tuning, "\n"))
	fmt.Fprintf(b,
		"// New makes the handles' source.\nfunc New(c *keywright.Client) *Keyspace { return NewTuned(c, Tuning{}) }\n\n// "+
			"NewTuned is New with other options.\nfunc NewTuned(c *keywright.Client, t Tuning) *Keyspace {\nk := "+
			"&Keyspace{client: c, tuning: t}\n%s", body)
}

// comment makes lines of a comment out of free text. No line can end it, begin
// a directive or a build constraint.
func comment(indent, text, first string) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		line = printable(strings.TrimRight(line, " \t\r"))
		if i == 0 && first != "" && !strings.HasPrefix(line, strings.TrimSuffix(first, ": ")) {
			line = first + line
		}
		if strings.HasPrefix(strings.TrimSpace(line), "+build") {
			line = "- " + line
		}
		fmt.Fprintf(&b, "%s// %s\n", indent, line)
	}
	return b.String()
}

// printable leaves out what a Go source file must not hold, and what would show
// a line as something else.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < ' ', r == 0x7f, r >= 0x80 && r < 0xa0, r == 0xfeff, r == 0x2028, r == 0x2029,
			r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfffd:
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// initialisms are words that Go writes in capitals.
var initialisms = strings.Fields(
	"acl api ascii cpu css db dns eof guid html http https id ip json lhs otp qps ram rhs rpc rss sla smtp sql ssh tcp " +
		"tls ttl udp ui uid uri url utf8 uuid vm xml xss")

// taken are names that generated code uses itself, and those of the language.
var taken = strings.Fields(
	`k b ok err ctx rest part name text args keys batch op keywright key typed value context json math strconv strings time
	any append bool byte cap clear close comparable complex complex64 complex128 copy delete error false float32 float64 imag int int8 int16 int32 int64 iota
	len make max min new nil panic reason parts print println real recover rune string true uint uint8 uint16 uint32 uint64 uintptr init main options
	cmp cache counter entity errors event limit lock queue ranking weights end t board name r field member migrate repository
	s spec v`)

func reserved(name string) bool { return token.IsKeyword(name) || slices.Contains(taken, name) }

// exported returns the name of a type, function or field: product_detail →
// ProductDetail, product_id → ProductID.
func exported(name string) string {
	return identifier(camel(gen.Words(name)), "X")
}

func camel(words []string) string {
	return gen.Camel(words, func(w string) string {
		if slices.Contains(initialisms, w) {
			return strings.ToUpper(w)
		}
		return gen.Title(w)
	})
}

// unexported returns the name of a parameter: productId → productID.
func unexported(name string) string {
	words := gen.Words(name)
	if len(words) == 0 {
		return "x"
	}
	out := identifier(words[0]+camel(words[1:]), "x")
	if reserved(out) {
		out += "_"
	}
	return out
}

// identifier makes sure of a first letter; letters without case (상품) need one
// in front to be exported.
func identifier(s, front string) string {
	if s == "" || !token.IsIdentifier(s) && !token.IsKeyword(s) || front == "X" && !token.IsExported(s) {
		s = front + s
	}
	return s
}

func quote(s string) string { return strconv.Quote(s) }

// quoteText returns a text of several lines as one would write it, if it can be.
func quoteText(s string) string {
	plain := strings.ReplaceAll(s, "\n", "")
	if s == plain || strings.ContainsAny(s, "`\r") || printable(plain) != plain {
		return quote(s)
	}
	return "`" + s + "`"
}

// ratio returns a percentage as a number.
func ratio(percent int) string { return fmt.Sprintf("0.%02d", percent) }
