package path

import (
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/internal/class"
	"github.com/keywright/keywright/infer/internal/tree"
)

// What follows is knowledge about words, in tables: add to them.

// Words returns the words of a text as a set.
func Words(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// The order of a vocabulary is that of its values, where they have one.
//
// vocabularies are words that are values of one thing, and its name. A weak one
// counts at the end of a key only, and if three of its words are there.
type vocab struct {
	name  string
	weak  bool
	order []string
	has   map[string]bool
}

func vocabOf(name string, weak bool, words string) vocab {
	return vocab{name, weak, strings.Fields(words), Words(words)}
}

var vocabularies = []vocab{
	vocabOf("priority", false, "critical immediate urgent highest high normal medium default low lowest background bulk"),
	vocabOf("lang", false,
		"en ja ko zh de fr es it pt ru nl pl sv tr ar hi id th vi en-US en-GB ja-JP ko-KR zh-CN zh-TW pt-BR en_US ja_JP "+
			"ko_KR zh_CN"),
	vocabOf("country", false,
		"us gb uk de fr es it nl pl pt se dk fi ch jp kr cn tw hk sg au nz ca mx br US GB UK DE FR ES IT NL PL PT SE DK "+
			"FI CH JP KR CN TW HK SG AU NZ CA MX BR"),
	vocabOf("env", false, "dev development staging stage prod production test qa sandbox local"),
	vocabOf("platform", false, "ios android web desktop mobile pc windows macos linux"),
	vocabOf("period", false, "hourly daily weekly monthly yearly"),
	vocabOf("weekday", false, "monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun"),
	vocabOf("currency", false, "USD EUR JPY KRW GBP CNY usd eur jpy krw gbp cny btc eth"),
	vocabOf("region", false,
		"us eu asia apac us-east us-west eu-west eu-central ap-northeast us-east-1 us-west-2 eu-west-1 eu-central-1 "+
			"ap-northeast-1 ap-northeast-2 ap-southeast-1"),
	vocabOf("gender", false, "male female"),
	vocabOf("status", true,
		"open closed pending waiting active inactive running paused delayed scheduled completed complete done failed "+
			"success succeeded error retry processing processed cancelled canceled archived queued new expired blocked ready"),
}

// insteadOfID are words that are where an id would.
var insteadOfID = Words("global default anonymous anon guest system admin root self me null nil none undefined " +
	"unknown public shared")

// lockWords tell that a key is held by someone.
var lockWords = Words("lock locks mutex locked lck semaphore leader lease redlock")

// generic are words that say what is kept and not of whom: an id after them is
// of what is before. user:profile:42 is about user 42.
var generic = Words(`info data detail details meta metadata status state states result results profile profiles
	settings config cache cached lock locks
	list lists set sets idx index by key keys item entry value values count counts total stats stat summary record short
	long current latest recent
	hash map obj object temp tmp heartbeat history log logs id ids queue queues v1 v2 v3 v4 api app new old t type
	process fix feed active pending token unique rate options`)

// dateNames say what a placeholder of a date or time is called.
var dateNames = map[class.Class]string{class.Day: "day", class.DayHour: "hour", class.Month: "month", class.Week: "week",
	class.Compact: "day",
	class.Seconds: "ts", class.Millis: "ts"}

// vocabulary: words that are known to go together; of several vocabularies the one that
// has most of them.
func vocabulary(family []*Path, at int) (best merge) {
	for _, v := range vocabularies {
		m := pick(family, at, func(s Segment) bool {
			if len(s.Words) > 0 {
				return s.Vocab == v.name
			}
			return IsLiteral(s.Shape) && v.has[s.Shape]
		}, enumeration(v.name))
		if len(m.members) >= 2 && (!v.weak && SameTTLs(m.members) || sameContent(m.members)) && (!v.weak ||
			at == len(family[0].Segments)-1 && len(m.segment.Words) >= fewWords) && len(m.members) > len(best.members) {
			best = m
		}
	}
	return best
}

// company: a word that no vocabulary has, beside words of one, with about as many keys of
// the same content: en, de and jp.
func company(family []*Path, at int) merge {
	i := slices.IndexFunc(family, func(p *Path) bool { return p.Segments[at].Vocab != "" })
	if i < 0 {
		return merge{}
	}
	known := family[i]
	each := float64(known.Keys) / float64(len(known.Segments[at].Words))
	members := []*Path{known}
	for _, p := range family {
		s := p.Segments[at]
		if keys := float64(p.Keys); IsLiteral(s.Shape) && !generic[s.Shape] && canEnumerate([]string{s.Shape}) &&
			each >= keysInMatrix && keys >= evenly*each && each >= evenly*keys && sameContent([]*Path{known, p}) {
			members = append(members, p)
		}
	}
	if words := len(known.Segments[at].Words); len(members) > 1 && len(members)-1 <= words {
		return merge{members, enumeration(known.Segments[at].Vocab)(members, at)}
	}
	return merge{}
}

func enumeration(vocab string) func([]*Path, int) Segment {
	return func(members []*Path, at int) Segment {
		var words []string
		for _, p := range members {
			if s := p.Segments[at]; len(s.Words) > 0 {
				words = append(words, s.Words...)
			} else {
				words = append(words, s.Shape)
			}
		}
		slices.Sort(words)
		return Segment{Shape: string(tree.TextShape), Words: slices.Compact(words), Vocab: vocab}
	}
}

// canEnumerate reports whether a declaration can list the words.
func canEnumerate(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool {
		for i := range len(w) {
			if class.Kinds[w[i]]&(class.IsLower|class.IsUpper|class.IsDigit) == 0 &&
				(i == 0 || w[i] != '-' && w[i] != '_' && w[i] != '.') {
				return true
			}
		}
		return w == ""
	})
}
