package local_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/local"
)

// ask sends a request, and gives the answer; the code is 0 if there is none.
func ask(t *testing.T, method, url, login, body string, header ...string) (code int, said string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", login)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// want demands the codes of some requests, in their order.
func want(t *testing.T, what string, got, want []int) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, not %v", what, got, want)
	}
}

// TestDiscord: messages, nonces and pages are as Discord's documentation says.
func TestDiscord(t *testing.T) {
	d := &local.Discord{Token: "t"}
	at := serve(t, d) + "/channels/7/messages"
	post := func(nonce string) string {
		_, said := ask(t, "POST", at, "Bot t", fmt.Sprintf(
			`{"nonce":%q,"enforce_nonce":true,"content":"see [it](https://news.example/1)"}`, nonce))
		return said
	}
	first := post("a")
	if again := post("a"); again != first || d.Stopped() != 1 || len(d.Messages()) != 1 {
		t.Errorf("a nonce that was there: %s, then %s", first, again)
	}
	post("b")
	if n := d.Links()["7 https://news.example/1"]; n != 2 {
		t.Errorf("the link was posted %d times", n)
	}
	page := func(query string) (ids []string) {
		_, said := ask(t, "GET", at+query, "Bot t", "")
		var list []struct{ ID string }
		if err := json.Unmarshal([]byte(said), &list); err != nil {
			t.Fatalf("%s: %v", said, err)
		}
		for _, m := range list {
			ids = append(ids, m.ID)
		}
		return ids
	}
	a, b := d.Messages()[0].ID, d.Messages()[1].ID
	for query, want := range map[string][]string{"?limit=100": {b, a}, "?limit=1&after=0": {a},
		"?limit=100&after=" + a: {b}, "?limit=100&after=" + b: nil} {
		if got := page(query); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, not %v", query, got, want)
		}
	}
	var codes []int
	for _, body := range []string{`{"content":""}`, `{`, `{"nonce":"` + strings.Repeat("x", 26) + `","content":"x"}`,
		`{"embeds":[{"description":"` + strings.Repeat("x", 4097) + `"}]}`,
		`{"embeds":[{"title":"` + strings.Repeat("x", 257) + `","description":"x"}]}`, `{"content":"x"}`} {
		code, _ := ask(t, "POST", at, "Bot t", body)
		codes = append(codes, code)
	}
	for _, login := range []string{"", "t", "Bot u"} {
		code, _ := ask(t, "POST", at, login, `{"content":"x"}`)
		codes = append(codes, code)
	}
	for _, query := range []string{"", "?limit=0", "?limit=101"} {
		code, _ := ask(t, "GET", at+query, "Bot t", "")
		codes = append(codes, code)
	}
	want(t, "what is refused", codes, []int{400, 400, 400, 400, 400, 200, 401, 401, 401, 400, 400, 400})
}

// TestDiscordForgets: a nonce is remembered for its time, and for none if that is negative.
func TestDiscordForgets(t *testing.T) {
	d := &local.Discord{Token: "t", Nonces: -1}
	at := serve(t, d) + "/channels/7/messages"
	for range 2 {
		ask(t, "POST", at, "Bot t", `{"nonce":"a","enforce_nonce":true,"content":"x"}`)
	}
	if len(d.Messages()) != 2 || d.Stopped() != 0 {
		t.Errorf("%d messages, %d were stopped", len(d.Messages()), d.Stopped())
	}
}

// TestDiscordInTrouble: of each so many requests one is refused, one fails, and one is done without a
// reply.
func TestDiscordInTrouble(t *testing.T) {
	for name, c := range map[string]struct {
		is       *local.Discord
		code     int
		messages int
	}{
		"a limit":      {&local.Discord{Token: "t", Limit: 2}, 429, 1},
		"a failure":    {&local.Discord{Token: "t", Fail: 2}, 502, 1},
		"a lost reply": {&local.Discord{Token: "t", Lose: 2}, 0, 2},
	} {
		at := serve(t, c.is) + "/channels/7/messages"
		var codes []int
		for range 2 {
			code, _ := ask(t, "POST", at, "Bot t", `{"content":"x"}`)
			codes = append(codes, code)
		}
		want(t, name, codes, []int{200, c.code})
		if n := len(c.is.Messages()); n != c.messages {
			t.Errorf("%s: %d messages", name, n)
		}
	}
	d := &local.Discord{Token: "t"}
	at := serve(t, d) + "/users/@me"
	d.Down(true)
	down, _ := ask(t, "GET", at, "Bot t", "")
	d.Down(false)
	up, _ := ask(t, "GET", at, "Bot t", "")
	want(t, "down, and up again", []int{down, up}, []int{0, 200})
}

// TestModel: it answers what it is asked, knows its key, and limits its clients.
func TestModel(t *testing.T) {
	at := serve(t, &local.Model{Key: "k", Limit: 6}) + "/v1/chat/completions"
	say := func(system, prompt string) string {
		body, _ := json.Marshal(map[string]any{"model": "m", "messages": []map[string]string{
			{"role": "system", "content": system}, {"role": "user", "content": prompt}}})
		_, said := ask(t, "POST", at, "Bearer k", string(body))
		return said
	}
	for _, c := range [][3]string{{"Is it breaking news?", "urgent", "Yes."}, {"Is it breaking news?", "x", "No."},
		{"A trivia question", "x", "Two and two?"}, {"", "a\nb", `"In short: a"`}} {
		if said := say(c[0], c[1]); !strings.Contains(said, c[2]) {
			t.Errorf("%q: %s", c, said)
		}
	}
	wrong, _ := ask(t, "POST", at, "Bearer x", "{}")
	limited, _ := ask(t, "POST", at, "Bearer k", "{}")
	empty, _ := ask(t, "POST", at, "Bearer k", "{}")
	want(t, "refused", []int{wrong, limited, empty}, []int{401, 429, 400})
}

// TestNews: a feed is RSS and Atom, the newest first, and is not sent again to a reader that has it.
func TestNews(t *testing.T) {
	n := &local.News{}
	at := serve(t, n)
	for i := range 2 {
		n.Publish("x", local.NewsItem{Title: fmt.Sprint("<", i), URL: fmt.Sprint("https://news.example/", i),
			At: time.Unix(1e9, 0)})
	}
	for kind, tag := range map[string]string{"rss": "<rss ", "atom": "<feed "} {
		code, said := ask(t, "GET", at+"/x."+kind, "", "")
		if code != 200 || !strings.Contains(said, tag) || strings.Index(said, "&lt;1") > strings.Index(said, "&lt;0") {
			t.Errorf("%s: %d %s", kind, code, said)
		}
	}
	same, _ := ask(t, "GET", at+"/x.rss", "", "", "If-None-Match", `"x-2"`)
	n.Publish("x", local.NewsItem{Title: "new", URL: "https://news.example/new"})
	other, _ := ask(t, "GET", at+"/x.rss", "", "", "If-None-Match", `"x-2"`)
	none, _ := ask(t, "GET", at+"/x", "", "")
	want(t, "the feed", []int{same, other, none}, []int{304, 200, 404})
	if reads, unchanged := n.Reads(); reads != 5 || unchanged != 1 {
		t.Errorf("%d reads, %d of what had not changed", reads, unchanged)
	}
}
