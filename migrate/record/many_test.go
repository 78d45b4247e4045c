package record_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/migrate/record"
)

// Thousands of records come into an array of thousands, each of them as one thing with its place in a
// sorted set, and the file has all of them, in their order. Each new record was once compared with each
// element: that took seconds.
func TestManyIntoMany(t *testing.T) {
	t.Parallel()
	m := declared.Map(t, `keywright: 1
keys:
  articles: {key: "a:{g}", type: hash, field: slug, value: json, ttl: none}
  order: {key: "a:{g}:order", type: zset, member: slug, score: unix_s, ttl: none}
migrations:
  files:
    sources: {s: {file: s.json}}
    parts:
      p:
        moves:
          - {from: "s:/{g}/[]", to: articles, field: .id, value: .}
          - {from: "s:/{g}/[]", to: order, member: .id, score: .at}
`)
	const had, more = 5000, 5000
	var in strings.Builder
	in.WriteString(`{"g1":[`)
	article := func(i int) string { return fmt.Sprintf(`{"id":"n%d","at":%d,"x":{"y":[1]}}`, i, 1795000000+i) }
	for i := range had {
		in.WriteString(article(i) + ",")
	}
	in.WriteString(article(had) + "]}")
	var edits []record.Edit
	articles, order := m.Move("p.articles"), m.Move("p.order")
	var want strings.Builder
	want.WriteString(strings.TrimSuffix(in.String(), "]}"))
	for i := had + 1; i <= had+more; i++ {
		id := fmt.Sprintf("n%d", i)
		edits = append(edits,
			record.Edit{Record: &record.Record{Move: articles, Key: "a:g1", Sub: id, Value: []byte(article(i))}},
			record.Edit{Record: &record.Record{Move: order, Key: "a:g1:order", Sub: id, Score: fmt.Sprint(1795000000 + i)}})
		want.WriteString("," + article(i))
	}
	want.WriteString("]}")
	var out strings.Builder
	done, err := articles.Source.Rewrite(io.Writer(&out), strings.NewReader(in.String()), "s.json", edits, nil,
		record.Options{})
	if err != nil || done.Added == 0 || strings.ReplaceAll(out.String(), " ", "") != want.String() {
		t.Errorf("%+v %v: %.200s … %d bytes, not %d", done, err, out.String(), out.Len(), want.Len())
	}
}
