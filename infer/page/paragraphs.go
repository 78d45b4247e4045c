package page

import (
	"cmp"
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/mention"
	"github.com/keywright/keywright/infer/page/internal/program"
	"github.com/keywright/keywright/infer/page/internal/regex"
	"github.com/keywright/keywright/infer/page/internal/shape"
	"github.com/keywright/keywright/infer/page/internal/wording"
)

// maxTail bounds what of the lines around is read with a line.
const maxTail = 240

// wholeSentences returns a line of a paragraph with the beginning and the end that its sentences have
// in the lines above and below, unless these name a key of their own.
func wholeSentences(lines []string, i int, l string) string {
	if !strings.Contains(l, "`") {
		return l
	}
	if i > 0 && !bullet.MatchString(l) && isParagraph(lines[i-1]) {
		tail := lines[i-1]
		if ends := sentenceEnd.FindAllStringIndex(tail+" ", -1); len(ends) > 0 {
			tail = tail[min(ends[len(ends)-1][1], len(tail)):]
		}
		if !strings.Contains(tail, "`") && len(tail) < maxTail {
			l = tail + " " + l
		}
	}
	if i+1 < len(lines) && isParagraph(lines[i+1]) && !bullet.MatchString(lines[i+1]) &&
		(!strings.HasSuffix(strings.TrimRight(l, " "), ".") || wording.GoesOn(lines[i+1])) {
		head := lines[i+1]
		if end := sentenceEnd.FindStringIndex(head + " "); end != nil {
			head = head[:min(end[1], len(head))]
		}
		if !strings.Contains(head, "`") && len(head) < maxTail {
			l += " " + strings.TrimSpace(head)
		}
	}
	return l
}

// isParagraph reports whether a line is one of text.
func isParagraph(l string) bool {
	return strings.TrimSpace(l) != "" && !strings.Contains(l, "|") && !strings.HasPrefix(strings.TrimSpace(l), "#")
}

// sentenceOf returns the sentence of a text that a key is in.
func sentenceOf(l, key string) string {
	at := strings.Index(l, key)
	from, to := 0, len(l)
	for _, m := range sentenceEnd.FindAllStringIndex(l, -1) {
		if m[1] <= at {
			from = m[1]
		} else if m[0] >= at+len(key) {
			to = m[1]
			break
		}
	}
	return l[from:to]
}

// withoutCommands returns a sentence with the keys of its commands in their places.
func withoutCommands(l string) string {
	return markdown.CodeSpan.ReplaceAllStringFunc(l, func(m string) string {
		if name, args := program.ParseCommand(strings.Trim(m,
			"` ")); name != "" && mayBeKey(args[0]) && !strings.Contains(args[0], "*") {
			return "`" + args[0] + "`"
		}
		return m
	})
}

// share represents what a sentence of several keys says of one of them: the text up to the next one.
type share struct {
	key, before, behind string
	typ, ttl            string
}

func (s share) hasTTL() bool { return s.ttl != "" }

// own returns the part of a share that is not the beginning of what follows.
func (s share) own(next bool) string {
	if all := clauseStart.FindAllStringIndex(s.behind, -1); next && len(all) > 0 {
		return s.behind[:all[len(all)-1][0]]
	}
	return s.behind
}

var (
	// joined is all that is between two keys of which a sentence says the same.
	joined = regex.Lazy(`(?i)^[\s,/&*_、]*(?:and|or|as well as|und|oder|sowie|y|e|et|ou|o|en|i|и|と|和|及)?[\s,/&*_、]*$`)
	// clauseStart is before a part of a sentence that has its own subject.
	clauseStart = regex.Lazy(`(?i)[,;:，、；]|(?:^|\s)(?:and|or|but|while|und|oder|aber|während|` +
		`y|e|et|ou|mais|pero|en|i|и|а)\s`)
	// twoNumbers are times of two keys: live 7 and 3 days.
	twoNumbers = regex.Lazy(`(?i)\d\D+\d|\brespectively\b|\bbzw\b|\bjeweils\b`)
	// ofAll begins a sentence about all keys of the one before it.
	ofAll = regex.Lazy(`(?i)^\W*(?:all|both|they|each|alle|beide|sie|` +
		`jeder|tous|toutes|todos|todas|tutti|tutte)(?:$|[^\p{L}])`)
)

// maxSubject bounds the words of a subject beside the key: the sorted set `a:b`.
const maxSubject = 3

// sharesOf returns the shares of a sentence with two or more keys that are subjects, else none.
func sharesOf(l string) []share {
	var out []share
	last := 0
	for i, m := range markdown.CodeSpan.FindAllStringIndex(l, -1) {
		if i >= maxTyped {
			return nil
		}
		key, between := strings.Trim(l[m[0]:m[1]], "`"), l[last:m[0]]
		if s, ok := shape.Parse(key); !ok || s.Colons() == 0 || !s.Rooted() || s.Glob || s.NotAKey() ||
			len(out) > 0 && !isSubject(between) {
			continue
		}
		if n := len(out); n > 0 {
			out[n-1].behind = between
		}
		out = append(out, share{key: key, before: between})
		last = m[1]
	}
	if len(out) < 2 {
		return nil
	}
	behind := l[last:]
	if end := sentenceEnd.FindStringIndex(behind); end != nil {
		behind = behind[:end[0]]
	}
	out[len(out)-1].behind = behind
	return out
}

// isSubject reports whether the text between two keys says that the second is what a new part of the sentence is about.
func isSubject(between string) bool {
	all := clauseStart.FindAllStringIndex(between, -1)
	if joined.MatchString(between) {
		return true
	} else if len(all) == 0 {
		return false
	}
	words := len(strings.Fields(between[all[len(all)-1][1]:]))
	return words == 0 || words <= maxSubject && typeBefore(between) != ""
}

// shared reads a sentence of several keys: a time is of the key before it, and of those that are joined with it. It
// returns the shares by key, nil if the sentence has no two subjects.
func (c *collector) shared(l string, line int, section string) map[string]share {
	list := sharesOf(l)
	if list == nil {
		return nil
	}
	for i := len(list) - 1; i >= 0; i-- {
		s, next := &list[i], i < len(list)-1
		about := markdown.CodeSpan.ReplaceAllString(s.own(next), "")
		s.typ = cmp.Or(typeNear(about), typeBefore(s.before))
		if next && joined.MatchString(s.behind) {
			s.ttl, s.typ = list[i+1].ttl, cmp.Or(s.typ, list[i+1].typ)
		} else if s.ttl = wording.TTLOfRemark(about); i > 0 && joined.MatchString(s.before) && isOfEach(about) {
			c.Pass(line, l, "it gives several times to several keys")
			s.ttl = ""
		}
	}
	if tail := sentenceEnd.FindStringIndex(l[strings.LastIndex(l, "`"):]); tail != nil {
		about := l[strings.LastIndex(l, "`")+tail[1]:]
		ttl := wording.TTLIn(about, false, 0)
		if ttl != "" && ofAll.MatchString(about) && !slices.ContainsFunc(list, share.hasTTL) {
			for i := range list {
				list[i].ttl = ttl
			}
		} else if ttl != "" {
			c.Pass(line, about, "it may be of any key of the sentence before it")
		}
	}
	byKey := map[string]share{}
	for _, s := range list {
		s.ttl = cmp.Or(s.ttl, byKey[s.key].ttl)
		byKey[s.key] = s
		if s.ttl != "" || s.typ != "" {
			c.Add(s.key, mention.Mention{Place: mention.Maybe, Line: line, Section: section, TTL: s.ttl, Type: s.typ})
		}
	}
	return byKey
}

// isOfEach reports whether a text gives several times, or none of which it is certain that it is of all.
func isOfEach(about string) bool {
	return twoNumbers.MatchString(about) || wording.CountTimes(about) > 1
}

// ofSeveral reads a sentence of several keys and one subject: a time before the second key is of the first. One after
// it may be of any.
func (c *collector) ofSeveral(l, first string, line int, section string) {
	before, rest, _ := strings.Cut(l, "`"+first+"`")
	until, behind, _ := strings.Cut(rest, "`")
	if wording.TTLIn(markdown.CodeSpan.ReplaceAllString("`"+behind, ""), false, 0) != "" {
		c.Pass(line, l, "it names several keys, and the time may be of any of them")
	} else if ttl := wording.TTLIn(before+until, false, 0); ttl != "" {
		c.Add(first, mention.Mention{Place: mention.Maybe, Line: line, Section: section, TTL: ttl})
	}
}

// beforeNext returns the TTL that a sentence gives between a key and the next one in it, "" if there is none.
func beforeNext(l, key string) string {
	_, rest, _ := strings.Cut(l, "`"+key+"`")
	until, behind, _ := strings.Cut(rest, "`")
	if next, _, ok := strings.Cut(behind, "`"); !ok || !mayBeKey(next) {
		return ""
	}
	return wording.TTLIn(until, false, 0)
}
