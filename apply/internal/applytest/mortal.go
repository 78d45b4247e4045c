package applytest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/redis/rueidis"
)

// mortal is the client of a process that dies at a moment, by kill -9 from within. Each command has two moments: before
// it is sent, and when it was answered.
type mortal struct{ rueidis.Client }

// left is how many moments the process lives.
var left atomic.Int64

// moment ends the process at its last one.
func moment() {
	if left.Add(-1) != 0 {
		return
	}
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}

// Mortals returns the options of a process that dies at the moment which [Dies] has set.
func Mortals() keywright.Options {
	n, _ := strconv.ParseInt(os.Getenv("DIES_AT"), 10, 64)
	left.CompareAndSwap(0, n)
	return keywright.Options{NoCache: true, Wrap: func(c rueidis.Client) rueidis.Client { return mortal{c} }}
}

func (m mortal) Do(ctx context.Context, c rueidis.Completed) rueidis.RedisResult {
	moment()
	defer moment()
	return m.Client.Do(ctx, c)
}

func (m mortal) DoMulti(ctx context.Context, c ...rueidis.Completed) []rueidis.RedisResult {
	moment()
	defer moment()
	return m.Client.DoMulti(ctx, c...)
}

func (m mortal) Dedicated(f func(rueidis.DedicatedClient) error) error {
	return m.Client.Dedicated(func(c rueidis.DedicatedClient) error { return f(mortalDedicated{c}) })
}

type mortalDedicated struct{ rueidis.DedicatedClient }

func (m mortalDedicated) Do(ctx context.Context, c rueidis.Completed) rueidis.RedisResult {
	moment()
	defer moment()
	return m.DedicatedClient.Do(ctx, c)
}

func (m mortalDedicated) DoMulti(ctx context.Context, c ...rueidis.Completed) []rueidis.RedisResult {
	moment()
	defer moment()
	return m.DedicatedClient.DoMulti(ctx, c...)
}

// Dies runs this program with an environment, to die at a moment, 0: at none. It says whether it did; else the process
// has come to its end, and out is what it has printed.
func Dies(t *testing.T, at int, environment ...string) (out string, died bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), environment...), "DIES_AT="+strconv.Itoa(at))
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() < 0 {
		return "", true
	}
	expect.NoError(t, err)
	return string(text), false
}
