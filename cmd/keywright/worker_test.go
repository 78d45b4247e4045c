package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/command"
	"github.com/keywright/keywright/internal/wire"
	"github.com/rogpeppe/go-internal/testscript"
)

// A script that says `run audit …` has this command of keywright run by a worker: a program that runs one command after
// another, each in the folder and with the environment of its script. To start the program for each costs more than most
// commands do. `exec keywright audit …` starts it: where it reads stdin, runs in the background, or is interrupted.

// order asks a worker for a command.
type order struct {
	Dir       string
	Args, Env []string
}

// result is what a command wrote, and its exit code.
type result struct {
	Code     int
	Out, Err []byte
}

func init() { programs["keywright-worker"] = work }

// work answers orders until its input ends.
func work() {
	wire.Frugal(wire.MaxItems)
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var o order
		if in.Decode(&o) != nil {
			os.Exit(0)
		}
		_ = out.Encode(o.run())
	}
}

func (o order) run() result {
	if err := os.Chdir(o.Dir); err != nil {
		return result{Code: -1, Err: []byte(err.Error())}
	}
	os.Clearenv()
	for _, v := range o.Env {
		name, value, _ := strings.Cut(v, "=")
		_ = os.Setenv(name, value)
	}
	var out, errs bytes.Buffer
	code := command.Main(context.Background(), o.Args,
		cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: os.Getenv, Environ: os.Environ})
	return result{code, out.Bytes(), errs.Bytes()}
}

// worker is a program that runs one command after another.
type worker struct {
	in  *json.Encoder
	out *json.Decoder
}

// workers holds those that have nothing to do. They end with the program of the tests, which holds their input.
var workers struct {
	sync.Mutex
	idle []*worker
}

func takeWorker() (*worker, error) {
	workers.Lock()
	defer workers.Unlock()
	if n := len(workers.idle); n > 0 {
		w := workers.idle[n-1]
		workers.idle = workers.idle[:n-1]
		return w, nil
	}
	path, err := exec.LookPath("keywright-worker")
	if err != nil {
		return nil, err
	}
	c := exec.Command(path)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &worker{json.NewEncoder(in), json.NewDecoder(out)}, c.Start()
}

// runCommand lets a worker run a command of a script.
func runCommand(ts *testscript.TestScript, args []string) result {
	o := order{Dir: ts.MkAbs("."), Args: args}
	for _, name := range scriptVariables(ts) {
		if v := ts.Getenv(name); v != "" {
			o.Env = append(o.Env, name+"="+v)
		}
	}
	w, err := takeWorker()
	ts.Check(err)
	var r result
	ts.Check(w.in.Encode(o))
	ts.Check(w.out.Decode(&r))
	workers.Lock()
	workers.idle = append(workers.idle, w)
	workers.Unlock()
	_, err = ts.Stdout().Write(r.Out)
	ts.Check(err)
	_, err = ts.Stderr().Write(r.Err)
	ts.Check(err)
	return r
}

// run is `run ARG…`: keywright, by a worker.
func run(ts *testscript.TestScript, not bool, args []string) {
	switch code := runCommand(ts, args).Code; {
	case code == 0 && not:
		ts.Fatalf("unexpected command success")
	case code != 0 && !not:
		ts.Fatalf("exits with %d", code)
	}
}

var settings = regexp.MustCompile(`(?m)^env .*`)

// setByScripts lists the variables that a script sets itself.
var setByScripts = sync.OnceValues(func() ([]string, error) {
	files, err := filepath.Glob("testdata/script/*/*.txtar")
	var names []string
	for _, file := range files {
		text, failed := os.ReadFile(file)
		if failed != nil {
			return nil, failed
		}
		for _, line := range settings.FindAllString(string(text), -1) {
			names = append(names, namesOf(strings.Fields(line)[1:])...)
		}
	}
	return names, err
})

// scriptVariables returns the names of all variables that a script may have.
func scriptVariables(ts *testscript.TestScript) []string {
	names, _ := ts.Value("names").([]string)
	more, err := setByScripts()
	ts.Check(err)
	return append(names[:len(names):len(names)], more...)
}

// namesOf returns the names of variables of the form NAME=VALUE.
func namesOf(vars []string) []string {
	names := make([]string, len(vars))
	for i, v := range vars {
		names[i], _, _ = strings.Cut(v, "=")
	}
	return names
}
