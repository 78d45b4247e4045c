package lua

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Header describes what a file says of itself, in the comment that it begins with.
type Header struct {
	Name       string
	Part       bool
	Keys, Args Params
	Returns    string
	Bound      string // how much work it is at most, for the server
	RoundTrips string
}

// most says how many arguments a script may have that are known by their numbers.
const most = 5

// Named reports whether the arguments of a script are variables of its body.
func (h Header) Named() bool { return len(h.Args.names()) > most }

// Params holds the keys or the arguments of a script.
type Params struct {
	Fixed    []string
	Optional []string // may be left out, all from one on
	Rest     []string // come any number of times, in turns
}

func (p Params) names() []string { return append(append([]string(nil), p.Fixed...), p.Optional...) }

var (
	shebang = regexp.MustCompile(`^#!lua( |$)`)
	param   = regexp.MustCompile(`^(KEYS|ARGV)\[(\d+)(…?)\](\??) ([a-z][a-z0-9_]*(?:, [a-z][a-z0-9_]*)*)(?:: (.+))?$`)
	field   = regexp.MustCompile(`^(Returns|Bound|Round trips): (.+)$`)
)

// words begin the lines of a header that have a form.
var words = []string{"KEYS", "ARGV", "Returns", "Bound", "Round trips"}

// Parse reads the header of a file. lines is how many lines it has.
func Parse(name, text string) (h Header, lines int, err error) {
	all := strings.Split(text, "\n")
	if shebang.MatchString(all[0]) {
		lines++
	}
	first := lines
	var said []string
	for ; lines < len(all) && strings.HasPrefix(all[lines], "--") && !strings.HasPrefix(all[lines], include); lines++ {
		more, goesOn := strings.CutPrefix(all[lines], "--   ")
		if goesOn && len(said) > 0 {
			said[len(said)-1] += " " + strings.TrimSpace(more)
		} else {
			said = append(said, strings.TrimPrefix(strings.TrimPrefix(all[lines], "--"), " "))
		}
	}
	if lines == first || !strings.HasPrefix(said[0], name+": ") {
		return h, lines, fmt.Errorf("its first line is not `-- %s: what it does`", name)
	}
	h.Name = name
	none := map[string]bool{}
	for _, line := range said[1:] {
		err = errors.Join(err, h.line(line, none))
	}
	return h, lines, errors.Join(err, h.whole(none))
}

// line reads one line of a header, with those that go on with it. One of no form is text
// about the script.
func (h *Header) line(line string, none map[string]bool) error {
	if line == "Part." {
		h.Part = true
		return nil
	}
	if line == "KEYS: none" || line == "ARGV: none" {
		none[line[:4]] = true
		return nil
	}
	if !slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(line, word) }) {
		return nil
	}
	if m := field.FindStringSubmatch(line); m != nil {
		*map[string]*string{"Returns": &h.Returns, "Bound": &h.Bound, "Round trips": &h.RoundTrips}[m[1]] = m[2]
		return nil
	}
	m := param.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("the line %q of its header has no known form", line)
	}
	p := map[string]*Params{"KEYS": &h.Keys, "ARGV": &h.Args}[m[1]]
	if n, _ := strconv.Atoi(m[2]); n != len(p.names())+1 || p.Rest != nil {
		return fmt.Errorf("%s[%s] of its header comes after %d others", m[1], m[2], len(p.names()))
	}
	names := strings.Split(m[5], ", ")
	switch {
	case m[3] != "":
		p.Rest = names
	case len(names) > 1:
		return fmt.Errorf("%s[%s] of its header has %d names", m[1], m[2], len(names))
	case m[4] != "":
		p.Optional = append(p.Optional, names[0])
	case p.Optional != nil:
		return fmt.Errorf("%s[%s] of its header comes after one that may be left out", m[1], m[2])
	default:
		p.Fixed = append(p.Fixed, names[0])
	}
	return nil
}

// whole refuses a header that leaves something out.
func (h *Header) whole(none map[string]bool) error {
	if h.Part {
		if h.Returns+h.Bound+h.RoundTrips != "" {
			return errors.New("the header of a part has lines of a script")
		}
		return nil
	}
	var missing []string
	for word, p := range map[string]Params{"KEYS": h.Keys, "ARGV": h.Args} {
		if none[word] != (p.form() == "0") {
			missing = append(missing, "`"+word+"[1] name`, or `"+word+": none`")
		}
	}
	for _, f := range []struct{ name, text string }{{"Returns", h.Returns}, {"Bound", h.Bound},
		{"Round trips", h.RoundTrips}} {
		if f.text == "" {
			missing = append(missing, "`"+f.name+":`")
		}
	}
	if missing != nil {
		return fmt.Errorf("its header has no line %s", strings.Join(missing, ", no line "))
	}
	return nil
}
