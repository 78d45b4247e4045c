package memory_test

import (
	"bufio"
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
	"syscall"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/harca/memory"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/gen/acl"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
)

// TestDeployedUsers: the ACL file has the default user off, what `keywright acl print` prints
// for the program and an operator, and the two users that replicas and sentinels need; none without a password.
func TestDeployedUsers(t *testing.T) {
	ks, findings := load.File(os.DirFS(".."), "keyspace.yaml")
	if len(findings) > 0 {
		t.Fatal(findings[0].Message)
	}
	files, err := acl.Generate(ks)
	must(t, err)
	want := "user default off ~* +@all\n" + string(files[0].Text) + sitetest.Operator(t)
	text, err := os.ReadFile("../deploy/users.acl")
	must(t, err)
	have, rest, _ := strings.Cut(string(text), "user replica ")
	if os.Getenv("KEYWRIGHT_UPDATE") != "" {
		must(t, os.WriteFile("../deploy/users.acl", []byte(want+"user replica "+rest), 0o644))
		return
	}
	if have != want {
		t.Error("deploy/users.acl is not what `keywright acl print` prints now: KEYWRIGHT_UPDATE=1 writes it")
	}
	for line := range strings.Lines(rest) {
		if strings.Contains(line, "nopass") || strings.Contains(line, "+@all") {
			t.Errorf("%s", line)
		}
	}
}

// site represents a deployment on this machine: each file as it is, but for addresses and folders.
type site struct {
	t     *testing.T
	brand keywrighttest.Brand
	dir   string            // what secrets.sh has written
	ports map[string]string // by host:port as the files have it
	run   map[string]*exec.Cmd
	logs  map[string]string // files of the servers

	restart func() // of the only server
}

func newSite(t *testing.T, brand keywrighttest.Brand) *site {
	s := &site{t: t, brand: brand, dir: filepath.Join(t.TempDir(), "site"), ports: map[string]string{},
		run: map[string]*exec.Cmd{}, logs: map[string]string{}}
	out, err := exec.Command("sh", "../deploy/secrets.sh", s.dir).CombinedOutput()
	if err != nil {
		t.Fatalf("secrets.sh: %v\n%s", err, out)
	}
	if exec.Command("sh", "../deploy/secrets.sh", s.dir).Run() == nil {
		t.Error("secrets.sh has written over secrets that are in use")
	}
	c := keywrighttest.NewCertificates(t)
	for from, to := range map[string]string{c.CA: "tls/ca.crt", c.ServerCert: "tls/redis.crt",
		c.ServerKey: "tls/redis.key"} {
		text, err := os.ReadFile(from)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(s.dir, "etc", to), text, 0o600))
	}
	must(t, os.WriteFile(filepath.Join(s.dir, "harcad/ring.json"), ringText(), 0o600))
	return s
}

// port returns the port of this machine that a host:port of the files is.
func (s *site) port(at string) string {
	if s.ports[at] == "" {
		_, s.ports[at], _ = net.SplitHostPort(keywrighttest.Address(s.t))
	}
	return s.ports[at]
}

// moved gives what a file or a command says, with the addresses and folders of this machine.
// host is the name of the machine that it is for.
func (s *site) moved(host, etc, data string) *strings.Replacer {
	words := []string{"/etc/harcad", filepath.Join(s.dir, "harcad"), "/etc/harca", etc, "/data/harcad.db", data +
		"/harcad.db", "/var/lib/harcad", data, "%H", "127.0.0.1",
		"/usr/local/bin/harcad", "harcad", "/usr/bin/redis-server", string(s.brand), "redis-server", string(s.brand),
		"127.0.0.1:8080", "127.0.0.1:0", "0.0.0.0:8080", "127.0.0.1:0"}
	if host != "" {
		words = append(words, "tls-port 26379", "tls-port "+s.port(host+":26379"), "tls-port 3710",
			"tls-port "+s.port(host+":3710"), "\nport 3710", "\nport "+s.port(host+":3710"))
	}
	for _, name := range []string{"redis-1", "redis-2", "redis-3", "sentinel-1", "sentinel-2", "sentinel-3"} {
		words = append(words, name+" 3710", "127.0.0.1 "+s.port(name+":3710"), name+":26379",
			"127.0.0.1:"+s.port(name+":26379"), "announce-ip "+name, "announce-ip 127.0.0.1")
	}
	return strings.NewReplacer(words...)
}

// service represents a program of a deployment, as a unit or a compose file has it.
type service struct {
	name, host string
	commands   [][]string // the last one goes on
	env        []string
	edit       func(etc string) // of the operator, in the copy of this machine
}

// start runs a service; the first line of its output is given to harcad's caller.
func (s *site) start(v service) (stdout io.Reader, log *bytes.Buffer) {
	t := s.t
	t.Helper()
	// when it is started again it finds what it had
	data := filepath.Join(s.dir, "machines", strings.ReplaceAll(v.name, " ", "-"))
	etc := filepath.Join(data, "etc")
	moved := s.moved(v.host, etc, data)
	must(t, os.RemoveAll(etc))
	must(t, os.MkdirAll(data, 0o700))
	must(t, os.CopyFS(etc, os.DirFS(filepath.Join(s.dir, "etc"))))
	for _, name := range []string{"redis.conf", "sentinel.conf", "development.conf"} {
		text, err := os.ReadFile(filepath.Join(s.dir, "etc", name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(etc, name), []byte(moved.Replace(string(text))), 0o600))
	}
	if v.edit != nil {
		v.edit(etc)
	}
	for n, command := range v.commands {
		args := []string{"-c", `"$@" <&- & p=$!; cat >/dev/null; kill -9 $p`, "sh"}
		for _, word := range command {
			args = append(args, moved.Replace(word))
		}
		if n < len(v.commands)-1 {
			args = append([]string{"-c", `"$@"`}, args[2:]...)
		}
		last, isMemory := n == len(v.commands)-1, strings.HasPrefix(v.name, "harcad")
		if last && isMemory {
			args = append([]string{"-c", `exec "$@"`}, args[2:]...) // it ends alone if it cannot start
		}
		cmd := exec.Command("sh", args...)
		cmd.Dir, cmd.SysProcAttr = data, &syscall.SysProcAttr{Setpgid: true}
		cmd.Env = []string{"PATH=" + filepath.Dir(sitetest.Program(t, "harcad")) + ":" + os.Getenv("PATH")}
		for _, e := range v.env {
			cmd.Env = append(cmd.Env, moved.Replace(e))
		}
		log = &bytes.Buffer{}
		cmd.Stderr = log
		if !last {
			if err := cmd.Run(); err != nil {
				t.Fatalf("%s: %v\n%s", v.name, err, log)
			}
			continue
		}
		_, err := cmd.StdinPipe() // it ends with this process
		must(t, err)
		if isMemory {
			stdout, err = cmd.StdoutPipe()
		} else {
			s.logs[v.name] = filepath.Join(data, "log")
			cmd.Stdout, err = os.OpenFile(s.logs[v.name], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		}
		must(t, err)
		must(t, cmd.Start())
		s.run[v.name] = cmd
		t.Cleanup(func() {
			if text, _ := os.ReadFile(filepath.Join(data, "log")); t.Failed() {
				t.Logf("%s:\n%s%s", v.name, text, log)
			}
			s.kill(v.name)
		})
	}
	return stdout, log
}

// stop asks a server to end, and waits until it has.
func (s *site) stop(name string) {
	s.t.Helper()
	cmd := s.run[name]
	must(s.t, syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM))
	_ = cmd.Wait()
}

func (s *site) kill(name string) {
	if cmd := s.run[name]; cmd != nil && cmd.ProcessState == nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}
}

// memory starts harcad and gives it when it answers.
func (s *site) memory(v service) *client {
	s.t.Helper()
	out, log := s.start(v)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.kill(v.name)
		s.t.Fatalf("harcad: %v\n%s", err, log)
	}
	return &client{s.t, "http://" + strings.TrimSpace(strings.TrimPrefix(line, "listening on "))}
}

// composed returns the services of a compose file, in the order in which they start.
func (s *site) composed(file string) (all []service) {
	s.t.Helper()
	o, err := cli.NewProjectOptions([]string{"../deploy/" + file},
		cli.WithEnv([]string{"HARCA_DIR=" + s.dir, "HARCA_BIN=/harcad", "HARCA_USER=1000:1000"}))
	must(s.t, err)
	project, err := o.LoadProject(context.Background())
	must(s.t, err)
	must(s.t, project.ForEachService(project.ServiceNames(), func(name string, c *types.ServiceConfig) error {
		v := service{name: name, host: name, commands: [][]string{c.Command}}
		for key, value := range c.Environment {
			if value != nil {
				v.env = append(v.env, key+"="+*value)
			}
		}
		for _, mount := range c.Volumes {
			if from, ok := strings.CutPrefix(mount.Source, s.dir); ok {
				if _, err := os.Stat(s.dir + from); err != nil {
					s.t.Errorf("%s mounts what secrets.sh has not made: %v", name, err)
				}
			}
		}
		all = append(all, v)
		return nil
	}))
	return all
}

// unit returns a service as a unit has it, on a machine of some name.
func (s *site) unit(file, host string) service {
	s.t.Helper()
	text, err := os.ReadFile("../deploy/" + file)
	must(s.t, err)
	v := service{name: strings.TrimSuffix(file, ".service") + " " + host, host: host}
	var main []string
	for line := range strings.Lines(string(text)) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key {
		case "ExecStartPre":
			script, ok := strings.CutPrefix(value, "/bin/sh -c '")
			if !ok {
				s.t.Fatalf("%s: %s", file, value)
			}
			v.commands = append(v.commands, []string{"/bin/sh", "-c", strings.TrimSuffix(script, "'")})
		case "ExecStart":
			main = strings.Fields(value)
		case "Environment":
			v.env = append(v.env, value)
		case "EnvironmentFile":
			secrets, err := os.ReadFile(filepath.Join(s.dir, strings.TrimPrefix(value, "/etc")))
			must(s.t, err)
			v.env = append(v.env, strings.Fields(string(secrets))...)
		}
	}
	v.commands = append(v.commands, main)
	return v
}

// TestDeployed: servers, sentinels and the service run from the files of the folder deploy, and
// the memory survives the primary.
func TestDeployed(t *testing.T) {
	gate.Skip(t, "starts three deployments, with sentinels")
	t.Run("compose", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, keywrighttest.Redis)
		var last service
		for _, v := range s.composed("compose.yaml") {
			if v.name == "harcad" {
				last = v
			} else {
				s.start(v)
			}
		}
		s.works(s.memory(last), "8589934592", "redis-1")
	})
	t.Run("units", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, keywrighttest.Valkey)
		s.start(s.unit("harca-redis.service", "redis-1"))
		replica := s.unit("harca-redis.service", "redis-2")
		replica.edit = func(etc string) {
			f, err := os.OpenFile(filepath.Join(etc, "redis.conf"), os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteString("replicaof 127.0.0.1 " + s.port("redis-1:3710") + "\n")
			must(t, err)
			must(t, f.Close())
		}
		s.start(replica)
		for _, host := range []string{"redis-1", "redis-2", "redis-3"} {
			s.start(s.unit("harca-sentinel.service", host))
		}
		s.works(s.memory(s.unit("harcad.service", "")), "8589934592", "harca-redis redis-1")
	})
	t.Run("development", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, keywrighttest.Redis)
		for _, v := range s.composed("compose.development.yaml") {
			if v.name == "redis" {
				s.start(v)
				s.restart = func() { s.stop("redis"); s.start(v) }
				continue
			}
			for n, e := range v.env {
				v.env[n] = strings.Replace(e, "REDIS_PORT=3710", "REDIS_PORT="+s.port("redis:3710"), 1)
			}
			defer func() { s.works(s.memory(v), "2147483648", "") }()
		}
	})
}

// works: the memory is used; the default user and a wrong password are refused; and when the
// primary dies, the service goes on.
func (s *site) works(c *client, most, primary string) {
	t := s.t
	t.Helper()
	id := c.create("fact", memory.Global, 9)
	var h memory.Health
	c.do(http.StatusOK, "GET", "/health", "", &h)
	if len(h.Servers) != 1 {
		t.Fatalf("%+v", h)
	}
	if got := c.metric(fmt.Sprintf("harca_redis_memory_max_bytes{server=%q}", h.Servers[0])); !same(got, most) {
		t.Errorf("maxmemory is %s, not %s", got, most)
	}
	for login, want := range map[string]string{
		"": "NOAUTH", "default:@": "WRONGPASS", "short_term_memory:wrong@": "WRONGPASS", "replica:@": "WRONGPASS",
		"sentinel:wrong@": "WRONGPASS",
	} {
		url, o := "redis://"+login+h.Servers[0], keywright.Options{}
		if primary != "" {
			url, o.CAFile = "rediss://"+login+h.Servers[0], filepath.Join(s.dir, "etc/tls/ca.crt")
		}
		if client, err := keywright.Open(t.Context(), url, o); err == nil {
			client.Close()
			t.Errorf("%q may log in", login)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", login, err)
		}
	}
	if primary == "" {
		s.restart()
		s.there(c, id)
		return
	}
	eventually(t, "the copy is in the second store", func() bool {
		_, _ = c.try("GET", "/items/"+id, "", "", nil)
		_, _ = c.try("GET", "/health", "", "", &h)
		return h.Copies >= 1
	})
	eventually(t, "all sentinels know the replica, and it has what the primary has", func() bool {
		known, synced := 0, 0
		for name, file := range s.logs {
			switch text, _ := os.ReadFile(file); {
			case strings.Contains(name, "sentinel") && strings.Contains(string(text), "+slave"):
				known++
			case strings.Contains(string(text), "REPLICA sync: Finished with success"):
				synced++
			}
		}
		return known == 3 && synced == 1
	})
	s.kill(primary)
	before := h.Servers[0]
	eventually(t, "the other server is the primary", func() bool {
		status, _ := c.try("GET", "/health", "", "", &h)
		return status == http.StatusOK && len(h.Servers) == 1 && h.Servers[0] != before && h.Fallback == "up"
	})
	s.there(c, id)
	c.create("fact", memory.Global, 9)
}

// there waits until an item is read from Redis, not from the copy of the service.
func (s *site) there(c *client, id string) {
	s.t.Helper()
	eventually(s.t, "the item is read from Redis", func() bool {
		var item memory.Item
		status, _ := c.try("GET", "/items/"+id, "", "", &item)
		if status == http.StatusNotFound {
			s.t.Fatal("the item is lost")
		}
		return status == http.StatusOK && !item.FromCopy
	})
}

// same reports whether a figure of Prometheus is a whole number.
func same(figure, want string) bool {
	var a, b float64
	_, err1 := fmt.Sscan(figure, &a)
	_, err2 := fmt.Sscan(want, &b)
	return err1 == nil && err2 == nil && a == b
}
