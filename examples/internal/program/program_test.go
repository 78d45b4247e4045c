package program

import (
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestHasPassword: a password is found wherever a URL of Redis may have one, also in a URL that
// is not well formed.
func TestHasPassword(t *testing.T) {
	for text, want := range map[string]bool{
		"redis://h:1": false, "redis://u@h:1": false, "redis+sentinel://a:1,b:2/m?sentinel_user=u": false,
		"redis://[::1]:1": false, "": false,
		"redis://u:p@h:1": true, "redis://:p@h:1": true, "redis://u:p%zz@h:1": true, "redis://u:p@ss/word@h:1": true,
		"u:p@h:1":          true,
		"redis://u:p ss@h": true, "redis+sentinel://a:1/m?sentinel_password=p": true,
		"redis+sentinel://u@a:1/m?db=1&Sentinel_Password=p": true,
	} {
		if got := HasPassword(text); got != want {
			t.Errorf("%q has a password: %t", text, got)
		}
	}
}

// TestParse: variables are read where no flag is given; a password is taken of a variable only.
func TestParse(t *testing.T) {
	const secret = "redis://u:secret@h:1"
	for name, c := range map[string]struct {
		env, arg, want, wrong string
	}{
		"neither":              {"", "", "redis://h", ""},
		"a variable":           {secret, "", secret, ""},
		"a flag":               {"", "-the-redis=redis://x", "redis://x", ""},
		"both":                 {secret, "-the-redis=redis://x", "redis://x", ""},
		"a password in a flag": {"", "-the-redis=" + secret, "", "TEST_THE_REDIS"},
		"in both":              {secret, "-the-redis=" + secret, "", "TEST_THE_REDIS"},
		"of a sentinel":        {"", "-the-redis=redis+sentinel://a:1/m?sentinel_password=secret", "", "TEST_THE_REDIS"},
	} {
		t.Setenv("TEST_THE_REDIS", c.env)
		f := flag.NewFlagSet("test", flag.ContinueOnError)
		f.SetOutput(io.Discard)
		url := f.String("the-redis", "redis://h", "")
		err := Parse(f, strings.Fields(c.arg), "TEST", "the-redis")
		if c.wrong == "" && (err != nil || *url != c.want) {
			t.Errorf("%s: %q, %v", name, *url, err)
		}
		if c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong) ||
			strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Setenv("TEST_N", "secret")
	f := flag.NewFlagSet("test", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Int("n", 0, "")
	if err := Parse(f, nil, "TEST"); err == nil || !strings.Contains(err.Error(), "TEST_N") ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("a variable that cannot be read: %v", err)
	}
}

// TestServe: what is under way when a program is asked to stop is answered.
func TestServe(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(entered)
			<-ctx.Done()
			w.WriteHeader(http.StatusTeapot)
		}), time.Minute)
	}()
	codes := make(chan int, 1)
	go func() {
		r, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			codes <- 0
			return
		}
		codes <- r.StatusCode
	}()
	<-entered
	stop()
	if code := <-codes; code != http.StatusTeapot {
		t.Errorf("the answer was %d", code)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
