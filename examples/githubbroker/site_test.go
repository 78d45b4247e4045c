package githubbroker_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright"
	broker "github.com/keywright/keywright/examples/githubbroker"
	"github.com/keywright/keywright/examples/githubbroker/hub"
	"github.com/keywright/keywright/guard"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keywrighttest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// await waits for a condition that must come to hold.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("after two minutes: %s", what)
		case <-tick.C:
		}
	}
}

// onBrands runs a test on a server of each brand.
func onBrands(t *testing.T, run func(t *testing.T, brand keywrighttest.Brand)) {
	t.Helper()
	for _, brand := range keywrighttest.Brands() {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			run(t, brand)
		})
	}
}

// everywhere runs a test on a server and on a cluster of each brand.
func everywhere(t *testing.T, run func(t *testing.T, url string)) {
	t.Helper()
	for _, brand := range keywrighttest.Brands() {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			run(t, keywrighttest.Start(t, brand).URL())
		})
		t.Run(string(brand)+" cluster", func(t *testing.T) {
			t.Parallel()
			run(t, keywrighttest.StartCluster(t, brand, 3, 0).URL())
		})
	}
}

// server starts a server for a test that needs one of any brand.
func server(t *testing.T) *keywrighttest.Server {
	t.Helper()
	return keywrighttest.Start(t, keywrighttest.Brands()[0])
}

func redis(t *testing.T) string { t.Helper(); return server(t).URL() }

// open is a client with a guard that refuses whatever is not declared.
func open(t *testing.T, url string, hooks ...keywright.Hook) *keywright.Client {
	t.Helper()
	ks, findings := keyspace.Load(os.DirFS("."), "keyspace.yaml")
	if len(findings) > 0 {
		t.Fatal(findings[0].Message)
	}
	g, err := guard.New(ks, guard.Options{})
	must(t, err)
	c, err := keywright.Open(t.Context(), url, keywright.Options{Wrap: g.Wrap, Attempts: 20, Hooks: hooks})
	must(t, err)
	t.Cleanup(c.Close)
	return c
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

// reader is a client of GitHub.
func reader(t *testing.T, url string) *broker.GitHub {
	t.Helper()
	g, err := broker.NewGitHub(repo, broker.GitHubOptions{Base: url, Token: token})
	must(t, err)
	return g
}

var built string // where programs are, once a test has asked for them

// programs are what the tests run: brokerd, hubd and keywright.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "broker")
	if err != nil {
		return "", err
	}
	built = dir
	for _, c := range [][]string{{".", "brokerd", "./brokerd"}, {".", "hubd", "./hubd"}, {"../../cmd/keywright", "keywright", "."}} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, c[1]), c[2])
		cmd.Dir, cmd.Env = c[0], append(os.Environ(), "GOWORK=off")
		if c[0] != "." { // keywright is in the workspace
			cmd.Env = append(os.Environ(), "GOWORK=")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("%s: %w\n%s", c[1], err, out)
		}
	}
	return dir, nil
})

func program(t *testing.T, name string) string {
	t.Helper()
	dir, err := programs()
	must(t, err)
	return filepath.Join(dir, name)
}

// ledgerVar names the ledger to the command of the agents, which is this test itself.
const ledgerVar = "BROKER_TEST_LEDGER"

func TestMain(m *testing.M) {
	if at := os.Getenv(ledgerVar); at != "" {
		os.Exit(work(at))
	}
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// work is the command of an agent: it sends its task to the ledger, with the fencing token.
func work(ledger string) int {
	r, err := http.Post(ledger+"?fence="+os.Getenv("BROKER_FENCE"), "application/json", os.Stdin)
	if err != nil || r.StatusCode != http.StatusOK {
		return 1
	}
	return 0
}

// word is the password of all users.
const word = "word"

// printed are the users that `keywright acl print` prints for the programs, which the
// declaration names, with passwords, after a default user that is off and that of the tests.
func printed(t *testing.T) string {
	t.Helper()
	users := "user default off\nuser test on >" + word + " ~* &* +@all\n"
	for line := range strings.Lines(keywrightSays(t, "", "acl", "print", "--quiet")) {
		users += strings.TrimSpace(line) + " >" + word + "\n"
	}
	return users
}

// protected starts a server with these users.
func protected(t *testing.T, brand keywrighttest.Brand) *keywrighttest.Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "users.acl")
	must(t, os.WriteFile(file, []byte(printed(t)), 0o600))
	return keywrighttest.Start(t, brand, keywrighttest.Login("test", word), keywrighttest.Config("aclfile", file))
}

// urlOf is that of a user of a protected server.
func urlOf(s *keywrighttest.Server, user string) string {
	return fmt.Sprintf("redis://%s:%s@%s", user, word, s.Addr())
}

// keywrightSays runs keywright on a server and gives its output.
func keywrightSays(t *testing.T, url string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program(t, "keywright"), args...)
	cmd.Env = append(os.Environ(), "KEYWRIGHT_URL="+url)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("keywright %s: %v\n%s%s", strings.Join(args, " "), err, out, said.String())
	}
	return string(out)
}

// output is what a program has said, read while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// process is one of the programs.
type process struct {
	*exec.Cmd
	said *output
}

// start runs a program, with more variables.
func start(t *testing.T, env []string, name string, args ...string) *process {
	t.Helper()
	cmd, said := exec.Command(name, args...), &output{}
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), said, said
	must(t, cmd.Start())
	p := &process{cmd, said}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", strings.Join(args, " "), said)
		}
	})
	return p
}

func (p *process) kill() {
	if p.ProcessState == nil {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
}

// stop asks a program to stop, as systemd does, and gives the error of its end.
func (p *process) stop() error {
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return p.Wait()
}

// address gives one that is free.
func address(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())
	return l.Addr().String()
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
			must(t, errors.Join(json.NewDecoder(answer.Body).Decode(into)))
		}
		return true
	})
	return code
}
