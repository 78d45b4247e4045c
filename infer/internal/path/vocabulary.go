package path

import (
	"strings"

	"github.com/keywright/keywright/infer/internal/class"
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
