package cache_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// reader is what this test program is when another has started it: so many
// goroutines that read one cold key through a loader that counts on the server.
func reader() bool {
	url := os.Getenv("KEYWRIGHT_TEST_READER")
	if url == "" {
		return false
	}
	if err := readers(url); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	return true
}

func readers(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), expect.Patience)
	defer cancel()
	c, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	o := cache.Options{Lease: time.Hour}
	i := cache.New(keywright.Binding{Client: c, Entry: &page}, &text, o).Key("page:cold", nil)
	raw := c.Raw()
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	errs := make(chan error, 250)
	var all sync.WaitGroup
	for range cap(errs) {
		all.Go(func() {
			v, err := i.GetOrLoad(ctx, func(ctx context.Context) (string, error) {
				if err := raw.Do(ctx, raw.B().Incr().Key("loads").Build()).Error(); err != nil {
					return "", err
				}
				return slow(ctx)
			})
			if err == nil && v != "loaded" {
				err = fmt.Errorf("got %q", v)
			}
			errs <- err
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	fmt.Println("done")
	return nil
}

// slow takes 20 ms, by the server's clock, which makes the readers pile up.
func slow(ctx context.Context) (string, error) {
	timer := time.NewTimer(20 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return "loaded", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// TestStampede is C1: 1,000 simultaneous readers of a cold key in four processes
// are one load.
func TestStampede(t *testing.T) {
	t.Parallel()
	rounds := 1
	if gate.All() {
		rounds = 3
	}
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			for range rounds {
				s.Do("DEL", "page:cold", "loads")
				stampede(t, s)
				if n := s.Do("GET", "loads"); n != "1" {
					t.Errorf("%v loads, want 1", n)
				}
			}
		})
	}
}

func stampede(t *testing.T, s *keywrighttest.Server) {
	t.Helper()
	type child struct {
		cmd *exec.Cmd
		go_ func()
		out *bufio.Scanner
	}
	var children []child
	for range 4 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "KEYWRIGHT_TEST_READER="+s.URL())
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, child{cmd, func() { fmt.Fprintln(in); in.Close() }, bufio.NewScanner(out)})
	}
	for _, c := range children {
		if !c.out.Scan() || c.out.Text() != "ready" {
			t.Errorf("a reader said %q", c.out.Text())
		}
	}
	for _, c := range children {
		c.go_()
	}
	for _, c := range children {
		if !c.out.Scan() || c.out.Text() != "done" {
			t.Errorf("a reader said %q", c.out.Text())
		}
		if err := c.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}
