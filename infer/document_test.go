package infer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/infer/page"
)

// Every page gives a draft that loads, and has all that was found on it.
func TestFromPage(t *testing.T) {
	pages, err := filepath.Glob("page/testdata/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, path := range pages {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d := infer.FromPage(text, infer.Options{})
		loaded(t, d.YAML())
		if want := len(page.Read(text).Keys); len(d.Entries) != want || len(d.Left) > 0 {
			t.Errorf("%s: %d entries of %d keys\n%s", path, len(d.Entries), want, d.YAML())
		}
	}
}

// TestLengthsOfStreams: the command or the call that adds to a stream tells how long it may get.
func TestLengthsOfStreams(t *testing.T) {
	for text, want := range map[string]string{
		"```\n> XADD events:orders MAXLEN ~ 500 * order_id 17\n```":          "maxlen: 500\n",
		"```\n> XADD events:orders NOMKSTREAM MAXLEN 700 * order_id 17\n```": "maxlen: 700\n",
		"```\n> XTRIM events:orders MAXLEN 600\n```":                         "maxlen: 600\n",
		"```\n> XADD events:orders * maxlen 17\n```":                         "maxlen: 10000\n",
		"```py\nr.xadd('events:orders', {'id': 1}, maxlen=800)\n```":         "maxlen: 800\n",
		"- `events:mail` (stream), maxlen 300, TTL 3 days":                   "maxlen: 300\n",
	} {
		draft := string(infer.FromPage([]byte(text), infer.Options{}).YAML())
		if !strings.Contains(draft, want) || strings.Contains(draft, "guess: maxlen") != (want == "maxlen: 10000\n") {
			t.Errorf("%s:\n%s", text, draft)
		}
	}
}
