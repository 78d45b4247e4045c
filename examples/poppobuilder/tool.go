package poppobuilder

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/keywright/keywright"
)

// Tool represents the program keywright, which backs up and cleans up by the declaration.
type Tool struct {
	Keywright   string // the program; "": keywright
	Declaration string // keyspace.yaml; "": no backup and no clean-up
}

// run executes it on a server; it ends with ctx, and so with the lock.
func (t Tool) run(ctx context.Context, url string, args ...string) error {
	c := exec.CommandContext(ctx, cmp.Or(t.Keywright, "keywright"), args...)
	c.Env = append(os.Environ(), "KEYWRIGHT_URL="+url)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // it leaves nothing half done
	c.WaitDelay = 5 * time.Second
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Run(); err != nil {
		return fmt.Errorf("keywright %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return nil
}

// Cleanup says how often scratch keys are cleaned up.
type Cleanup struct {
	URL   string        // of the server, for a user that may delete them
	Every time.Duration // 0: 1 h
}

// cleanUp executes the rules under cleanup of the declaration, in the daemon's
// namespace: one daemon at a time, and one an hour.
func (d *Daemon) cleanUp(ctx context.Context) error {
	lease, err := d.keys.LockCleanup().Try(ctx)
	if err != nil {
		return err
	}
	defer func() {
		ctx, stop := after(ctx)
		defer stop()
		_ = lease.Release(ctx)
	}()
	ctx = lease.Context()
	last, err := d.keys.CleanupLast().Get().Do(ctx)
	if err != nil && !errors.Is(err, keywright.ErrNotFound) {
		return err
	}
	if err == nil && time.Since(last) < d.o.Cleanup.Every {
		return nil
	}
	tool := d.o.Tool
	if err := tool.run(ctx, d.o.Cleanup.URL, "clean", "--file", tool.Declaration, "--namespace", d.o.Namespace, "--apply",
		"--quiet"); err != nil {
		return err
	}
	d.log.Debug("scratch keys are cleaned up")
	return d.keys.CleanupLast().Set(time.Now()).Do(ctx)
}
