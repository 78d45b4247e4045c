package program

import (
	"strings"
	"time"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/regex"
	"github.com/keywright/keywright/infer/page/internal/wording"
)

// A record is a part of a program that tells of one key: { pattern: 'a:{b}', ttl: 60 }.
var (
	memberKey = regex.Lazy("(?i)(?:^|[{\\[(,\\s])[\"']?(?:pattern|key|prefix|template|format|key_?pattern)[\"']?" +
		"\\s*(?:=>|:|=)\\s*(?:\\([^()]*\\)\\s*=>\\s*)?[\"'`]")
	memberTTL  = regex.Lazy(`(?i)["']?\b(\w*ttl\w*|expir\w*|lifetime\w*|max_?age\w*)["']?\s*(?:=>|:|=)\s*(.*)$`)
	memberType = regex.Lazy(`(?i)["']?\b(?:data_?|redis_?)?(?:type|structure|kind)["']?\s*(?:=>|:|=)\s*["']?([\w -]+)`)
	neverValue = regex.Lazy(`(?i)^["']?(?:null|nil|none|undefined|false|infinity|never|-1|0)\b`)
	textValue  = regex.Lazy("^[\"'`]([^\"'`]*)[\"'`]")
)

// maxRecord says how many lines a record has above and below its key.
const maxRecord = 8

// record returns the lines of the record that a line is in, that line first.
func record(lines []string, i int) []string {
	at := memberKey.FindStringIndex(lines[i])
	if at == nil {
		return nil
	}
	if open := strings.LastIndexAny(lines[i][:at[1]], "{[("); open >= 0 { // all of it in one line
		text := lines[i][open+1:]
		within := withinCall(text)
		out := []string{within}
		if rest := text[len(within):]; strings.Contains(rest, "//") || strings.Contains(rest, "#") {
			out[0] += rest[strings.IndexAny(rest, "/#"):]
		}
		return strings.SplitAfter(out[0], ",")
	}
	out := []string{lines[i]}
	for _, step := range []int{-1, 1} {
		for j := i + step; j >= 0 && j < len(lines) && (j-i)*step <= maxRecord; j += step {
			if l := lines[j]; strings.TrimSpace(l) == "" || Depth(l) != Depth(lines[i]) || memberKey.MatchString(l) {
				break
			}
			out = append(out, lines[j])
		}
	}
	return out
}

// members reads what a record tells of the key in a line of it.
func (c *Reader) members(b markdown.Block, i, before int) {
	if len(c.Found) != before+1 {
		return
	}
	one := &c.Found[before]
	for _, l := range record(b.Code, i) {
		if m := memberTTL.FindStringSubmatch(l); m != nil {
			if ttl := c.memberTime(m[1], m[2], b.Lang); ttl != "" {
				one.TTL = ttl
			}
		}
		if m := memberType.FindStringSubmatch(l); m != nil && wording.TypeIn(m[1]) != "" && len(strings.Fields(m[1])) < 3 {
			one.Type = wording.TypeIn(m[1])
		}
	}
}

// memberTime returns the time that a member has: a number of seconds, if neither its name nor a
// comment says another unit.
func (c *Reader) memberTime(name, value, lang string) string {
	value = strings.TrimSpace(value)
	if m := textValue.FindStringSubmatch(value); m != nil {
		return wording.TTLIn(m[1], true, wording.Scale(time.Second))
	} else if neverValue.MatchString(value) {
		return "none"
	} else if t := wording.UnitTime(value); t != "" {
		return t
	}
	if t := timeOf(name, c.withNumbers(value), lang, ""); t != "" {
		return t
	}
	m := factors.FindStringSubmatch(strings.TrimRight(c.withNumbers(value), " ,})]"))
	if m == nil || strings.Contains(value, "//") || strings.Contains(value, "#") {
		return ""
	}
	if _, named := unitOf(name); named {
		return ""
	}
	return wording.Seconds(m[1], 1)
}
