package acl

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// luaToken represents a word, text or sign of a Lua script.
type luaToken struct {
	text string
	at   string // "queue/fetch.lua:12"
}

var luaSigns = regexp.MustCompile(
	`^(?:\[\[(?s:.*?)\]\]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[A-Za-z_][A-Za-z0-9_]*|[0-9][0-9.a-fA-FxX]*|\.\.\.|\.\.|==|~=|<=|>=|.)`)

// luaTokens splits a text; comments and blanks are left out.
func luaTokens(file, text string) (out []luaToken) {
	line := 1
	for text != "" {
		if strings.HasPrefix(text, "--") {
			_, text, _ = strings.Cut(text, "\n")
			line++
			continue
		}
		if c := text[0]; c == '\n' || c == ' ' || c == '\t' {
			if c == '\n' {
				line++
			}
			text = text[1:]
			continue
		}
		word := luaSigns.FindString(text)
		out = append(out, luaToken{word, fmt.Sprintf("%s:%d", file, line)})
		line += strings.Count(word, "\n")
		text = text[len(word):]
	}
	return out
}

// luaOwn are words of Lua, and functions of it, that a bracket may follow.
var luaOwn = strings.Fields(
	"if elseif while until and or not return in do then tonumber tostring type pairs ipairs unpack select next " +
		"error pcall")

var luaName = regexp.MustCompile(`^[A-Za-z_]+$`)

// luaFunc represents a function of a script.
type luaFunc struct {
	params []string
	body   []luaToken
}

// luaState describes what a script has done when it comes to a place.
type luaState struct {
	wrote bool
	known map[string]bool // keys that a command of the script was sent for, by which a wrong type would have shown
}

func (s luaState) copy() luaState {
	out := luaState{s.wrote, map[string]bool{}}
	maps.Copy(out.known, s.known)
	return out
}

// luaStep represents something that a script does after its first write and that may fail.
type luaStep struct{ what, at string }

// luaWalk goes through a script by all of its branches: loops twice, functions where
// they are called. Names are read as what they were made of.
type luaWalk struct {
	funcs    map[string]*luaFunc
	alias    map[string]string
	writes   func(command string) bool
	untyped  func(command string) bool
	first    luaStep // the first write
	after    map[luaStep]bool
	commands map[string]bool
	unknown  map[string]bool // functions that the script has not
	depth    int
	guarded  int  // functions without a name in pcall: their errors are seen to
	sure     bool // the function has looked at a key by pcall that was looked at before: that does not fail
}

// luaEnd describes where a walk stops: states of all ways that come there.
type luaEnd struct {
	state luaState
	alive bool
}

// meet joins two ways. What one of them has looked at counts as looked at: a loop may have no
// rounds, and what it looks at is in most scripts what it goes on with. So a key that only one
// branch has looked at is not found.
func meet(a, b luaEnd) luaEnd {
	switch {
	case !a.alive:
		return b
	case !b.alive:
		return a
	}
	out := luaState{a.state.wrote || b.state.wrote, maps.Clone(a.state.known)}
	maps.Copy(out.known, b.state.known)
	return luaEnd{out, true}
}

// block walks to the end of a block: the index of its `end`, `else`, `elseif` or
// `until`.
func (w *luaWalk) block(t []luaToken, i int, s luaState, returns *luaEnd) (int, luaEnd) {
	end := luaEnd{s, true}
	for i < len(t) {
		switch t[i].text {
		case "end", "else", "elseif", "until":
			return i, end
		case "local":
			if i+1 < len(t) && t[i+1].text == "function" {
				i = w.define(t, i+2)
				continue
			}
			w.names(t, i+1)
			i++
		case "function":
			if i+2 < len(t) && t[i+2].text == "(" && t[i+1].text != "(" {
				i = w.define(t, i+1)
				continue
			}
			i++ // an unnamed one: its block is walked in its place
			i = closing(t, i) + 1
			var inner luaEnd
			own := luaEnd{}
			i, inner = w.block(t, i, end.state.copy(), &own)
			i, end = i+1, meet(end, meet(inner, own))
		case "if":
			i, end = w.branches(t, i, end, returns)
		case "for", "while":
			i, end = w.until(t, i+1, "do", end)
			first := i
			var once luaEnd
			i, once = w.block(t, first, end.state.copy(), returns)
			end = meet(end, once)
			_, once = w.block(t, first, end.state.copy(), returns)
			end = meet(end, once)
			i++
		case "do":
			i, end = w.block(t, i+1, end.state, returns)
			i++
		case "repeat":
			first := i + 1
			_, once := w.block(t, first, end.state.copy(), returns)
			i, end = w.block(t, first, meet(end, once).state.copy(), returns)
			i++
		case "return":
			j := i + 1
			for depth := 0; j < len(t); j++ {
				if x := t[j].text; x == "function" {
					depth++
				} else if depth == 0 && (x == "end" || x == "else" || x == "elseif" || x == "until") {
					break
				} else if x == "end" {
					depth--
				}
			}
			_, end = w.span(t[i+1:j], end)
			if i+2 < len(t) && t[i+1].text == "redis" && strings.Contains(text(t[i+1:j]), "redis.error_reply(") {
				w.step(end.state, "error", t[i].at)
			}
			*returns, end = meet(*returns, end), luaEnd{}
			i = j
		default:
			i, end = w.one(t, i, end)
		}
	}
	return i, end
}

// span walks tokens without blocks of their own.
func (w *luaWalk) span(t []luaToken, end luaEnd) (int, luaEnd) {
	none := luaEnd{}
	i, end := w.block(t, 0, end.state, &none)
	return i, end
}

// until walks tokens up to a word, and gives the place after it.
func (w *luaWalk) until(t []luaToken, i int, word string, end luaEnd) (int, luaEnd) {
	j := i
	for t[j].text != word {
		j++
	}
	_, end = w.span(t[i:j], end)
	return j + 1, end
}

func (w *luaWalk) branches(t []luaToken, i int, end luaEnd, returns *luaEnd) (int, luaEnd) {
	out, open := luaEnd{}, true
	for open {
		if t[i].text == "else" {
			var b luaEnd
			i, b = w.block(t, i+1, end.state.copy(), returns)
			return i + 1, meet(out, b)
		}
		i, end = w.until(t, i+1, "then", end)
		var b luaEnd
		i, b = w.block(t, i, end.state.copy(), returns)
		out = meet(out, b)
		open = t[i].text != "end"
	}
	return i + 1, meet(out, end)
}

// define keeps a function, and gives the place after its end.
func (w *luaWalk) define(t []luaToken, i int) int {
	f := &luaFunc{}
	name := t[i].text
	closes := closing(t, i+1)
	for _, p := range t[i+2 : closes] {
		if p.text != "," {
			f.params = append(f.params, p.text)
		}
	}
	begin, depth := closes+1, 1
	for i = begin; depth > 0; i++ {
		switch t[i].text {
		case "function", "if", "do", "repeat":
			depth++
		case "end", "until":
			depth--
		}
	}
	f.body = t[begin : i-1]
	w.funcs[name] = f
	return i
}

// names notes what local names mean, if that is simple.
func (w *luaWalk) names(t []luaToken, i int) {
	var left []string
	for ; i+1 < len(t); i += 2 {
		left = append(left, t[i].text)
		if t[i+1].text != "," {
			break
		}
	}
	if i+1 >= len(t) || t[i+1].text != "=" {
		return
	}
	i += 2
	for _, name := range left {
		j, depth := i, 0
		for ; j < len(t) && !(depth == 0 && (t[j].text == "," || t[j].at != t[i].at)); j++ {
			depth += strings.Count("([{", t[j].text) - strings.Count(")]}", t[j].text)
		}
		w.alias[name] = w.resolve(t[i:j])
		if j >= len(t) || t[j].text != "," {
			return
		}
		i = j + 1
	}
}

func text(t []luaToken) string {
	var b strings.Builder
	for _, x := range t {
		b.WriteString(x.text)
	}
	return b.String()
}

func (w *luaWalk) resolve(t []luaToken) string {
	if len(t) == 1 {
		if known, ok := w.alias[t[0].text]; ok {
			return known
		}
	}
	return text(t)
}

// closing returns the place of the bracket that closes the one at i.
func closing(t []luaToken, i int) int {
	depth := 0
	for ; i < len(t); i++ {
		depth += strings.Count("([{", t[i].text) - strings.Count(")]}", t[i].text)
		if depth == 0 {
			return i
		}
	}
	return i - 1
}

// arguments returns the parts between the brackets at i and at last.
func (w *luaWalk) arguments(t []luaToken, i, last int) (out []string) {
	from, depth := i+1, 0
	for j := i + 1; j <= last; j++ {
		if depth == 0 && (t[j].text == "," || j == last) {
			if j > from {
				out = append(out, w.resolve(t[from:j]))
			}
			from = j + 1
		}
		depth += strings.Count("([{", t[j].text) - strings.Count(")]}", t[j].text)
	}
	return out
}

// one walks one token, or a call.
func (w *luaWalk) one(t []luaToken, i int, end luaEnd) (int, luaEnd) {
	name, open := t[i].text, i+1
	if name == "redis" && i+3 < len(t) && t[i+1].text == "." {
		name, open = "redis."+t[i+2].text, i+3
	} else if i > 0 && (t[i-1].text == "." || t[i-1].text == ":") {
		return i + 1, end
	}
	if open >= len(t) || t[open].text != "(" {
		return max(open, i+1), end
	}
	if known, ok := w.alias[name]; ok {
		name = known
	}
	last := closing(t, open)
	args := w.arguments(t, open, last)
	switch f := w.funcs[name]; {
	case name == "redis.call" || name == "redis.pcall":
		_, end = w.span(t[open+1:last], end)
		end = w.command(end, name == "redis.pcall", args, t[i].at)
		return last + 1, end
	case name == "pcall" && len(args) > 0 && w.funcs[args[0]] != nil:
		// An error in it stops no more than it.
		fresh := luaEnd{luaState{false, end.state.copy().known}, end.alive}
		fresh = w.call(w.funcs[args[0]], args[1:], fresh)
		fresh.state.wrote = fresh.state.wrote || end.state.wrote
		return last + 1, meet(end, fresh)
	case name == "pcall" && open+1 < len(t) && t[open+1].text == "function":
		w.guarded++
		_, end = w.span(t[open+1:last], end)
		w.guarded--
		return last + 1, end
	case name == "redis.acl_check_cmd" && len(args) > 1: // the server says whether it would take the command
		end.state.known[args[1]] = true
		return last + 1, end
	case name == "error":
		w.step(end.state, "error", t[i].at)
		return last + 1, luaEnd{}
	case f == nil && name == t[i].text && !slices.Contains(luaOwn, name) && luaName.MatchString(name):
		w.unknown[name] = true
	case f != nil:
		_, end = w.span(t[open+1:last], end)
		return last + 1, w.call(f, args, end)
	}
	return open, end
}

// call walks a function where it is called.
func (w *luaWalk) call(f *luaFunc, args []string, end luaEnd) luaEnd {
	if w.depth > 12 {
		return end
	}
	w.depth++
	old := maps.Clone(w.alias)
	for i, p := range f.params {
		delete(w.alias, p)
		switch {
		case p == "..." && i < len(args):
			w.alias[p] = strings.Join(args[i:], ", ")
		case i < len(args):
			w.alias[p] = args[i]
		}
	}
	sure := w.sure
	w.sure = false
	returns := luaEnd{}
	_, out := w.block(f.body, 0, end.state.copy(), &returns)
	w.alias, w.sure = old, sure
	w.depth--
	return meet(out, returns)
}

// command returns one that a script sends.
func (w *luaWalk) command(end luaEnd, protected bool, args []string, at string) luaEnd {
	s := end.state
	if len(args) == 0 || !end.alive {
		return end
	}
	if len(args) == 1 && strings.Contains(args[0], ", ") { // those of a caller
		args = strings.Split(args[0], ", ")
	}
	var names []string
	for _, word := range regexp.MustCompile(`'([A-Z]{2,})'`).FindAllStringSubmatch(args[0], -1) {
		names = append(names, word[1])
	}
	what, key := strings.Join(names, "/"), ""
	if len(names) == 0 {
		what = args[0]
	}
	if len(args) > 1 {
		key = args[1]
	}
	w.sure = w.sure || protected && s.known[key]
	writes := len(names) == 0 || slices.ContainsFunc(names, w.writes)
	if s.wrote && !protected && what != "TIME" && !(s.known[key] || slices.ContainsFunc(names, w.untyped)) {
		w.step(s, strings.TrimSpace(what+" "+key), at)
	}
	for _, n := range names {
		w.commands[n] = true
	}
	if writes && !s.wrote {
		s.wrote = true
		if w.first.what == "" {
			w.first = luaStep{strings.TrimSpace(what + " " + key), at}
		}
	}
	if !protected && key != "" &&
		(len(names) == 0 || !slices.ContainsFunc(names, w.untyped) || slices.Contains(names, "TYPE") ||
			slices.Contains(names, "DEL") || slices.Contains(names, "UNLINK") || slices.Contains(names, "SET")) ||
		protected && key != "" {
		s.known[key] = true
	}
	return luaEnd{s, end.alive}
}

// step notes what may fail after the first write.
func (w *luaWalk) step(s luaState, what, at string) {
	if s.wrote && w.guarded == 0 && !(what == "error" && w.sure) {
		w.after[luaStep{what, at}] = true
	}
}
