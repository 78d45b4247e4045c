package sitetest

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Block returns the console block of a README.md after a mark, line by line.
func Block(t testing.TB, file, mark string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	Must(t, err)
	_, rest, found := strings.Cut(string(text), "<!-- not run: "+mark)
	_, rest, console := strings.Cut(rest, "```console\n")
	if !found || !console {
		t.Fatalf("%s has no block of %s", file, mark)
	}
	part, _, _ := strings.Cut(rest, "```")
	return strings.Split(strings.TrimSpace(part), "\n")
}

// Exchange represents a request of a README and the answer that it shows.
type Exchange struct {
	Line, Method, URL, Body string
	Header                  http.Header
	Want                    string // … is what differs each time
}

// Exchanges reads the requests of a block: each is a curl, and the answer is the lines after
// it. There are at least so many.
func Exchanges(t testing.TB, block []string, least int) (all []*Exchange) {
	t.Helper()
	for _, line := range block {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, request(t, command))
		} else if last := all[len(all)-1]; last.Want == "" {
			last.Want = line
		} else {
			last.Want += "\n" + line
		}
	}
	if len(all) < least {
		t.Fatalf("README.md has %d requests", len(all))
	}
	return all
}

// request reads the words of a curl.
func request(t testing.TB, command string) *Exchange {
	t.Helper()
	e := &Exchange{Line: command, Header: http.Header{}}
	w := words(command)
	if len(w) < 2 || w[0] != "curl" {
		t.Fatalf("README.md runs %s", command)
	}
	for w = w[1:]; len(w) > 0; w = w[1:] {
		switch option := w[0]; {
		case option == "-N", option == "-s":
		case strings.HasPrefix(option, "-") && len(w) > 1:
			e.option(t, option, w[1])
			w = w[1:]
		default:
			e.URL = "http://" + option
		}
	}
	if e.Method == "" {
		e.Method = map[bool]string{true: "GET", false: "POST"}[e.Body == ""]
	}
	return e
}

func (e *Exchange) option(t testing.TB, option, value string) {
	t.Helper()
	switch option {
	case "-X":
		e.Method = value
	case "-d":
		e.Body = value
	case "-H":
		name, text, _ := strings.Cut(value, ": ")
		e.Header.Set(name, text)
	default:
		t.Fatalf("README.md has a curl with %s", option)
	}
}

// words returns those of a shell, with single quotes.
func words(command string) (out []string) {
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// Play sends the requests of a README in their order, and demands the answers that it shows.
// moved gives the addresses of this machine. A word of names in a request is what its pattern
// found in the last answer that has it. With patience a GET is sent until its answer comes.
func Play(t *testing.T, all []*Exchange, moved *strings.Replacer, names map[string]*regexp.Regexp, patience bool) {
	t.Helper()
	found := map[string]string{}
	for _, e := range all {
		fill := func(text string) string {
			for name, value := range found {
				text = strings.ReplaceAll(text, name, value)
			}
			return text
		}
		said := ""
		send := func() bool {
			header := e.Header.Clone()
			for name := range header {
				header.Set(name, fill(header.Get(name)))
			}
			_, said = Ask(t, e.Method, moved.Replace(fill(e.URL)), fill(e.Body), header)
			return e.shows(said)
		}
		if patience && e.Method == "GET" {
			Await(t, e.Line+" says what README.md says, "+e.Want, send)
		} else if !send() {
			t.Fatalf("%s says\n%s\nREADME.md says\n%s", e.Line, said, e.Want)
		}
		for name, pattern := range names {
			if m := pattern.FindStringSubmatch(said); m != nil {
				found[name] = m[1]
			}
		}
	}
}

// shows reports whether an answer is the one that the README shows.
func (e *Exchange) shows(said string) bool {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(e.Want), "…", ".*") + "$").MatchString(said)
}

// Ask sends a request once, and gives the code and the body; 0 if none answers.
func Ask(t testing.TB, method, url, body string, header http.Header) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	Must(t, err)
	if header != nil {
		r.Header = header
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, ""
	}
	return answer.StatusCode, strings.TrimSpace(string(text))
}
