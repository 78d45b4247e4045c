package lua

import (
	"fmt"
	"strconv"
	"strings"
)

// mark begins the last line of a text, which says how many keys and arguments it takes.
const mark = "--takes "

// form returns a number of parameters as the last line has it: those that must be there, `?`
// and how many may be, `*` and how many come in turns.
func (p Params) form() string {
	text := strconv.Itoa(len(p.Fixed))
	if p.Optional != nil {
		text += "?" + strconv.Itoa(len(p.Optional))
	}
	if p.Rest != nil {
		text += "*" + strconv.Itoa(len(p.Rest))
	}
	return text
}

// Takes describes how many keys and arguments a script takes. The zero value takes any.
type Takes struct {
	known      bool
	keys, args count
}

type count struct{ fixed, optional, turn int }

// TakenBy reads the last line of a text that Set has made. Others take any number.
func TakenBy(text string) (t Takes) {
	keys, args, ok := strings.Cut(text[strings.LastIndexByte(text, '\n')+1:], " ")
	if !ok || keys+" " != mark {
		return t
	}
	keys, args, _ = strings.Cut(args, " ")
	return Takes{true, countOf(keys), countOf(args)}
}

func countOf(form string) (c count) {
	form, turn, _ := strings.Cut(form, "*")
	form, optional, _ := strings.Cut(form, "?")
	c.fixed, _ = strconv.Atoi(form)
	c.optional, _ = strconv.Atoi(optional)
	c.turn, _ = strconv.Atoi(turn)
	return c
}

// Refuse returns why a script cannot be called with so many keys and arguments, or nil.
func (t Takes) Refuse(keys, args int) error {
	if !t.known || t.keys.has(keys) && t.args.has(args) {
		return nil
	}
	return fmt.Errorf("the script takes %v keys and %v arguments, and not %d and %d", t.keys, t.args, keys, args)
}

func (c count) has(n int) bool {
	more := n - c.fixed - c.optional
	return n >= c.fixed && (more <= 0 || c.turn > 0 && more%c.turn == 0)
}

// String returns a count in words.
func (c count) String() string {
	text := strconv.Itoa(c.fixed)
	if c.optional > 0 {
		text += " to " + strconv.Itoa(c.fixed+c.optional)
	}
	if c.turn > 0 {
		text += " and any number of times " + strconv.Itoa(c.turn)
	}
	return text
}
