package cunningbot_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/types"
	bot "github.com/keywright/keywright/examples/cunningbot"
	"github.com/keywright/keywright/examples/cunningbot/local"
	"github.com/keywright/keywright/examples/cunningbot/seed"
	"github.com/keywright/keywright/examples/cunningbot/state"
	"github.com/keywright/keywright/examples/cunningbot/state/redis"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

// TestDeployedUsers: the ACL file has the default user off, for each program what is printed for it,
// and what a backup and a look at the health need.
func TestDeployedUsers(t *testing.T) {
	sitetest.DeployedUsers(t, sitetest.Off+deployedUsers(t), os.Getenv("KEYWRIGHT_UPDATE") != "")
}

// TestEachToItsOwn: each container may do its work, and nothing else.
func TestEachToItsOwn(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := protected(t, brand)
		for _, c := range []struct {
			user, command, key string
			may                bool
		}{
			{"rssfeed", "HSET", "rss:" + guild + ":pending:" + channel, true},
			{"rssfeed", "HSET", "rss:" + guild + ":feeds", false},
			{"rsssummary", "HDEL", "rss:" + guild + ":pending:" + channel, true},
			{"rsssummary", "SET", "rss:" + guild + ":batch:" + channel, true},
			{"rsssummary", "SET", "lock:rss:" + guild + ":summary:" + channel, true},
			{"dailygame", "SET", "lock:rss:" + guild + ":summary:" + channel, false},
			{"breaking_news_validator", "LPOP", "breaking:" + guild + ":pending", true},
			{"breaking_news_validator", "SADD", "breaking:" + guild + ":topics", false},
			{"trivia_closer", "HSET", "trivia:" + guild + ":game:g-1", true},
			{"trivia_closer", "SET", "lock:trivia:" + guild + ":game:g-1", true},
			{"trivia_poster", "SET", "lock:trivia:" + guild + ":game:g-1", false},
			{"trivia_closer", "HSET", "trivia:" + guild + ":registrations", false},
			{"cunningbot", "HSET", "rss:" + guild + ":feeds", true}, {"cunningbot", "ZADD", "history:" + guild + ":stories:" +
				channel, false},
			{"dailygame", "HSET", "daily:" + guild + ":posted:2026-11-23", true},
			{"dailygame", "HSET", "daily:" + guild + ":games", false},
			{"backup", "SET", "meta:last_backup", true}, {"archive", "SET", "meta:last_backup", false},
			{"health", "GET", "meta:last_backup", false},
		} {
			words := append([]string{"ACL", "DRYRUN", c.user, c.command, c.key},
				strings.Fields(map[string]string{"GET": "", "HSET": "1 x", "ZADD": "1 x"}[c.command])...)
			if len(words) == 5 && c.command != "GET" {
				words = append(words, "1")
			}
			if said := s.Do(words...); (said == "OK") != c.may {
				t.Errorf("%s %s %s: %v", c.user, c.command, c.key, said)
			}
		}
	})
}

// site represents a folder that secrets.sh has made, with the services of compose.yaml.
type site struct {
	t        *testing.T
	dir      string
	env      map[string]string
	services map[string]types.ServiceConfig
}

func newSite(t *testing.T, w *world, compose ...string) *site {
	t.Helper()
	s := &site{t: t, dir: filepath.Join(t.TempDir(), "site")}
	if out, err := exec.Command("sh", "deploy/secrets.sh", s.dir).CombinedOutput(); err != nil {
		t.Fatalf("secrets.sh: %v\n%s", err, out)
	}
	if exec.Command("sh", "deploy/secrets.sh", s.dir).Run() == nil {
		t.Error("secrets.sh has written over secrets that are in use")
	}
	info, err := os.Stat(filepath.Join(s.dir, ".env"))
	must(t, err)
	same(t, "the mode of .env", info.Mode().Perm(), os.FileMode(0o600))
	s.env, err = dotenv.Read(filepath.Join(s.dir, ".env"))
	must(t, err)
	for name, value := range map[string]string{"CUNNINGBOT_DIR": s.dir, "CUNNINGBOT_BIN": "/bin-of-the-test",
		"CUNNINGBOT_USER": "1000:1000",
		"DISCORD_TOKEN":   "a-token", "DISCORD_PUBLIC_KEY": hex.EncodeToString(w.public), "OPENAI_API_KEY": "a-key"} {
		s.env[name] = value
	}
	var env []string
	for name, value := range s.env {
		env = append(env, name+"="+value)
	}
	o, err := cli.NewProjectOptions(append([]string{"deploy/compose.yaml"}, compose...), cli.WithEnv(env))
	must(t, err)
	project, err := o.LoadProject(context.Background())
	must(t, err)
	s.services = project.Services
	return s
}

// server starts Redis by its files, but for where it is; the tests have a user, too.
func (s *site) server(brand keywrighttest.Brand) *keywrighttest.Server {
	s.t.Helper()
	same(s.t, "the command of Redis", []string(s.services["redis"].Command),
		[]string{"redis-server", "/etc/cunningbot/redis.conf"})
	users, err := os.ReadFile(filepath.Join(s.dir, "etc/users.acl"))
	must(s.t, err)
	file := filepath.Join(s.t.TempDir(), "users.acl")
	must(s.t, os.WriteFile(file, append(users, "user test on >"+word+" ~* &* +@all\n"...), 0o600))
	options := []keywrighttest.Option{keywrighttest.Login("test", word), keywrighttest.Config("aclfile", file)}
	text, err := os.ReadFile(filepath.Join(s.dir, "etc/redis.conf"))
	must(s.t, err)
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 && !slices.Contains([]string{"#", "port", "bind", "protected-mode",
			"dir", "aclfile"}, words[0]) {
			options = append(options, keywrighttest.Config(words...))
		}
	}
	return keywrighttest.Start(s.t, brand, options...)
}

// start runs a service as compose.yaml says, but for where things are.
func (s *site) start(name string, w *world, redis *keywrighttest.Server) *sitetest.Process {
	s.t.Helper()
	host, port, err := net.SplitHostPort(redis.Addr())
	must(s.t, err)
	bin := filepath.Dir(program(s.t, "cunningbotd"))
	program(s.t, "keywright")
	v := s.services[name]
	moved := strings.NewReplacer("/opt/cunningbot/", bin+"/", "/data/", s.dir+"/data/", "/etc/cunningbot/", s.dir+"/etc/",
		"0.0.0.0:8080", w.http, "127.0.0.1:8080", w.http)
	env := []string{"DISCORD_API=" + w.urls["discord"], "OPENAI_BASE_URL=" + w.urls["openai"],
		"CUNNINGBOT_PRIVATE_FEEDS=true"}
	for key, value := range v.Environment {
		if value == nil {
			s.t.Fatalf("%s: %s has no value", name, key)
		}
		switch key {
		case "REDIS_HOST":
			same(s.t, "the host of Redis", *value, "redis")
			*value = host
		case "REDIS_PORT":
			*value = port
		}
		env = append(env, key+"="+moved.Replace(*value))
	}
	var args []string
	for _, word := range v.Command {
		args = append(args, moved.Replace(word))
	}
	return start(s.t, env, args[0], args[1:]...)
}

// TestDeployed: Redis starts with redis.conf and users.acl, each service runs as compose.yaml says
// with the passwords that secrets.sh has made, and work is done. Then the server is lost, and what
// the backup has comes back on another one.
func TestDeployed(t *testing.T) {
	gate.Skip(t, "runs nine programs")
	w := newWorld(t)
	at := newSite(t, w)
	s := at.server(keywrighttest.Redis)
	if s.Info("maxmemory_policy") != "noeviction" || s.Info("aof_enabled") != "1" || s.Info("maxmemory") != "2147483648" {
		t.Error("the server would lose what it has")
	}
	same(t, "snapshots", s.Do("CONFIG", "GET", "save"), "[save 900 1 300 10 60 10000]")
	running := map[string]*sitetest.Process{"cunningbot": at.start("cunningbot", w, s)}
	w.command(guild, newsChannel, "feed", "name", "San Diego", "url", w.urls["news"]+"/diego.rss")
	w.news.Publish("diego", local.NewsItem{Title: "One", URL: "https://news.example/1", Text: "x", At: time.Now()})
	for _, name := range []string{"rssfeed", "dailygame", "breaking-news-validator", "trivia-poster", "trivia-closer"} {
		running[name] = at.start(name, w, s)
	}
	await(t, "the article waits", func() bool { return s.Do("EXISTS", "rss:"+guild+":channels") == int64(1) })
	running["rsssummary"] = at.start("rsssummary", w, s) // it polls each ten minutes
	await(t, "it is posted", func() bool { return len(w.discord.Links()) == 1 })
	running["backup"] = at.start("backup", w, s)
	same(t, "all services are started", len(running), len(at.services)-1)
	await(t, "there is a backup", func() bool { return s.Do("EXISTS", "meta:last_backup") == int64(1) })

	check := at.services["cunningbot"].HealthCheck.Test
	same(t, "the health check", []string(check), []string{"CMD", "/opt/cunningbot/cunningbotd", "health",
		"http://127.0.0.1:8080/health"})
	same(t, "healthy", exec.Command(program(t, "cunningbotd"), "health", "http://"+w.http+"/health").Run(), nil)
	shell := strings.Replace(at.services["redis"].HealthCheck.Test[1], "redis-cli",
		"redis-cli -p "+s.Addr()[strings.LastIndex(s.Addr(), ":")+1:], 1)
	same(t, "Redis is healthy", exec.Command("sh", "-c", shell).Run(), nil)
	for name, p := range running {
		if err := p.Stop(); err != nil {
			t.Errorf("%s was asked to stop: %v", name, err)
		}
	}
	sitetest.Refusals(t, s)
	sitetest.Survives(t, s)

	// The drill of README.md, on a server that has nothing.
	files, err := filepath.Glob(filepath.Join(at.dir, "data/backups/*.kwa"))
	must(t, err)
	same(t, "one backup", len(files), 1)
	other := at.server(keywrighttest.Redis)
	sitetest.Keywright(t, sitetest.URL(other, "test"), "restore", files[0], "--apply", "--quiet")
	sitetest.Keywright(t, sitetest.URL(other, "test"), "verify", files[0], sitetest.URL(other, "test"), "--quiet")
	same(t, "the feed is back", other.Do("HEXISTS", "rss:"+guild+":feeds", "San Diego"), int64(1))
	same(t, "it outlives a restart", other.Do("CONFIG", "GET", "appendonly"), "[appendonly yes]")
}

func get(t *testing.T, url string, into any) int {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	must(t, json.NewDecoder(answer.Body).Decode(into))
	return answer.StatusCode
}

// TestHealth: the endpoint says how the server is; when it is away the answer is 503.
func TestHealth(t *testing.T) {
	gate.Skip(t, "runs a program")
	s, w := protected(t, keywrighttest.Valkey), newWorld(t)
	env := append(w.env(s, "cunningbot"), "REDIS_HEALTH_PASSWORD="+word)
	start(t, env, program(t, "cunningbotd"), "bot")
	url := "http://" + w.http + "/health"
	var h state.Health
	await(t, "it is healthy", func() bool { return get(t, url, &h) == 200 })
	if h.Status != "healthy" || h.ConnectedClients < 1 || h.UsedMemoryHuman == "" || h.TotalKeys < 1 || h.Error != "" {
		t.Errorf("%+v", h)
	}
	s.Stop()
	await(t, "it is unhealthy", func() bool { return get(t, url, &h) == 503 })
	if h.Status != "unhealthy" || h.Error == "" || strings.Contains(h.Error, word) {
		t.Errorf("%+v", h)
	}
	s.Continue()
	await(t, "it is healthy again", func() bool { return get(t, url, &h) == 200 })
}

// TestBackup: seven days are kept; one that fails, or cannot be read back, removes none.
func TestBackup(t *testing.T) {
	gate.Skip(t, "runs programs")
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL())
	dir := t.TempDir()
	now := time.Date(2026, 11, 1, 3, 0, 0, 0, time.UTC)
	b := bot.Backup{Dir: filepath.Join(dir, "b"), URL: s.URL(), Keywright: program(t, "keywright"),
		Declaration: "keyspace.yaml", Now: func() time.Time { return now }}
	must(t, redis.New(c).Settings.AddGuild(t.Context(), guild))
	names := func() (out []string) {
		files, err := os.ReadDir(b.Dir)
		must(t, err)
		for _, f := range files {
			out = append(out, f.Name())
		}
		return out
	}
	for range 3 {
		now = now.AddDate(0, 0, 4)
		_, err := b.Run(t.Context(), c)
		must(t, err)
	}
	want := []string{"cunningbot_20261109_030000.kwa", "cunningbot_20261113_030000.kwa"}
	same(t, "what is kept", names(), want)
	same(t, "the last one", s.Do("GET", "meta:last_backup"), "2026-11-13T03:00:00Z")
	for what, script := range map[string]string{"it fails": "exit 3",
		"it is torn": `case $1 in backup) while [ $1 != --to ]; do shift; done; echo torn >"$2";; *) exec ` + b.Keywright +
			` "$@";; esac`} {
		bad := b
		bad.Keywright = filepath.Join(dir, strings.ReplaceAll(what, " ", "-"))
		must(t, os.WriteFile(bad.Keywright, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
		now = now.AddDate(0, 0, 30)
		if _, err := bad.Run(t.Context(), c); err == nil {
			t.Errorf("%s, and there is no error", what)
		}
		same(t, "what is kept when "+what, names(), want)
	}
	same(t, "the last good one", s.Do("GET", "meta:last_backup"), "2026-11-13T03:00:00Z")
}

// TestSecrets: no program says a password or a token, and none begins half.
func TestSecrets(t *testing.T) {
	gate.Skip(t, "runs programs")
	const secret = "a-secret"
	for _, c := range []struct {
		args []string
		env  string
	}{
		{[]string{"rssfeed"}, "REDIS_PORT=1"}, {[]string{"bot"}, "DISCORD_PUBLIC_KEY=" + secret},
		{[]string{"rssfeed"}, "DISCORD_TOKEN="},
		{[]string{"rssfeed"}, "REDIS_DB=" + secret}, {[]string{"nothing"}, ""}, {nil, ""},
		{[]string{"dailygame", "-poll", "x"}, ""}, {[]string{"backup"}, "REDIS_PORT=1"},
	} {
		env := []string{"REDIS_HOST=127.0.0.1", "REDIS_PASSWORD=" + secret, "DISCORD_TOKEN=" + secret, "OPENAI_API_KEY=" +
			secret, "USE_REDIS=true", c.env}
		p := start(t, env, program(t, "cunningbotd"), c.args...)
		if err := p.Wait(); err == nil || strings.Contains(p.Said.String(), secret) || p.Said.String() == "" {
			t.Errorf("%v %s: %v, %s", c.args, c.env, err, p.Said)
		}
	}
}

// TestDeployedMigration: with migration.yaml all seven programs have the user of the migration, and work
// on the files, since every subsystem is at off. The server says that it is fit for more.
func TestDeployedMigration(t *testing.T) {
	gate.Skip(t, "runs programs")
	w := newWorld(t)
	at := newSite(t, w, "deploy/migration.yaml")
	s := at.server(keywrighttest.Redis)
	state := filepath.Join(at.dir, "data/state")
	must(t, seed.Write(state, seed.Options{Seed: 2, Now: time.Now(), Guilds: 1, Articles: 3, Items: 1, Stories: 1}))
	names := []string{"cunningbot"}
	for task := range bot.Tasks {
		names = append(names, task)
	}
	var running []*sitetest.Process
	for _, name := range names {
		same(t, "where "+name+" works",
			*at.services[name].Environment["USE_REDIS"]+*at.services[name].Environment["REDIS_USERNAME"], "migratingmigration")
		running = append(running, at.start(name, w, s))
	}
	// the item comes with the next poll
	await(t, "what waited is posted", func() bool { return len(w.discord.Links()) >= 3 })
	m, err := bot.NewMigration(t.Context(), state, open(t, "redis://migration:"+at.env["MIGRATION_PASSWORD"]+"@"+s.Addr()))
	must(t, err)
	t.Cleanup(func() { _ = m.Close() })
	_, err = m.Plan(t.Context(), "history")
	must(t, err)
	_, err = m.Advance(t.Context(), "history", migrate.ChangeOptions{Limits: &phase.Limits{}})
	must(t, err)
	status := got(m.Status(t.Context()))(t)
	same(t, "processes", len(status[0].Processes), 8)
	same(t, "what the server lacks", len(status[0].Facts.Unfit), 0)
	for _, p := range running {
		must(t, p.Stop())
	}
	sitetest.Refusals(t, s)
}
