package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/command"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// interruption describes what a command waits for when it is asked to end.
type interruption struct {
	server []string // lines with URL or OTHER, servers that stop answering
	stdin  []string // lines that read standard input, which goes on
	fifo   []string // lines that read FIFO, into which nothing is written
	unread []string // lines whose result is more than a page, and is not read
	brief  string   // why it waits for nothing
}

// interruptions lists all commands.
var interruptions = map[string]interruption{
	"acl apply": {server: []string{"acl apply -u URL", "acl apply -u URL --apply"}},
	"acl diff":  {server: []string{"acl diff -u URL"}},
	"acl print": {unread: []string{"acl print -f large.yaml"}},
	"apply": {server: []string{
		"apply delete.plan -u URL",
		"apply rotate.plan -u URL --keys-file ring.json"},
		fifo: []string{"apply FIFO"}},
	"archive diff":   {unread: []string{"archive diff a.kwa empty.kwa -o jsonl"}},
	"archive export": {unread: []string{"archive export a.kwa --as jsonl"}},
	"archive info":   {fifo: []string{"archive info FIFO"}},
	"archive ls":     {fifo: []string{"archive ls FIFO"}, unread: []string{"archive ls a.kwa"}},
	"archive verify": {fifo: []string{"archive verify FIFO"}},
	"audit": {server: []string{"audit -u URL", "audit -u URL --snapshot"},
		stdin: []string{"audit -"},
		fifo:  []string{"audit -u URL --baseline FIFO"}},
	"backup": {server: []string{
		"backup -u URL --to b.kwa --replace-file",
		"backup -u URL --to b.kwa --replace-file --snapshot"},
		stdin: []string{"backup --to c.kwa --replace-file -"}},
	"breaking":        {unread: []string{"breaking -f keyspace.yaml --against large.yaml -o json"}},
	"clean":           {server: []string{"clean -u URL --apply"}},
	"completion bash": {unread: []string{"completion bash"}},
	"completion fish": {unread: []string{"completion fish"}}, "completion zsh": {unread: []string{"completion zsh"}},
	"completion powershell": {unread: []string{"completion powershell"}},
	"copy": {server: []string{
		"copy URL OTHER",
		"copy URL OTHER --apply --existing replace",
		"copy URL OTHER --apply --existing replace --snapshot"}},
	"delete": {server: []string{
		"delete -u URL --match stray:* --apply",
		"delete -u URL --match stray:* --plan x.plan"}},
	"demo":             {unread: []string{"demo --dir EXAMPLES --keys 2000"}},
	"diff":             {unread: []string{"diff keyspace.yaml large.yaml -o json"}},
	"doctor":           {server: []string{"doctor -u URL"}},
	"entities":         {server: []string{"entities -u URL"}},
	"entities check":   {server: []string{"entities check -u URL"}},
	"entities index":   {server: []string{"entities index -u URL --apply"}},
	"entities indexes": {server: []string{"entities indexes -u URL"}},
	"entities repair":  {server: []string{"entities repair -u URL --apply"}},
	"explain":          {server: []string{"explain --key t:1 -u URL"}, stdin: []string{"explain --key x -f -"}},
	"fmt":              {stdin: []string{"fmt -"}, unread: []string{"fmt large.yaml"}},
	"gen":              {stdin: []string{"gen go --out out -f -"}},
	"help":             {brief: "prints a page that is in the program"},
	"infer": {server: []string{"infer -u URL"},
		stdin: []string{"infer -", "infer --from-doc -"},
		fifo:  []string{"infer --from-doc FIFO"}},
	"init":             {brief: "writes two small files"},
	"lint":             {stdin: []string{"lint -"}, unread: []string{"lint -f large.yaml -o json"}},
	"locks":            {server: []string{"locks -u URL"}},
	"locks break":      {server: []string{"locks break lock:1 -u URL --apply"}},
	"ls":               {server: []string{"ls -u URL"}, stdin: []string{"ls -"}, unread: []string{"ls a.kwa"}},
	"match":            {stdin: []string{"match"}},
	"merge":            {stdin: []string{"merge -"}, fifo: []string{"merge FIFO"}},
	"migrate advance":  {server: []string{"migrate advance -u URL --apply"}},
	"migrate diff":     {stdin: []string{"migrate diff -f -"}},
	"migrate export":   {server: []string{"migrate export -u URL --to exported"}},
	"migrate import":   {server: []string{"migrate import -u URL --apply"}},
	"migrate plan":     {stdin: []string{"migrate plan -f -"}},
	"migrate repair":   {server: []string{"migrate repair -u URL --all --apply"}},
	"migrate rollback": {server: []string{"migrate rollback -u URL --apply"}},
	"migrate status":   {server: []string{"migrate status -u URL"}},
	"migrate verify":   {server: []string{"migrate verify -u URL"}},
	"queues":           {server: []string{"queues -u URL"}},
	"rankings around":  {server: []string{"rankings around board:2025-01-15 a -u URL"}},
	"rankings top":     {server: []string{"rankings top board:2025-01-15 -u URL", "rankings -u URL"}},
	"queues cancel":    {server: []string{"queues cancel jobs --all -u URL --apply"}},
	"queues run":       {server: []string{"queues run jobs a -u URL --apply"}},
	"queues discard":   {server: []string{"queues discard jobs --all -u URL --apply"}},
	"queues pause":     {server: []string{"queues pause jobs -u URL --apply"}},
	"queues repair":    {server: []string{"queues repair jobs -u URL --apply"}},
	"queues resume":    {server: []string{"queues resume jobs -u URL --apply"}},
	"queues retry":     {server: []string{"queues retry jobs --all -u URL --apply"}},
	"rename": {server: []string{
		"rename -u URL --map user:{x}=person:{x} --apply",
		"rename -u URL --map user:{x}=person:{x} --plan y.plan"}},
	"restore": {server: []string{"restore a.kwa -u URL --existing replace --apply"},
		fifo: []string{"restore FIFO"}},
	"rules":       {unread: []string{"rules"}},
	"schema":      {unread: []string{"schema"}},
	"seal adopt":  {server: []string{"seal adopt -u URL --keys-file ring.json --apply"}},
	"seal key":    {brief: "writes one small file"},
	"seal rotate": {server: []string{"seal rotate -u URL --keys-file ring.json --apply"}},
	"seal status": {server: []string{"seal status -u URL --keys-file ring.json"},
		stdin: []string{"seal status -u URL --keys-file ring.json -f -"}},
	"serve":       {brief: "TestServe interrupts it"},
	"serve token": {brief: "prints a line"},
	"serve check": {brief: "asks once, for four seconds at most"},

	"janitor next": {brief: "prints a few lines of a declaration"},
	"janitor run":  {brief: "does what clean, ttl and backup do, which are interrupted"},
	"status":       {server: []string{"status -u URL"}},
	"top":          {server: []string{"top -u URL"}, stdin: []string{"top -"}},
	"ttl":          {server: []string{"ttl -u URL --apply"}},
	"verify":       {server: []string{"verify URL OTHER"}, fifo: []string{"verify FIFO a.kwa"}},
	"version":      {brief: "prints a line"},
}

// interruptKeyspace has what each command looks for.
const interruptKeyspace = `keywright: 1
package: shop
owner: o
keys:
  jobs: {key: jobs, type: queue, ttl: none}
  hold: {key: "lock:{n}", type: lock, ttl: 30s}
  board: {key: "board:{day}", type: ranking, member: text, ttl: 7d}
  note: {key: "note:{id}", type: entity, ttl: 1d, fields: {kind: slug}, index: {kind: "notes:kind:{kind}"}}
  token: {key: "t:{id}", type: string, value: text encrypted, ttl: none}
  user: {key: "user:{x}", type: string, ttl: 1h}
  moved: {key: "moved:{x}", type: string, value: text, ttl: none}
vars: {day: date YYYY-MM-DD}
cleanup:
  - {match: "user:*", keep: 1}
migrations:
  files: {sources: {state: {file: state.json}}, parts: {users: {moves: [{from: "state:/{x}", to: moved, value: .}]}}}
`

// fillInterrupted makes keys that each command has something to do with.
const fillInterrupted = `redis.call('FLUSHALL')
for i = 1, 40 do
	redis.call('SET', '{jobs}:job:j'..i, 'q1 1 - 0 - -\nx')
	redis.call('HSET', '{jobs}:runs', 'j'..i, '- 6 5 1 0 0 r1\nwhy\n')
	redis.call('ZADD', '{jobs}:dead', i, 'j'..i)
	redis.call('SET', 't:'..i, 'plain')
	redis.call('SET', 'user:'..i, 'x')
	redis.call('SET', 'stray:'..i, 'x')
	redis.call('HSET', 'note:'..i, 'kind', 'a')
	redis.call('PEXPIRE', 'note:'..i, 80000000)
	redis.call('ZADD', 'notes:kind:b', 0, i)
end
redis.call('ZADD', 'board:2025-01-15', 1, 'a')
redis.call('SET', 'lock:1', 'w/1', 'PX', 30000)`

// TestEveryCommandEndsWhenItIsInterrupted: whatever a command waits for, a server that
// stops answering at its first, its last or another request, standard input, a file that
// is not written to, or a reader of its result, it ends with code 130 when it is asked
// to, within a second, and leaves no temporary file.
func TestEveryCommandEndsWhenItIsInterrupted(t *testing.T) {
	gate.Skip(t, "400 programs, measures milliseconds")
	t.Parallel()
	known := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		_, name, _ := strings.Cut(c.CommandPath(), " ")
		if known[name] = c.Runnable(); known[name] && name != "" {
			if _, ok := interruptions[name]; !ok && !c.HasSubCommands() {
				t.Errorf("%s is interrupted by no run", name)
			}
		}
		for _, s := range c.Commands() {
			walk(s)
		}
	}
	walk(command.New())
	for name, i := range interruptions {
		if !known[name] && name != "help" {
			t.Errorf("there is no command %s", name)
		}
		if i.brief == "" {
			t.Run(name, func(t *testing.T) { t.Parallel(); newInterrupter(t, i).all(name) })
		}
	}
}

// ending describes how a line ends that nothing halts.
type ending struct {
	code, requests int
	said           string
}

// interrupter runs the lines of a command.
type interrupter struct {
	interruption
	*testing.T
	dir      string
	halt     *halting
	servers  [2]*keywrighttest.Server
	replace  *strings.Replacer
	signals  int
	ends     map[string]ending // of the lines that were run
	whole    string            // what a run says that comes to its end
	took     time.Duration     // from a signal to the end, less what this machine is late
	complete int               // exit code of a run that has said all, and only says goodbye; -1: none is
}

func newInterrupter(t *testing.T, i interruption) *interrupter {
	r := &interrupter{interruption: i, T: t, dir: t.TempDir(), halt: &halting{}, ends: map[string]ending{}, complete: -1}
	r.halt.set(-1)
	large := "keywright: 1\npackage: large\nowner: o\nkeys:\n"
	for n := range 300 {
		large += fmt.Sprintf("  e%d: {key:   \"e%d:{x}:{y}\", type: string}\n", n, n)
	}
	for name, text := range map[string]string{"keyspace.yaml": interruptKeyspace, "large.yaml": large,
		"state.json": `{"a": "1", "b": "2"}`} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(unix.Mkfifo(filepath.Join(r.dir, "fifo"), 0o600),
		os.Mkdir(filepath.Join(r.dir, "tmp"), 0o700)); err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	if len(i.server) == 0 && !strings.Contains(strings.Join(slices.Concat(i.fifo, i.unread), " "), ".kwa") {
		r.replace = strings.NewReplacer("URL", "redis://127.0.0.1:1", "FIFO", "fifo", "EXAMPLES", examples)
		return r
	}
	for i := range r.servers {
		r.servers[i] = keywrighttest.Start(t, keywrighttest.Redis)
	}
	r.fill()
	url, other := "redis://"+r.halt.front(t, r.servers[0].Addr()), "redis://"+r.halt.front(t, r.servers[1].Addr())
	r.replace = strings.NewReplacer("URL", url, "OTHER", other, "FIFO", "fifo")
	r.made()
	return r
}

// made gives the files that the lines read: the first command makes them for all.
func (r *interrupter) made() {
	madeFiles.Lock()
	defer madeFiles.Unlock()
	if madeFiles.text == nil {
		for _, line := range []string{"seal key ring.json", "backup -u URL --to a.kwa",
			"backup -u URL --to empty.kwa --match nosuch"} {
			if code, said := r.toItsEnd(line); code != 0 {
				r.Fatalf("%s: %d, %s", line, code, said)
			}
		}
		text := map[string][]byte{}
		for _, name := range []string{"ring.json", "a.kwa", "empty.kwa"} {
			var err error
			if text[name], err = os.ReadFile(filepath.Join(r.dir, name)); err != nil {
				r.Fatal(err)
			}
		}
		madeFiles.text = text
	}
	for name, text := range madeFiles.text {
		if err := os.WriteFile(filepath.Join(r.dir, name), text, 0o600); err != nil {
			r.Fatal(err)
		}
	}
}

var madeFiles struct {
	sync.Mutex
	text map[string][]byte
}

// fill makes the servers and the plans as they are before each run.
func (r *interrupter) fill() {
	r.servers[0].Do("EVAL", fillInterrupted, "0")
	r.servers[1].Do("FLUSHALL")
}

func (r *interrupter) program(line string) *exec.Cmd {
	cmd := exec.Command("keywright", strings.Fields(r.replace.Replace(line))...)
	cmd.Dir, cmd.Env = r.dir, append(bare(os.Environ()), "TMPDIR="+filepath.Join(r.dir, "tmp"))
	return cmd
}

func (r *interrupter) toItsEnd(line string) (code int, said string) {
	cmd := r.program(line)
	out, _ := cmd.CombinedOutput() // the code is looked at
	return cmd.ProcessState.ExitCode(), string(out)
}

func (r *interrupter) all(name string) {
	for _, line := range r.server {
		for _, part := range []int{0, 1, 2} {
			r.soon(line, func() {
				r.atRequest(line, part, func(waits string, halted <-chan struct{}) bool {
					return r.interrupted(line, waits, nil, halted, nil)
				})
			})
		}
	}
	for _, line := range r.stdin {
		r.soon(line, func() { r.reading(line) })
	}
	for _, line := range r.fifo {
		r.soon(line, func() { r.opening(line) })
	}
	for _, line := range r.unread {
		r.soon(line, func() { r.printing(line) })
	}
	left, err := os.ReadDir(filepath.Join(r.dir, "tmp"))
	if err != nil || len(left) > 0 {
		r.Errorf("%s leaves %v, %v", name, left, err)
	}
}

// soon fails if what is interrupted takes more than a second to end, three times, apart
// from how late this machine is with everything.
func (r *interrupter) soon(line string, run func()) {
	for range 3 {
		r.took = 0
		if run(); r.took <= time.Second {
			return
		}
	}
	r.Errorf("%s takes %v to end when it is told to, and did so three times", line, r.took)
}

// lateness is the most that a timer of this program is late until it is stopped.
func lateness() (stop func() time.Duration) {
	end, worst := make(chan struct{}), make(chan time.Duration)
	go func() {
		most := time.Duration(0)
		for {
			const nap = 10 * time.Millisecond
			began := time.Now()
			select {
			case <-end:
				worst <- most
				return
			case <-time.After(nap):
				most = max(most, time.Since(began)-nap)
			}
		}
	}()
	return func() time.Duration { close(end); return <-worst }
}

// atRequest lets a server stop at the first request, in the middle, or at the last one,
// and runs a command with it. A run is false if the server was not asked that often.
func (r *interrupter) atRequest(line string, part int, run func(waits string, halted <-chan struct{}) bool) {
	prepare := func() {
		r.halt.set(-1)
		r.fill()
		r.migrating(line)
		if name, isPlan := strings.CutSuffix(strings.Fields(line)[1], ".plan"); isPlan {
			for _, ending := range []string{"", ".journal", ".undo"} {
				_ = os.Remove(filepath.Join(r.dir, name+".plan"+ending))
			}
			make := map[string]string{"delete": "delete -u URL --match stray:*",
				"rotate": "seal adopt -u URL --keys-file ring.json"}[name]
			if code, said := r.toItsEnd(make + " --plan " + name + ".plan"); code != 0 {
				r.Fatalf("%s: %d, %s", make, code, said)
			}
			r.halt.set(-1)
		}
	}
	clear := func() {
		for _, old := range []string{"x.plan", "y.plan", "y.plan.undo"} {
			_ = os.Remove(filepath.Join(r.dir, old))
		}
	}
	clear()
	end, known := r.ends[line]
	if !known {
		prepare()
		code, said := r.toItsEnd(line)
		if code > 1 && code != 5 {
			r.Fatalf("%s ends with %d: %s", line, code, said)
		}
		end = ending{code: code, requests: r.halt.seen, said: said}
		r.ends[line] = end
		clear()
	}
	r.whole = end.said
	defer func() { r.complete = -1 }()
	for at := part * (end.requests - 1) / 2; at >= 0; at-- { // a run may have fewer requests than another one
		prepare()
		halted := r.halt.set(at)
		if r.complete = -1; at == end.requests-1 {
			r.complete = end.code
		}
		if run(fmt.Sprintf("request %d of %d", at+1, end.requests), halted) {
			return
		}
	}
	r.Errorf("%s is never halted", line)
}

// migrating brings a migration to the phase that a line begins in.
func (r *interrupter) migrating(line string) {
	if !strings.HasPrefix(line, "migrate ") {
		return
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(r.dir, ".keywright")),
		os.RemoveAll(filepath.Join(r.dir, "exported"))); err != nil {
		r.Fatal(err)
	}
	steps := []string{"migrate plan", "migrate advance -u URL --apply"}
	if strings.Contains(line, "advance") {
		steps = steps[:1]
	}
	for _, step := range steps {
		if code, said := r.toItsEnd(step); code != 0 {
			r.Fatalf("%s: %d, %s", step, code, said)
		}
	}
	r.halt.set(-1)
}

// reading gives more than a pipe holds: the program is up and reads.
func (r *interrupter) reading(line string) {
	begin := []byte("# a comment\n")
	if !strings.Contains(line, "-f -") && !slices.Contains([]string{"lint -", "fmt -", "match"}, line) &&
		!strings.Contains(line, "doc") {
		begin = []byte("REDIS0011\x00\x01k\x80\x7f\xff\xff\xff") // a string that goes on
	}
	if line == "match" {
		begin = []byte("a:x\n")
	}
	in, w := io.Pipe()
	defer w.Close()
	read := make(chan struct{})
	go func() {
		if _, err := w.Write(append(begin, bytes.Repeat([]byte("#23456789\n"), 1<<14)...)); err == nil {
			close(read)
		}
	}()
	if !r.interrupted(line, "standard input", in, read, nil) {
		r.Errorf("%s does not read its input", line)
	}
}

// opening waits for the program at the other end of a file.
func (r *interrupter) opening(line string) {
	path := filepath.Join(r.dir, "fifo")
	opened := make(chan struct{})
	var file *os.File
	go func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0) // returns when there is a reader
		if err != nil {
			return
		}
		file = f
		close(opened)
	}()
	defer func() {
		if file != nil {
			file.Close()
		}
	}()
	if !r.interrupted(line, "a file", nil, opened, nil) {
		r.Errorf("%s does not read the file", line)
		if f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0); err == nil { // ends the one above
			<-opened
			f.Close()
		}
	}
}

// printing gives both outputs one small pipe, which nothing reads.
func (r *interrupter) printing(line string) {
	in, out, err := os.Pipe()
	if err == nil {
		_, err = unix.FcntlInt(out.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
	}
	if err != nil {
		r.Fatal(err)
	}
	defer in.Close()
	begun, end := make(chan struct{}), make(chan struct{})
	defer close(end)
	go func() {
		for tick := time.NewTicker(time.Millisecond); ; {
			if n, err := unix.IoctlGetInt(int(in.Fd()), unix.TIOCINQ); err != nil || n > 0 {
				close(begun)
				return
			}
			select {
			case <-tick.C:
			case <-end:
				return
			}
		}
	}()
	if !r.interrupted(line, "a reader", nil, begun, out) {
		r.Errorf("%s ends, and its result is not read", line)
	}
}

// interrupted starts a program, sends it a signal when it is ready, and wants it to end.
// It is false if the program ended before.
func (r *interrupter) interrupted(line, waits string, in io.Reader, ready <-chan struct{}, out *os.File) bool {
	cmd := r.program(line)
	said := &bytes.Buffer{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, said, said
	if out != nil {
		cmd.Stdout, cmd.Stderr = out, out
	}
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	if out != nil {
		out.Close()
	}
	ended := make(chan *os.ProcessState, 1)
	go func() {
		state, _ := cmd.Process.Wait()
		ended <- state
	}()
	select {
	case state := <-ended:
		r.Logf("%s: %v before it waits for %s", line, state, waits)
		return false
	case <-ready:
	}
	signal := []os.Signal{syscall.SIGTERM, os.Interrupt}[r.signals%2]
	r.signals++
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	stop := lateness()
	began := time.Now()
	_ = cmd.Process.Signal(signal)
	state := <-ended
	took := time.Since(began)
	r.took = max(r.took, took-4*stop())
	late.Stop()
	if c, ok := in.(io.Closer); ok {
		c.Close()
	}
	_ = cmd.Wait() // its outputs
	if code := state.ExitCode(); code != 130 && !(code >= 0 && code == r.complete) {
		r.Errorf("%v to %s, which waits for %s: %v, %s", signal, line, waits, state, said)
	}
	r.Logf("%v: %s, which waits for %s", took.Round(time.Millisecond), line, waits)
	return true
}
