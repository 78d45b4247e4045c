package plan

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace/scalar"
)

// moment describes when a key is of, by its name.
type moment struct {
	ends time.Time // of the day, hour … that the name tells; zero: it has an order and no time
	rank int64     // by which keys are older and newer
	text string    // and among those of one rank
}

func (m moment) compare(o moment) int {
	return cmp.Or(cmp.Compare(m.rank, o.rank), cmp.Compare(m.text, o.text))
}

// momentOf reads a placeholder.
func momentOf(t scalar.Type, text string) (m moment, ok bool) {
	m.text = text
	switch t.Kind {
	case scalar.Int:
		m.rank, ok = number(text)
		return m, ok
	case scalar.UnixS, scalar.UnixMS:
		m.rank, ok = number(text)
		if t.Kind == scalar.UnixS {
			m.rank *= 1000
		}
		m.ends = time.UnixMilli(m.rank)
		return m, ok
	case scalar.ULID:
		m.rank, ok = ulid(text)
		m.text = strings.ToUpper(text)
		m.ends = time.UnixMilli(m.rank)
		return m, ok
	case scalar.Timestamp:
		at, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text))
		m.ends, m.rank, m.text = at, at.UnixNano()/1000, ""
		return m, err == nil
	case scalar.Date:
		m.ends, m.rank, ok = date(t.Layout, text)
		return m, ok
	}
	return m, false
}

func number(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// ulid returns the time of a ULID, in Unix milliseconds: its first ten digits, of base 32.
func ulid(text string) (int64, bool) {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	if len(text) != 26 {
		return 0, false
	}
	ms := int64(0)
	for _, c := range strings.ToUpper(text[:10]) {
		at := strings.IndexRune(digits, c)
		if at < 0 {
			return 0, false
		}
		ms = ms<<5 | int64(at)
	}
	return ms, true
}

// layouts lists the parts of a date's layout as package time has them, the shortest
// period last.
var layouts = []struct {
	token, layout string
	next          func(time.Time) time.Time
}{
	{"YYYY", "2006", func(t time.Time) time.Time { return t.AddDate(1, 0, 0) }},
	{"MM", "01", func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }},
	{"DD", "02", func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }},
	{"HH", "15", func(t time.Time) time.Time { return t.Add(time.Hour) }},
	{"mm", "04", func(t time.Time) time.Time { return t.Add(time.Minute) }},
	{"ss", "05", func(t time.Time) time.Time { return t.Add(time.Second) }},
}

// date reads a date by its layout, in UTC: when its day, month … ends, and when it
// begins, for the order.
func date(layout, text string) (ends time.Time, rank int64, ok bool) {
	if len(layout) != len(text) {
		return ends, 0, false
	}
	value := map[string]int{"YYYY": 0, "MM": 1, "DD": 1}
	shortest := layouts[0].next
	for _, l := range layouts {
		at := strings.Index(layout, l.token)
		if at < 0 {
			continue
		}
		n, err := strconv.Atoi(text[at : at+len(l.token)])
		if err != nil {
			return ends, 0, false
		}
		value[l.token], shortest = n, l.next
	}
	begins := time.Date(value["YYYY"], time.Month(value["MM"]), value["DD"], value["HH"], value["mm"], value["ss"], 0,
		time.UTC)
	return shortest(begins), begins.UnixMilli(), true
}

// written finds dates and timestamps in the name of a key that no entry declares.
var written = regexp.MustCompile(`\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2}))?`)

// momentIn returns the only date or timestamp in a text. Digits around it make it another
// number.
func momentIn(name string) (m moment, ok bool) {
	found := written.FindAllStringIndex(name, 2)
	if len(found) != 1 {
		return m, false
	}
	from, to := found[0][0], found[0][1]
	isDigit := func(i int) bool { return i >= 0 && i < len(name) && name[i] >= '0' && name[i] <= '9' }
	if isDigit(from-1) || isDigit(to) {
		return m, false
	}
	text := name[from:to]
	if len(text) == len(scalar.DefaultLayout) {
		at, err := time.Parse(time.DateOnly, text)
		return moment{at.AddDate(0, 0, 1), at.UnixMilli(), ""}, err == nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	return moment{at, at.UnixMilli(), ""}, err == nil
}
