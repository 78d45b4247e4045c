package construct

import (
	"strconv"
	"strings"

	"github.com/keywright/keywright/keyspace"
)

func (b *builder) rateLimit() {
	b.addMain(&keyspace.Key{})
	b.e.Method = keyspace.GCRA
	if p, ok := b.props["algorithm"]; ok {
		if word := b.d.Choice(p.Value, "algorithm", []string{string(keyspace.GCRA), string(keyspace.Sliding),
			string(keyspace.Fixed)}); word != "" {
			b.e.Method = keyspace.Method(word)
		}
	}
	p, ok := b.props["rate"]
	if !ok {
		return
	}
	text, _ := b.d.ScalarText(p.Value, "rate")
	words := strings.Fields(text)
	fail := func() {
		b.d.Report("KW307", b.d.At(p.Value), "as in 100 per 1m, or 100 per 1m burst 20", "%q is not a rate", text)
	}
	if len(words) != 3 && len(words) != 5 || words[1] != "per" || len(words) == 5 && words[3] != "burst" {
		fail()
		return
	}
	var err1, err2, err3 error
	b.e.Rate.Count, err1 = strconv.ParseInt(words[0], 10, 64)
	b.e.Rate.Per, err2 = keyspace.ParseDuration(words[2])
	if len(words) == 5 {
		b.e.Rate.Burst, err3 = strconv.ParseInt(words[4], 10, 64)
	}
	if err1 != nil || err2 != nil || err3 != nil || b.e.Rate.Count < 1 || b.e.Rate.Burst < 0 {
		fail()
	}
}
