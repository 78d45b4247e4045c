package content_test

import (
	"iter"
	"testing"

	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/internal/expect"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
)

var must = expect.NoError

// Index records are written with the new names of index keys. A record of a newer form, or a damaged
// one, is refused once with the reason, whatever part of it is wrong, and nothing is left.
func TestIndexRecordsGetNewNames(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	old := indexrecord.Place{Index: "k", Prefix: "a:k:", Value: "1"}
	now := old
	now.Prefix = "b:k:"
	how := &plan.Content{Places: map[plan.IndexPlace]plan.IndexPlace{
		{Index: "k", Prefix: "a:k:"}: {Index: "k", Prefix: "b:k:"}}}
	good, newer := string(indexrecord.Encode(old)), "+x"
	for what, c := range map[string]struct {
		parts [][]string
		want  string
	}{
		"good":           {[][]string{{"1", good}, {"2", good}}, string(indexrecord.Encode(now))},
		"the first part": {[][]string{{"1", newer}, {"2", good}}, ""},
		"the last part":  {[][]string{{"1", good}, {"2", newer}}, ""},
		"the only part":  {[][]string{{"1", newer}}, ""},
		"a cut entry":    {[][]string{{"1", good[:5]}}, ""},
	} {
		records := iter.Seq2[*archive.Record, error](func(yield func(*archive.Record, error) bool) {
			for i, part := range c.parts {
				r := archive.Record{Entry: archive.Undeclared, Key: []byte("l"), Kind: source.Hash, Form: archive.Elements, Part: i,
					More: i+1 < len(c.parts)}
				for _, e := range part {
					r.Payload = archive.AppendText(r.Payload, []byte(e))
				}
				if !yield(&r, nil) {
					return
				}
			}
		})
		report, err := restore.Restore(t.Context(), applytest.Open(t, s.URL()), records,
			restore.Options{Existing: restore.Replace,
				Place: func(rec *archive.Record) (restore.Place, error) {
					return restore.Place{Key: []byte("b:" + string(rec.Key)), Content: how}, nil
				}})
		must(t, err)
		got, _ := s.Do("HGET", "b:l", "1").(string)
		if report.Keys != 1 || report.Restored+report.Refused != 1 || got != c.want ||
			len(report.Reasons) != int(report.Refused) {
			t.Errorf("%s: %+v, %q", what, report, got)
		}
		s.Do("DEL", "b:l")
		if n := s.Do("DBSIZE"); n != int64(0) {
			t.Errorf("%s: %v keys are left", what, n)
		}
	}
}
