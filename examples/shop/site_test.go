package shop_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/shop"
	"github.com/keywright/keywright/examples/shop/catalog"
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
func everywhere(t *testing.T, run func(t *testing.T, url string, servers []*keywrighttest.Server)) {
	t.Helper()
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		run(t, s.URL(), []*keywrighttest.Server{s})
	})
	for _, brand := range keywrighttest.Brands() {
		t.Run(string(brand)+" cluster", func(t *testing.T) {
			t.Parallel()
			c := keywrighttest.StartCluster(t, brand, 3, 0)
			run(t, c.URL(), c.Nodes)
		})
	}
}

// counted is a catalog that counts how often it is read.
type counted struct {
	*catalog.Memory
	asked atomic.Int64
}

func (c *counted) Product(ctx context.Context, id int64) (shop.Product, error) {
	c.asked.Add(1)
	return c.Memory.Product(ctx, id)
}

func (c *counted) Options(ctx context.Context, product int64) ([]shop.Option, error) {
	c.asked.Add(1)
	return c.Memory.Options(ctx, product)
}

func (c *counted) Option(ctx context.Context, product, option int64) (shop.Option, error) {
	c.asked.Add(1)
	return c.Memory.Option(ctx, product, option)
}

func (c *counted) Category(ctx context.Context, id int64) (shop.Category, error) {
	c.asked.Add(1)
	return c.Memory.Category(ctx, id)
}

// stocked is a catalog of twenty products with two options each: product 3 has 301 and 302.
func stocked() *counted {
	m := catalog.New()
	for id := int64(1); id <= 20; id++ {
		m.Add(shop.Product{ID: id, Name: fmt.Sprint("상품 ", id), Price: 100 * id}, shop.Category{ID: 12, Name: "clothes"},
			shop.Option{ID: 100*id + 1, Name: "red", Stock: 10_000}, shop.Option{ID: 100*id + 2, Name: "blue", Stock: 3})
	}
	m.AddCoupons(7, 20)
	return &counted{Memory: m}
}

// open is a client with a guard that refuses whatever is not declared.
func open(t *testing.T, url string) *keywright.Client {
	t.Helper()
	ks, findings := keyspace.Load(os.DirFS("."), "keyspace.yaml")
	if len(findings) > 0 {
		t.Fatal(findings[0].Message)
	}
	g, err := guard.New(ks, guard.Options{})
	must(t, err)
	c, err := keywright.Open(t.Context(), url, keywright.Options{Wrap: g.Wrap, Attempts: 30})
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

// built is the folder of programs, if they were built.
var built string

// programs are what the tests run: shopd, catalogd and keywright.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		return "", err
	}
	built = dir
	for _, c := range [][]string{{".", "shopd", "./shopd"}, {".", "catalogd", "./catalogd"}, {"../../cmd/keywright", "keywright", "."}} {
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

// withPasswords adds that of the tests and a password for each user to an ACL file.
func withPasswords(t *testing.T, users string) string {
	t.Helper()
	text := "user test on >" + word + " ~* &* +@all\n"
	for line := range strings.Lines(users) {
		if line = strings.TrimSpace(line); line != "user default off" {
			line += " >" + word
		}
		text += line + "\n"
	}
	file := filepath.Join(t.TempDir(), "users.acl")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// protected starts a server with the users that `keywright acl print` prints, and the default
// user off.
func protected(t *testing.T, brand keywrighttest.Brand, options ...keywrighttest.Option) *keywrighttest.Server {
	t.Helper()
	users := "user default off\n" + keywrightSays(t, "", "acl", "print", "--quiet")
	return keywrighttest.Start(t, brand, append(options, keywrighttest.Login("test", word), keywrighttest.Config("aclfile", withPasswords(t, users)))...)
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
	cmd, said := exec.Command(program(t, name), args...), &output{}
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), said, said
	must(t, cmd.Start())
	p := &process{cmd, said}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s %s said:\n%s", name, strings.Join(args, " "), said)
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

// ask sends a request once, and gives the code and the body; 0 if none answers.
func ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	must(t, err)
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
