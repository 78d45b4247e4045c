package construct

import (
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// ranking is a zset. With `cached`, the sum over several of its periods is a key
// of its own, without the period.
func (b *builder) ranking() {
	b.plainCollection()
	b.ties()
	b.periods()
	b.e.Cached = b.d.Duration(b.props, "cached")
	if b.e.Cached == 0 {
		if p, ok := b.props["window"]; ok {
			b.d.Report("KW006", b.d.At(p.Value), "add cached: 5m", "%s names its windows, but does not keep them", b.e.Name)
		}
		return
	}
	base := b.without(func(p pattern.Placeholder) bool { return p.Type.Kind == scalar.Date })
	main := b.e.Keys[0]
	b.addRole(&keyspace.Key{Role: "window", Kind: keyspace.ZSet, TTL: scope.AtMost(b.e.Cached), Member: main.Member,
		Score: &scalar.Type{Kind: scalar.Float}, Doc: "The sum of " + b.e.Name + " over several periods."}, base,
		"window:{window}")
}

// periods reports a date with minutes: the periods of a ranking are as long as the smallest thing that the layout of
// its date names, which is an hour, a day, a month or a year.
func (b *builder) periods() {
	for _, p := range b.main.Placeholders() {
		if p.Type.Kind == scalar.Date && (strings.Contains(p.Type.Layout, "mm") || strings.Contains(p.Type.Layout, "ss")) {
			b.d.Report("KW304", b.d.At(b.props["key"].Value), "a layout that ends with HH, DD, MM or YYYY",
				"the periods of %s are hours, days, months or years, and the date {%s} has shorter ones: %s", b.e.Name, p.Name,
				p.Type.Layout)
		}
	}
}

// ties reads the rule for equal scores. Who was first is kept in the fraction of
// the score, so that must be a whole number to those who read it.
func (b *builder) ties() {
	b.e.Ties = keyspace.ByMember
	p, ok := b.props["ties"]
	if !ok {
		return
	}
	if word := b.d.Choice(p.Value, "ties", []string{string(keyspace.ByMember),
		string(keyspace.FirstToReach)}); word != "" {
		b.e.Ties = keyspace.Ties(word)
	}
	main := b.e.Keys[0]
	if b.e.Ties != keyspace.FirstToReach {
		return
	}
	if main.Score == nil || main.Score.Kind != scalar.Int {
		b.d.Report("KW304", b.d.At(p.Value), "score: int", "%s orders ties by who was first, which needs whole scores",
			b.e.Name)
	}
	main.Score = &scalar.Type{Kind: scalar.Float} // as it is stored
}
