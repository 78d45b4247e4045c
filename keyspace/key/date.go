package key

import (
	"strconv"
	"strings"
	"time"
)

// Date appends and reads times in a layout of YYYY, MM, DD, HH, mm and ss. A
// time is written as its own location has it: choose the location before you
// build a key of a day.
type Date struct {
	layout string
	parts  []datePart
	size   int
}

// datePart represents a token of a layout, or a literal byte.
type datePart struct {
	token   byte // 'Y', 'M', 'D', 'H', 'm', 's', or 0
	width   int
	literal byte
}

var dateTokens = []struct {
	text  string
	token byte
}{{"YYYY", 'Y'}, {"MM", 'M'}, {"DD", 'D'}, {"HH", 'H'}, {"mm", 'm'}, {"ss", 's'}}

// NewDate makes a Date of a layout that the declaration's loader has accepted.
func NewDate(layout string) *Date {
	d := &Date{layout: layout, size: len(layout)}
next:
	for rest := layout; rest != ""; {
		for _, t := range dateTokens {
			if strings.HasPrefix(rest, t.text) {
				d.parts = append(d.parts, datePart{token: t.token, width: len(t.text)})
				rest = rest[len(t.text):]
				continue next
			}
		}
		d.parts = append(d.parts, datePart{literal: rest[0], width: 1})
		rest = rest[1:]
	}
	return d
}

// Check says why t cannot be written in the layout. The zero time.Time is a time
// that was never set, and not the first day of the year 1.
func (d *Date) Check(t time.Time) (reason string) {
	if t.IsZero() {
		return "is the zero time, which was never set"
	}
	if y := t.Year(); y < 0 || y > 9999 {
		return "has the year " + strconv.Itoa(y) + ", which four digits cannot say"
	}
	return ""
}

// Append appends t.
func (d *Date) Append(b []byte, t time.Time) []byte {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	for _, p := range d.parts {
		switch p.token {
		case 'Y':
			b = append(b, byte('0'+year/1000), byte('0'+year/100%10))
			b = two(b, year%100)
		case 'M':
			b = two(b, int(month))
		case 'D':
			b = two(b, day)
		case 'H':
			b = two(b, hour)
		case 'm':
			b = two(b, minute)
		case 's':
			b = two(b, second)
		default:
			b = append(b, p.literal)
		}
	}
	return b
}

func two(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

// Format returns t in the layout.
func (d *Date) Format(t time.Time) string { return string(d.Append(make([]byte, 0, d.size), t)) }

// Parse reads a time, in UTC. Parts that the layout lacks are those of
// 1 January of year 0 (a leap year), midnight.
func (d *Date) Parse(s string) (t time.Time, ok bool) {
	if len(s) != d.size {
		return t, false
	}
	year, month, day, hour, minute, second := 0, 1, 1, 0, 0, 0
	for _, p := range d.parts {
		text := s[:p.width]
		s = s[p.width:]
		if p.token == 0 {
			if text[0] != p.literal {
				return t, false
			}
			continue
		}
		n := 0
		for i := range len(text) {
			if text[i] < '0' || text[i] > '9' {
				return t, false
			}
			n = n*10 + int(text[i]-'0')
		}
		switch p.token {
		case 'Y':
			year = n
		case 'M':
			month = n
		case 'D':
			day = n
		case 'H':
			hour = n
		case 'm':
			minute = n
		case 's':
			second = n
		}
	}
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 59 {
		return t, false
	}
	t = time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	return t, t.Day() == day // 30 February would be in March
}
