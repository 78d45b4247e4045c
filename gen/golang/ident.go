package golang

import (
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/gen"
)

// initialisms are words that Go writes in capitals.
var initialisms = strings.Fields(
	"acl api ascii cpu css db dns eof guid html http https id ip json lhs otp qps ram rhs rpc rss sla smtp sql ssh tcp " +
		"tls ttl udp ui uid uri url utf8 uuid vm xml xss")

// taken are names that generated code uses itself, and those of the language.
var taken = strings.Fields(
	`k b ok err ctx rest part name text args keys batch op keywright key typed value context json math strconv strings time
	any append bool byte cap clear close comparable complex complex64 complex128 copy delete error false float32 float64 imag int int8 int16 int32 int64 iota
	len make max min new nil panic reason parts print println real recover rune string true uint uint8 uint16 uint32 uint64 uintptr init main options
	cmp cache counter errors event limit lock queue ranking weights end t board name r field member migrate repository`)

func reserved(name string) bool { return token.IsKeyword(name) || slices.Contains(taken, name) }

// exported returns the name of a type, function or field: product_detail →
// ProductDetail, product_id → ProductID.
func exported(name string) string {
	out := gen.Camel(gen.Words(name), func(w string) string {
		if slices.Contains(initialisms, w) {
			return strings.ToUpper(w)
		}
		return gen.Title(w)
	})
	return identifier(out, "X")
}

// unexported returns the name of a parameter: productId → productID.
func unexported(name string) string {
	words := gen.Words(name)
	if len(words) == 0 {
		return "x"
	}
	out := identifier(words[0]+strings.TrimPrefix(exported(strings.Join(words[1:], "_")), "X"), "x")
	if len(words) == 1 {
		out = identifier(words[0], "x")
	}
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
	if !token.IsIdentifier(s) && !token.IsKeyword(s) {
		s = front + strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '_'
		}, s)
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
