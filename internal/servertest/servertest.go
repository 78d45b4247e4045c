// Package servertest has what the tests of many packages do with a real server: they open a client, run for each
// brand, and fill its memory.
//
// It is for tests of this project, and imports testing. Package keywrighttest starts the servers, and expect waits.
package servertest

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// Open opens a client, with at most one value of options, and closes it when the test ends.
func Open(t testing.TB, url string, o ...keywright.Options) *keywright.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
	defer cancel()
	c, err := keywright.Open(ctx, url, append(o, keywright.Options{})[0])
	expect.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// OpenPatient opens a client for a server that goes away and comes back: it tries often, and each try is short.
func OpenPatient(t testing.TB, url string) *keywright.Client {
	t.Helper()
	return Open(t, url, keywright.Options{Attempts: 20, Timeout: 2 * time.Second})
}

// Brands runs a test for each brand of server, at the same time; in the gate for one that follows from its name.
func Brands(t *testing.T, run func(*testing.T, keywrighttest.Brand)) {
	t.Helper()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) { t.Parallel(); run(t, brand) })
	}
}

// Clients runs a test for each brand, with a server whose scripts are watched and a client of it.
func Clients(t *testing.T, run func(*testing.T, *keywrighttest.Server, *keywright.Client)) {
	t.Helper()
	Brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		s.WatchScripts()
		run(t, s, Open(t, s.URL()))
	})
}

// Press gives a server so little memory that what it uses is the ratio of its limit.
func Press(t testing.TB, s *keywrighttest.Server, ratio float64) {
	t.Helper()
	used, err := strconv.ParseFloat(s.Info("used_memory"), 64)
	expect.NoError(t, err)
	s.Do("CONFIG", "SET", "maxmemory", strconv.Itoa(int(used/ratio)))
}

// Config returns how a server is reached.
func Config(t testing.TB, url string) connect.Config {
	t.Helper()
	c, err := connect.New(connect.Options{URL: url})
	expect.NoError(t, err)
	return c
}
