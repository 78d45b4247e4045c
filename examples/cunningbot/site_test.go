package cunningbot_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright"
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

var built string // where programs are, once a test has asked for them

// programs are what the tests run: cunningbotd, locald and keywright.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "cunningbot")
	if err != nil {
		return "", err
	}
	built = dir
	for _, c := range [][]string{{".", "cunningbotd", "./cunningbotd"}, {".", "locald", "./locald"}, {"../../cmd/keywright", "keywright", "."}} {
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

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// word is the password of all users.
const word = "word"

// printed are the users that `keywright acl print` prints for the programs, which the
// declaration names, with passwords, after a default user that is off and that of the tests.
func printed(t *testing.T) string {
	t.Helper()
	users := "user default off\nuser test on >" + word + " ~* &* +@all\n"
	for line := range strings.Lines(deployedUsers(t)) {
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

// healthUser asks how the server is, for the health endpoint.
const healthUser = "user health on resetkeys resetchannels -@all +auth +client|getname +client|id +client|setname +cluster|slots +hello +info +ping +quit +role +time"

// deployedUsers are those of the programs, that of their backups, and that of their health.
func deployedUsers(t *testing.T) string {
	t.Helper()
	return keywrightSays(t, "", "acl", "print", "--quiet") + keywrightSays(t, "", "acl", "print", "--self", "--backup", "--user", "archive", "--quiet") + healthUser + "\n"
}
