package wording

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestTimesIn: the times that a text names, each with the part of the text that it is.
func TestTimesIn(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""}, {"a", ""}, {"5", ""}, {"5 min", "5m0s=5 min"}, {"5min", "5m0s=5min"}, {"5-min", "5m0s=5-min"},
		{"5\u00a0min", "5m0s=5\u00a0min"}, {"5  min", "5m0s=5  min"}, {"5_min", ""}, {"5 mins.", "5m0s=5 mins"},
		{"5 mint", ""},
		{"x5 min", ""}, {"v1.5 min", ""}, {"a_5 min", ""}, {"日5 min", "5m0s=5 min"}, {"é5 min", "5m0s=5 min"},
		{"0 min", ""},
		{"1 h, 2 h", "1h0m0s=1 h|2h0m0s=2 h"}, {"1 h 30 min", "1h30m0s=1 h 30 min"}, {"1h30m", "1h30m0s=1h30m"},
		{"1h9m", "1h9m0s=1h9m"}, {"1 h 9 min", "1h9m0s=1 h 9 min"}, {"5 min分", "5m0s=5 min"},
		{"1h30m15s", "1h30m15s=1h30m15s"}, {"1d 2h", "26h0m0s=1d 2h"}, {"30 min 1 h", "30m0s=30 min|1h0m0s=1 h"},
		{"1 h  30 min", "1h0m0s=1 h|30m0s=30 min"}, {"1 h-30 min", "1h0m0s=1 h|30m0s=30 min"},
		{"1 h half an hour", "1h0m0s=1 h|30m0s=half an hour"},
		{"1h1h", "1h0m0s=1h|1h0m0s=1h"}, {"5m2", "5m0s=5m"}, {"5min2", ""},
		// Numbers.
		{"1.5 h", "1h30m0s=1.5 h"}, {"1,5 h", "1h30m0s=1,5 h"}, {"0.125 h", "7m30s=0.125 h"},
		{"86,400 s", "24h0m0s=86,400 s"},
		{"1,500 ms", "1.5s=1,500 ms"}, {"1,500 seconds", "25m0s=1,500 seconds"}, {"1,500 hours", ""},
		{"1,209,600 hours", ""},
		{"1,209 hours", ""}, {"10,080 min", ""}, {"1,000,000 min", "16666h40m0s=1,000,000 min"},
		{"1_000 s", "16m40s=1_000 s"},
		{"86.400 s", ""}, {"3.600 sekunden", ""}, {"1.209.600 s", ""}, {"0.500 s", "500ms=0.500 s"},
		{"12345.678 s", "3h25m45.678s=12345.678 s"},
		{"9999999999 s", ""}, {"200 years", ""}, {"100 years", "876000h0m0s=100 years"},
		{strings.Repeat("9", 400) + " s", ""},
		// Words.
		{"an hour", "1h0m0s=an hour"}, {"half an hour", "30m0s=half an hour"},
		{"one and a half hours", "1h30m0s=one and a half hours"},
		{"twenty-four hours", "24h0m0s=twenty-four hours"}, {"a quarter of an hour", "15m0s=a quarter of an hour"},
		{"can hour", ""},
		{"a d", ""}, {"one", ""}, {"one of them", ""}, {"eine stunde", "1h0m0s=eine stunde"}, {"eine hour", ""},
		{"two stunden", ""},
		{"a second", "1s=a second"}, {"a second copy", ""}, {"one second after it", "1s=one second"},
		{"un segundo contador", ""},
		{"two second copies", "2s=two second"}, {"5 an hour", "1h0m0s=an hour"}, {"5 ans", "43800h0m0s=5 ans"},
		{"un an", "8760h0m0s=un an"},
		{"d'une heure", "1h0m0s=une heure"}, {"mezz'ora", "30m0s=mezz'ora"}, {"полчаса", "30m0s=полчаса"},
		{"полчасаи", ""},
		{"5 секундами", "5s=5 секундами"}, {"5 недели", "840h0m0s=5 недели"},
		// Han, Kana and Hangul.
		{"30分", "30m0s=30分"}, {"30分間", "30m0s=30分間"}, {"保持7天", "168h0m0s=7天"}, {"三十分钟", "30m0s=三十分钟"},
		{"十五天", "360h0m0s=十五天"},
		{"十天", "240h0m0s=十天"}, {"二十四小时", "24h0m0s=二十四小时"}, {"两个小时", "2h0m0s=两个小时"}, {"半小时", "30m0s=半小时"},
		{"一百天", ""}, {"一", ""}, {"두 시간", "2h0m0s=두 시간"}, {"가두 시간", ""}, {"하루", "24h0m0s=하루"}, {"1日1回", "24h0m0s=1日"},
		{strings.Repeat("一", 50) + "天", "24h0m0s=一一一一一一一一一一天"}, {"\xff5 min\xff", "5m0s=5 min"}, {"5\xffmin", ""},
	} {
		var got []string
		for _, s := range TimesIn(c.text) {
			got = append(got, fmt.Sprintf("%v=%s", s.Time, c.text[s.from:s.to]))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%q: %q, and not %q", c.text, got, c.want)
		}
	}
	if n := len(TimesIn(strings.Repeat("1 h, ", 1000))); n != maxTimes {
		t.Errorf("%d times", n)
	}
}

// TestLanguagesAgree: a word that two languages have for a time means one of both, and no language has a number, or a
// whole time, that is none.
func TestLanguagesAgree(t *testing.T) {
	x := spoken()
	for w, m := range x.units {
		if m.unit <= 0 || len(m.codes) == 0 {
			t.Errorf("%s: %+v", w, m)
		}
	}
	for w, m := range x.numbers {
		if m.number <= 0 || len(m.codes) == 0 || len(w) > x.longest {
			t.Errorf("%s: %+v", w, m)
		}
	}
	for w, m := range x.whole {
		if m.unit <= 0 || len(m.codes) == 0 || len(w) > x.longest {
			t.Errorf("%s: %+v", w, m)
		}
	}
	codes := map[string]bool{}
	for i := range languages {
		if l := &languages[i]; codes[l.code] || l.minute == "" || l.hour == "" || l.day == "" ||
			l.keyTitle == "" || l.ttlTitle == "" {
			t.Errorf("%+v", l)
		}
		codes[languages[i].code] = true
	}
	if len(codes) != 18 {
		t.Errorf("%d languages", len(codes))
	}
}

// TestLearn: of two languages that mean different things by a word the first counts; those that mean the same share
// it.
func TestLearn(t *testing.T) {
	x := &lexicon{units: map[string]meaning{}, starts: map[byte]bool{}}
	for code, unit := range []time.Duration{time.Hour, time.Minute, time.Hour} {
		x.learn(x.units, "Öra_x", meaning{unit: unit}, strconv.Itoa(code))
	}
	if m := x.units["ora x"]; m.unit != time.Hour || !slices.Equal(m.codes, []string{"0", "2"}) ||
		!x.starts['o'] || x.longest != 5 {
		t.Errorf("%+v", x)
	}
}

// TestUnitsOfLanguages: five of each unit of each language, as its pages write them, are that time.
func TestUnitsOfLanguages(t *testing.T) {
	for i := range languages {
		l := &languages[i]
		for unit, words := range map[string]string{"5ms": l.ms, "5s": l.second, "5m0s": l.minute,
			"5h0m0s": l.hour, "120h0m0s": l.day,
			"840h0m0s": l.week, "3600h0m0s": l.month, "43800h0m0s": l.year} {
			for _, w := range strings.Fields(words) {
				text := Folded("5 " + strings.TrimSuffix(w, "*"))
				list := TimesIn(text)
				if len(list) != 1 || list[0].Time.String() != unit || list[0].to != len(text) {
					t.Errorf("%s: %s is %v, and not %s", l.code, text, list, unit)
				}
			}
		}
	}
}
