package connect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	for _, c := range []struct {
		url, addresses, user, password, master string
		mode                                   Mode
		db                                     int
		tls                                    bool
	}{
		{url: "redis://localhost", addresses: "localhost:6379"},
		{url: "redis://", addresses: "127.0.0.1:6379"},
		{url: "redis://h.example.:7000/3", addresses: "h.example:7000", db: 3},
		{url: "rediss://u:p%40ss%2Fw@h:1/0", addresses: "h:1", user: "u", password: "p@ss/w", tls: true},
		{url: "redis://:only@h", addresses: "h:6379", password: "only"},
		{url: "redis://a:b:c@h", addresses: "h:6379", user: "a", password: "b:c"},
		{url: "redis://u:p@ss@h", addresses: "h:6379", user: "u", password: "p@ss"},
		{url: "redis://[::1]:7", addresses: "[::1]:7"},
		{url: "redis://[::1]", addresses: "[::1]:6379"},
		{url: "valkey://h?db=4", addresses: "h:6379", db: 4},
		{url: "redis+cluster://a:1,b:2", addresses: "a:1 b:2", mode: Cluster},
		{url: "redis://a:1?cluster=true", addresses: "a:1", mode: Cluster},
		{url: "redis+sentinel://a,b:2/mymaster/5?sentinel_user=s&sentinel_password=x", addresses: "a:26379 b:2",
			mode: Sentinel, master: "mymaster", db: 5},
		{url: "rediss+sentinel://a/m", addresses: "a:26379", mode: Sentinel, master: "m", tls: true},
		{url: "unix:///run/redis.sock?db=2", addresses: "/run/redis.sock", db: 2},
	} {
		got, err := Parse(c.url)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		if strings.Join(got.Addresses, " ") != c.addresses || got.User != c.user || got.Password.Reveal() != c.password ||
			got.Master != c.master || got.Mode != c.mode || got.DB != c.db || (got.TLS != nil) != c.tls {
			t.Errorf("%s = %+v", c.url, got)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, url := range []string{"", "localhost:6379", "http://h", "redis://h:0", "redis://h:70000", "redis://h:x",
		"redis://h/x", "redis://h/-1", "redis://h?what=1", "redis://h?timeout=soon",
		"redis+cluster://h/3", "redis+sentinel://h", "redis://u:%zz@h", "redis://h o:1", "redis://h,,g", "redis://a:b:c",
		"redis://h;x", "redis://é"} {
		if c, err := Parse(url); err == nil {
			t.Errorf("%q = %+v", url, c)
		}
	}
}

const canary = "hunter2-canary"

func TestSecretsAreNeverPrinted(t *testing.T) {
	c, err := Parse("redis+sentinel://u:" + canary + "@h:1/m?sentinel_password=" + canary)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, _ := json.Marshal(c)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "config", c, "password", c.Password)
	for name, text := range map[string]string{"%v": fmt.Sprintf("%v", c), "%+v": fmt.Sprintf("%+v", c),
		"%#v": fmt.Sprintf("%#v", c), "pointer": fmt.Sprintf("%+v", &c), "json": string(asJSON), "slog": log.String(),
		"%q": fmt.Sprintf("%q", c.Password), "%x": fmt.Sprintf("%x", c.Password),
		"%#v of it": fmt.Sprintf("%#v", c.Password)} {
		if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
			t.Errorf("%s shows the password: %s", name, text)
		}
	}
	for verb := 'A'; verb <= 'z'; verb++ {
		for _, flag := range []string{"", "#", "+", " ", "0", "-", "20", ".3"} {
			text := fmt.Sprintf("%"+flag+string(verb), c.Password)
			if strings.Contains(text, canary) || strings.Contains(text, canary[:3]) ||
				strings.Contains(text, fmt.Sprintf("%x", canary)) || strings.Contains(text, "104") {
				t.Errorf("%%%s%c shows the password: %s", flag, verb, text)
			}
		}
	}
	for _, url := range []string{"nonsense://u:" + canary + "@h", "redis://u:" + canary + "%zz@h",
		"redis://:" + canary + "@h:x", canary + "@h", "redis://:" + canary + "?x@h", "redis://:x?" + canary + "@h",
		"redis://:" + canary + "/x@h:y", "redis://u:" + canary + "#x@h:y", "redis://h:" + canary + "/0", canary,
		"redis://bob:p@" + canary + "#x", "redis://u:" + canary + ":7", "redis://u:p@h:6379#" + canary,
		"redis://h/" + canary, "redis://h?" + canary, "redis://u:p@w?" + canary + "@h", "redis://u:p@h?db=" + canary,
		"redis://u:p@h?timeout=" + canary,
		"redis:/u:" + canary, "unix://u:" + canary + "@/run/redis.sock", "redis://a,u:" + canary, "redis+sentinel://" + canary,
		"redis://u:p@h%" + canary, "redis://u:p@\"" + canary, "redis://u:p@" + canary + "é"} {
		if _, err := Parse(url); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestEnvironment(t *testing.T) {
	env := map[string]string{"KEYWRIGHT_URL": "redis://k", "REDIS_URL": "redis://r", "REDISCLI_AUTH": "pw"}
	get := func(name string) string { return env[name] }
	for i, want := range []string{"flag:6379", "k:6379", "r:6379", "127.0.0.1:6379"} {
		o := Options{Getenv: get}
		switch i {
		case 0:
			o.URL = "redis://flag"
		case 2:
			delete(env, "KEYWRIGHT_URL")
		case 3:
			delete(env, "REDIS_URL")
		}
		c, err := New(o)
		if err != nil || c.Addresses[0] != want || c.Password.Reveal() != "pw" || c.Timeout != 5*time.Second {
			t.Errorf("%d: %+v %v", i, c, err)
		}
	}
	if c, err := New(Options{URL: "redis://:own@h", Getenv: get}); err != nil || c.Password.Reveal() != "own" {
		t.Errorf("the URL's own password gives way: %v", err)
	}
}

func TestTLSOptions(t *testing.T) {
	for _, o := range []Options{
		{URL: "redis://h", CAFile: "x"}, {URL: "rediss://h", CAFile: "/no/such"}, {URL: "rediss://h", CAFile: "connect.go"},
		{URL: "rediss://h", CertFile: "x"}, {URL: "rediss://h", KeyFile: "x"},
		{URL: "rediss://h", CertFile: "x", KeyFile: "y"},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	c, err := New(Options{URL: "rediss://h", ServerName: "n", Insecure: true})
	if err != nil || c.TLS.ServerName != "n" || !c.TLS.InsecureSkipVerify {
		t.Errorf("%v", err)
	}
}

// TestWithoutPasswords: what may be printed and kept names the same servers, user and database, and has no password.
func TestWithoutPasswords(t *testing.T) {
	for url, want := range map[string]string{
		"redis://h:1/2":                        "redis://h:1/2",
		"redis://me:se%40cret@h:1/2":           "redis://me@h:1/2",
		"redis://:secret@h":                    "redis://h",
		"redis://me:se@cret@h":                 "redis://me@h",
		"rediss+cluster://me:secret@a:1,b:2":   "rediss+cluster://me@a:1,b:2",
		"unix:///run/a@b:c.sock?db=3":          "unix:///run/a@b:c.sock?db=3",
		"redis+sentinel://u:secret@s:1/main/2": "redis+sentinel://u@s:1/main/2",
		"redis+sentinel://s/main?sentinel_password=secret&sentinel_user=u": "redis+sentinel://s/main?sentinel_user=u",
	} {
		got, err := WithoutPasswords(url)
		if err != nil || got != want || HasPassword(got) {
			t.Errorf("%s: %q, %v, want %q", url, got, err, want)
		}
	}
	if got, err := WithoutPasswords("mysql://u:secret@h"); err == nil {
		t.Errorf("%q", got)
	}
}

func TestHasPassword(t *testing.T) {
	for url, want := range map[string]bool{"redis://h": false, "redis://u@h": false, "redis://:p@h": true,
		"nonsense": false} {
		if HasPassword(url) != want {
			t.Errorf("%s: %v", url, !want)
		}
	}
}

// peer returns a TCP server that answers every connection with text.
func peer(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, text)
			_, _ = io.Copy(io.Discard, c) // until the other end closes it
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func TestPeersThatAreNoRedis(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		kind Kind
	}{
		"http":      {"HTTP/1.1 400 Bad Request\r\n\r\n", Unsupported},
		"tls":       {"\x15\x03\x03\x00\x02\x02\x28\r\n", Unsupported},
		"silent":    {"", Unreachable},
		"protected": {"-DENIED Redis is running in protected mode\r\n", Denied},
		"loading":   {"-LOADING Redis is loading the dataset in memory\r\n", Unreachable},
		"noauth":    {"-NOAUTH Authentication required.\r\n", Denied},
		"bomb":      {"*999999999\r\n", Unsupported},
	} {
		conf, err := Parse("redis://" + peer(t, c.text))
		if err != nil {
			t.Fatal(err)
		}
		conf.Timeout = time.Minute
		if name == "silent" {
			conf.Timeout = 50 * time.Millisecond // of which it takes all
		}
		if _, err := Dial(t.Context(), conf); !IsKind(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDialEndsWithTheContext(t *testing.T) {
	conf, err := Parse("redis://" + peer(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	conf.Timeout = time.Hour
	expect.Return(t, "a dial whose context ends", func() {
		if _, err := Dial(ctx, conf); err == nil || !IsKind(err, Unreachable) {
			t.Errorf("%v", err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"redis://u:p@h:1/2?db=3", "redis+sentinel://a,b/m", "unix:///s", "rediss://[::1]",
		"redis://%", "://", "redis://@@"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		if c, err := Parse(url); err == nil && (len(c.Addresses) == 0 || c.DB < 0) {
			t.Fatalf("%q = %+v", url, c)
		}
	})
}
