package page

import (
	"cmp"
	"strings"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/mention"
	"github.com/keywright/keywright/infer/page/internal/regex"
	"github.com/keywright/keywright/infer/page/internal/shape"
	"github.com/keywright/keywright/infer/page/internal/wording"
)

// share represents what a sentence of several keys says of one of them: the text up to the next one.
type share struct {
	key, before, behind string
	ttl                 string
}

var (
	// joined is all that is between two keys of which a sentence says the same.
	joined = regex.Lazy(`(?i)^[\s,/&*_、]*(?:and|or|as well as|und|oder|sowie|y|e|et|ou|o|en|i|и|と|和|及)?[\s,/&*_、]*$`)
	// clauseStart is before a part of a sentence that has its own subject.
	clauseStart = regex.Lazy(`(?i)[,;:，、；]|(?:^|\s)(?:and|or|but|while|und|oder|aber|während|y|e|et|ou|mais|pero|en|i|и|а)\s`)
	// twoNumbers are times of two keys: live 7 and 3 days.
	twoNumbers = regex.Lazy(`\d\D+\d`)
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
// returns the TTLs by key, nil if the sentence has no two subjects.
func (c *collector) shared(l string, line int, section string) map[string]string {
	list := sharesOf(l)
	if list == nil {
		return nil
	}
	ttls := map[string]string{}
	for i := len(list) - 1; i >= 0; i-- {
		s := &list[i]
		next := i < len(list)-1
		if next && joined.MatchString(s.behind) {
			s.ttl = list[i+1].ttl
		} else {
			about := s.behind
			if all := clauseStart.FindAllStringIndex(about, -1); next && len(all) > 0 {
				about = about[:all[len(all)-1][0]]
			}
			about = markdown.CodeSpan.ReplaceAllString(about, "")
			s.ttl = wording.TTLOfRemark(about)
			if i > 0 && joined.MatchString(s.before) && s.ttl != "" && twoNumbers.MatchString(about) {
				c.Pass(line, l, "it gives several times to several keys")
				s.ttl = ""
			}
		}
	}
	for _, s := range list {
		ttls[s.key] = cmp.Or(s.ttl, ttls[s.key])
		if s.ttl != "" {
			behind, _, _ := strings.Cut(s.behind, "`")
			c.Add(s.key, mention.Mention{Place: mention.Maybe, Line: line, Section: section, TTL: s.ttl,
				Type: cmp.Or(typeNear(behind), typeBefore(s.before))})
		}
	}
	return ttls
}

// ofSeveral reads a sentence of several keys and one subject: a time before the second key is of the first. One behind
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
