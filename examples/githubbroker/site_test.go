package githubbroker_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/keywright/keywright"
	broker "github.com/keywright/keywright/examples/githubbroker"
	"github.com/keywright/keywright/examples/githubbroker/hub"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
)

var must, await, onBrands, everywhere = sitetest.Must, sitetest.Await, sitetest.OnBrands, sitetest.Everywhere

// ledgerVar names the records to the command of the agents, which is this test itself.
const ledgerVar = "BROKER_TEST_LEDGER"

func TestMain(m *testing.M) {
	if at := os.Getenv(ledgerVar); at != "" {
		os.Exit(work(at))
	}
	os.Exit(sitetest.Main(m, "./brokerd", "./hubd"))
}

// work returns the command of an agent: it sends its task to the records, with the fencing token.
func work(ledger string) int {
	r, err := http.Post(ledger+"?fence="+os.Getenv("BROKER_FENCE"), "application/json", os.Stdin)
	if err != nil || r.StatusCode != http.StatusOK {
		return 1
	}
	return 0
}

// server starts a server for a test that needs one of any brand.
func server(t *testing.T) *keywrighttest.Server {
	t.Helper()
	return keywrighttest.Start(t, keywrighttest.Redis)
}

func redis(t *testing.T) string { t.Helper(); return server(t).URL() }

func open(t *testing.T, url string, hooks ...keywright.Hook) *keywright.Client {
	return servertest.Open(t, url, keywright.Options{Wrap: sitetest.Guard(t, ".").Wrap, Attempts: 20, Hooks: hooks})
}

// protected starts a server with the users that are printed for the programs.
func protected(t *testing.T, brand keywrighttest.Brand) *keywrighttest.Server {
	t.Helper()
	return sitetest.Protected(t, brand, sitetest.Printed(t))
}

const (
	repo  = "team/code"
	token = "a-token-of-github"
)

// repository starts a repository as GitHub serves it, and gives the URL of its API.
func repository(t *testing.T) (*hub.Server, string) {
	t.Helper()
	h := hub.New(repo, token)
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	return h, web.URL
}

// reader returns a client of GitHub.
func reader(t *testing.T, url string) *broker.GitHub {
	t.Helper()
	g, err := broker.NewGitHub(repo, broker.GitHubOptions{Base: url, Token: token})
	must(t, err)
	return g
}

// ask sends a request to a broker, until one listens there, and gives the code.
func ask(t *testing.T, method, url string, body, into any) int {
	t.Helper()
	text, err := json.Marshal(body)
	must(t, err)
	code := 0
	await(t, "an answer of "+url, func() bool {
		r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(text))
		must(t, err)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		if code = answer.StatusCode; code == http.StatusOK && into != nil {
			must(t, json.NewDecoder(answer.Body).Decode(into))
		}
		return true
	})
	return code
}
