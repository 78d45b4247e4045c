//go:build dashboard

package dash

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
	"github.com/keywright/keywright/queue"
)

// TestInABrowser shows a real server by the program as it is built, and looks at each
// page in Chromium. `make dashboard-test` runs it: it takes longer than CI can wait.
func TestInABrowser(t *testing.T) {
	redis := keywrighttest.Start(t, keywrighttest.Valkey)
	c := servertest.Open(t, redis.URL())
	fill(t, redis, everykeys.New(c))
	browse(t, "KEYWRIGHT_DASHBOARD="+serveProgram(t, redis.URL()))
}

// browse runs the tests of web/test whose names have KEYWRIGHT_PAGES; without it all.
func browse(t *testing.T, env ...string) {
	t.Helper()
	run := exec.CommandContext(t.Context(), "node", "--test", "--test-concurrency=1", "--test-reporter=spec",
		"--test-name-pattern="+cmp.Or(os.Getenv("KEYWRIGHT_PAGES"), "."), "test/drawing.test.mjs", "test/live.test.mjs")
	run.Dir, run.Env = "web", append(os.Environ(), env...)
	run.Stdout, run.Stderr = os.Stdout, os.Stderr
	if err := run.Run(); err != nil {
		t.Fatal(err)
	}
}

// serveProgram builds keywright and lets it watch a server; it gives the page's address.
func serveProgram(t *testing.T, url string) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "keywright")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../..")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	plans := filepath.Join(dir, "plans")
	must(t, os.MkdirAll(plans, 0o700))
	must(t, os.WriteFile(filepath.Join(plans, "janitor-default.json"), // the job is due
		[]byte(`{"keywright_janitor":1,"jobs":{"sweeps":{"from":"2020-01-01T00:00:00Z"}}}`), 0o600))
	serve := exec.Command(program, "serve", "--url", url, "--file", declared(t, dir), "--janitor",
		"--janitor-latency", "0",
		"--listen", "127.0.0.1:0", "--store", filepath.Join(dir, "keywright.db"), "--audit-every", "10s",
		"--allow-apply", "--show-values", "--plans", plans)
	serve.Stderr = os.Stderr
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Signal(os.Interrupt)
		_ = serve.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), "http://"); ok {
			return "http://" + strings.TrimSpace(address)
		}
	}
	t.Fatal("keywright serve printed no address")
	return ""
}

// declared returns the declaration of everykeys with a janitor.
func declared(t *testing.T, dir string) string {
	t.Helper()
	must(t, os.CopyFS(filepath.Join(dir, "everykeys"), os.DirFS("../../../../../internal/everykeys")))
	path := filepath.Join(dir, "everykeys", "keyspace.yaml")
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, append(text, "\njanitor:\n  sweeps: {do: sweep, every: 1h, entry: item}\n"...), 0o600))
	return path
}

// fill writes something of each kind, and some of what is wrong.
func fill(t *testing.T, redis *keywrighttest.Server, k *everykeys.Keyspace) {
	t.Helper()
	ctx := t.Context()
	for id := range int64(200) {
		must(t, k.Str(id+1).Set("x").Do(ctx))
		_, err := k.ItemStore().Create(ctx, id+1, everykeys.ItemValue{Pri: id%10 + 1, Name: "a name"})
		must(t, err)
	}
	for id := range int64(5) {
		_, err := k.Rank(time.Now()).Add(id+1, id*10).Do(ctx)
		must(t, err)
		_, err = k.Dur().Publish(ctx, everykeys.DurMessage{N: id, K: "k"})
		must(t, err)
		_, err = k.Ca(id+1).GetOrLoad(ctx, func(context.Context) (string, error) { return "cached", nil })
		must(t, err)
	}
	hostile := []string{"every:str:<img src=x onerror=alert(1)>", "every:nobody:\u202e7", "every:nobody:\xff\xfe",
		"other:\x1b[31m"}
	for i := range 40 {
		hostile = append(hostile, fmt.Sprintf("every:strr:%d", i))
	}
	for _, name := range hostile {
		redis.Do("SET", name, "x")
	}
	redis.Do("XGROUP", "CREATE", "every:dur", "g", "0")
	redis.Do("PERSIST", "every:str:7")
	redis.Do("HSET", "every:hsh:1", "name", "Yamada", "n", "7")
	redis.Do("SET", "every:sealed:1", "s3cret", "EX", "600") // not sealed yet: adopted later
	redis.Do("HSET", "every:sealeds:1", "name", "s3cret", "k", "1")
	for id := range 300 {
		redis.Do("ZADD", "every:zs:1", fmt.Sprint(id), fmt.Sprint("member ", id))
	}
	kill(t, k.Q())
	hold(t, k.Lk(7))
	sweep(t, k)
}

var must = expect.NoError

// kill makes dead jobs of two errors, and lets others wait.
func kill(t *testing.T, q queue.Queue[string]) {
	t.Helper()
	const dead = 60
	var tasks []queue.Task[string]
	for i := range dead {
		tasks = append(tasks, queue.Task[string]{ID: fmt.Sprintf("job-%d", i), Payload: "x"})
	}
	_, err := q.EnqueueAll(t.Context(), tasks)
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	died := make(chan struct{}, dead)
	w := q.Worker(func(_ context.Context, job *queue.Job[string]) error {
		if strings.HasSuffix(job.ID, "7") {
			return queue.Discard(errors.New("550 mailbox unavailable"))
		}
		return queue.Discard(errors.New("connect: connection refused"))
	}, queue.WorkerOptions{AllowEviction: true, OnDead: func(queue.Dead) { died <- struct{}{} }})
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	for range dead {
		<-died
	}
	stop()
	<-ended
	for i := range 5 {
		_, err := q.Enqueue(t.Context(), queue.Task[string]{ID: fmt.Sprintf("waits-%d", i), Payload: "x"})
		must(t, err)
	}
}

// hold holds a lock until the test ends, and lets another process wait for it.
func hold(t *testing.T, l lock.Lock) {
	t.Helper()
	lease, err := l.As("holder-1").Acquire(t.Context())
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := l.As("waiter-1").Acquire(ctx); err == nil {
			t.Error("a second holder has the lock")
		}
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		_ = lease.Release(context.WithoutCancel(t.Context()))
	})
}

// sweep runs the sweeper until the test ends.
func sweep(t *testing.T, k *everykeys.Keyspace) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		k.Sweeper(ctx, entity.SweepOptions{}, func(error) {})
	}()
	t.Cleanup(func() { stop(); <-ended })
}
