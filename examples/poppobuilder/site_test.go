package poppobuilder_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/internal/sitetest"
	poppo "github.com/keywright/keywright/examples/poppobuilder"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
)

var must, await, onBrands = sitetest.Must, sitetest.Await, sitetest.OnBrands

// worker makes the agents' program of its TypeScript, once.
var worker = sync.OnceValue(func() error {
	cmd := exec.Command("node", "node_modules/typescript/bin/tsc")
	cmd.Dir = "worker"
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("tsc: %w\n%s(scripts/install-test-deps.sh installs what tests need)", err, out)
	}
	return nil
})

func TestMain(m *testing.M) { os.Exit(sitetest.Main(m, "./poppobuilderd")) }

// printed returns the users that `keywright acl print` prints for the namespaces, after a default
// user that is off.
func printed(t *testing.T, namespaces ...string) string {
	t.Helper()
	users := sitetest.Off
	for _, ns := range namespaces {
		for _, args := range toolUsers(ns) {
			users += sitetest.Keywright(t, "", append([]string{"acl", "print", "--quiet", "--namespace", ns}, args...)...)
		}
	}
	return users + sitetest.Operator(t)
}

// protected starts a server with these users. What is written is on the disk at once.
func protected(t *testing.T, brand keywrighttest.Brand, namespaces ...string) *keywrighttest.Server {
	t.Helper()
	return sitetest.Protected(t, brand, printed(t, namespaces...), keywrighttest.Config("appendonly", "yes"),
		keywrighttest.Config("appendfsync", "always"))
}

// toolUsers returns the arguments of acl print for the users of a namespace: the programs
// that the declaration names, and the two that back up and clean up.
func toolUsers(ns string) [][]string {
	return [][]string{{}, {"--self", "--backup", "--user", ns + "-backup"},
		{"--self", "--change", "--user", ns + "-cleanup"}}
}

// admin returns the URL of the tests' own user of a protected server.
func admin(s *keywrighttest.Server) string { return sitetest.URL(s, "test") }

// site describes what runs in one namespace.
type site struct {
	t         *testing.T
	server    *keywrighttest.Server
	namespace string
	d         *poppo.Daemon // of the test: it works on nothing
	http      string
	backups   string
	running   map[string]*exec.Cmd
	said      map[string]*sitetest.Output
}

func open(t *testing.T, s *keywrighttest.Server, namespace string) *site {
	t.Helper()
	c := servertest.Open(t, admin(s), keywright.Options{Attempts: 16})
	d, err := poppo.New(c, poppo.Options{Name: "test", Namespace: namespace, Lease: 2 * time.Second})
	must(t, err)
	at := &site{t, s, namespace, d, keywrighttest.Address(t), t.TempDir(), map[string]*exec.Cmd{},
		map[string]*sitetest.Output{}}
	t.Cleanup(func() {
		for name := range at.running {
			at.signal(name, syscall.SIGCONT)
			at.kill(name)
		}
	})
	return at
}

// url returns that of a program: poppo, agent, mirin, or a tool.
func (at *site) url(program string) string {
	user := program
	switch {
	case program == "backup" || program == "cleanup":
		user = at.namespace + "-" + program
	case at.namespace != "poppo":
		user = at.namespace + "." + program
	}
	return sitetest.URL(at.server, user)
}

// script says what the agents of the tests run: it does what the prompt says.
const script = `read -r said
case "$said" in
*wait*) echo $$ >"${said##* }.pid"; while ! test -e "${said##* }"; do sleep 0.02; done;;
*slow*) sleep 60;;
*fail*) echo "failed: $said"; exit 1;;
esac
echo "done: $said"`

// start runs a daemon or an agent, or runs it again. Names of agents begin with agent.
func (at *site) start(name string, more ...string) {
	at.t.Helper()
	var cmd *exec.Cmd
	if strings.HasPrefix(name, "agent") {
		must(at.t, worker())
		cmd = exec.Command("node", append(append([]string{"worker/build/worker.js", "--namespace", at.namespace, "--name",
			name, "--heartbeat", "3000", "--takeover", "1500"}, more...), "--", "sh", "-c", script)...)
		cmd.Env = append(os.Environ(), "POPPO_REDIS="+at.url("agent"))
	} else {
		cmd = exec.Command(sitetest.Program(at.t, "poppobuilderd"),
			append([]string{"-namespace", at.namespace, "-name", name, "-heartbeat", "3s", "-lease", "2s", "-look", "100ms",
				"-upkeep", "300ms",
				"-mirin-wait", "20s", "-backup", filepath.Join(at.backups,
					"new"), "-backup-every", "500ms", "-keywright", sitetest.Program(at.t, "keywright")}, more...)...)
		cmd.Env = append(os.Environ(), "POPPO_REDIS="+at.url("poppo"), "POPPO_MIRIN_REDIS="+at.url("mirin"),
			"POPPO_BACKUP_REDIS="+at.url("backup"), "POPPO_CLEANUP_REDIS="+at.url("cleanup"))
	}
	said := &sitetest.Output{}
	cmd.Stdout, cmd.Stderr = said, said
	must(at.t, cmd.Start())
	at.running[name], at.said[name] = cmd, said
	at.t.Cleanup(func() {
		if at.t.Failed() {
			at.t.Logf("%s in %s said:\n%s", name, at.namespace, said.String())
		}
	})
}

// first returns the flags of the daemon that is asked and that is Mirin.
func (at *site) first() []string { return []string{"-http", at.http, "-mirin"} }

func (at *site) signal(name string, s syscall.Signal) {
	if cmd := at.running[name]; cmd != nil {
		_ = cmd.Process.Signal(s)
	}
}

func (at *site) kill(name string) {
	if cmd := at.running[name]; cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		delete(at.running, name)
	}
}

// ask sends a request to the first daemon, until it listens.
func (at *site) ask(method, path string, body, into any) {
	at.t.Helper()
	text, err := json.Marshal(body)
	must(at.t, err)
	var last error
	await(at.t, "an answer to "+path, func() bool {
		r, err := http.NewRequestWithContext(at.t.Context(), method, "http://"+at.http+path, bytes.NewReader(text))
		must(at.t, err)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			last = err
			return false
		}
		defer answer.Body.Close()
		said, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode == http.StatusServiceUnavailable {
			last = errors.Join(err, errors.New(string(said)))
			return false
		}
		if answer.StatusCode != http.StatusOK {
			at.t.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, said)
		}
		if into != nil {
			must(at.t, json.Unmarshal(said, into))
		}
		return true
	})
	_ = last
}

func (at *site) submit(t poppo.Task) string {
	at.t.Helper()
	var said struct{ ID string }
	at.ask("POST", "/tasks", t, &said)
	return said.ID
}

func (at *site) status() poppo.Status {
	at.t.Helper()
	s, err := at.d.Status(at.t.Context())
	must(at.t, err)
	return s
}

// quiet reports whether nothing waits, works or is to be repaired.
func (at *site) quiet() bool {
	s := at.status()
	zombies, err := at.d.Keys().ProcessesZombies().Len().Do(at.t.Context())
	must(at.t, err)
	for _, n := range s.Waiting {
		if n > 0 {
			return false
		}
	}
	return s.Running == 0 && len(s.Processing) == 0 && len(s.Active) == 0 && zombies == 0
}

// ended counts tasks whose end is in the figures.
func (at *site) ended() int {
	at.t.Helper()
	return int(at.count("completed") + at.count("failed"))
}

// count returns a figure of today and of yesterday: a test may run over midnight.
func (at *site) count(name string) (n int64) {
	at.t.Helper()
	for _, day := range []time.Time{time.Now().UTC(), time.Now().UTC().AddDate(0, 0, -1)} {
		figures, err := at.d.Keys().StatsIssuesDaily(day).All().Do(at.t.Context())
		must(at.t, err)
		n += figures[name]
	}
	return n
}
