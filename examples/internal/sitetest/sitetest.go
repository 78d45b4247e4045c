// Package sitetest runs what an example is made of, for its tests: servers with the users that
// `keywright acl print` prints and the default user off, programs that are stopped and killed,
// units as systemd reads them, and the requests of a README.
package sitetest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/kernel/guard"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
)

var (
	// Must ends a test with an error.
	Must = expect.NoError
	// Await waits for a condition that must come to hold.
	Await = expect.Eventually
)

// OnBrands runs a test for each brand of server, in the gate for one of them, beside other tests.
func OnBrands(t *testing.T, run func(t *testing.T, brand keywrighttest.Brand)) {
	t.Helper()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) { t.Parallel(); run(t, brand) })
	}
}

// Everywhere runs a test on a server and on a cluster of each brand, in the gate on a server of one of them.
func Everywhere(t *testing.T, run func(t *testing.T, url string, servers []*keywrighttest.Server)) {
	t.Helper()
	OnBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		run(t, s.URL(), []*keywrighttest.Server{s})
	})
	for _, brand := range keywrighttest.Brands() {
		t.Run(string(brand)+" cluster", func(t *testing.T) {
			gate.Skip(t, "the constructs are tested on clusters")
			t.Parallel()
			c := keywrighttest.StartCluster(t, brand, 3, 0)
			run(t, c.URL(), c.Nodes)
		})
	}
}

// Guard refuses what the declaration of a folder does not have.
func Guard(t testing.TB, folder string) *guard.Guard {
	t.Helper()
	ks, findings := load.File(os.DirFS(folder), "keyspace.yaml")
	if len(findings) > 0 {
		t.Fatal(findings[0].Message)
	}
	g, err := guard.New(ks, guard.Options{})
	Must(t, err)
	return g
}

// Word is the password of all users.
const Word = "word"

// Off is a default user that no client can log in as, with the rights that a server needs to
// read its AOF.
const Off = "user default off ~* +@all\n"

// Printed returns the users that `keywright acl print` prints for the programs of a declaration and for an operator,
// without passwords, after a default user that is off.
func Printed(t *testing.T) string {
	t.Helper()
	return Off + Keywright(t, "", "acl", "print", "--quiet") + Operator(t)
}

// Operator returns the user of a person who looks, saves, changes and repairs by `keywright`, as it prints it.
func Operator(t *testing.T) string {
	t.Helper()
	return Keywright(t, "", "acl", "print", "--quiet", "--self", "--backup", "--change", "--repair", "--user", "operator")
}

// AsOperator makes the user of an operator on a server, and returns its URL there.
func AsOperator(t *testing.T, s *keywrighttest.Server) string {
	t.Helper()
	s.Do(append([]string{"ACL", "SETUSER"}, append(strings.Fields(Operator(t))[1:], ">"+Word)...)...)
	return URL(s, "operator")
}

// Protected starts a server with these users and one of the tests, which may do everything;
// each has Word as its password.
func Protected(
	t *testing.T, brand keywrighttest.Brand, users string, options ...keywrighttest.Option,
) *keywrighttest.Server {
	t.Helper()
	return keywrighttest.Start(t, brand, append(options, Users(t, users)...)...)
}

// Users returns the options of a server with these users, as Protected has them.
func Users(t *testing.T, users string) []keywrighttest.Option {
	t.Helper()
	with := "user test on >" + Word + " ~* &* +@all\n"
	off := false
	for line := range strings.Lines(users) {
		if line == Off {
			off = true
		} else {
			line = strings.TrimSpace(line) + " >" + Word + "\n"
		}
		with += line
	}
	if !off {
		t.Fatal("the default user is not off")
	}
	file := filepath.Join(t.TempDir(), "users.acl")
	Must(t, os.WriteFile(file, []byte(with), 0o600))
	return []keywrighttest.Option{keywrighttest.Login("test", Word), keywrighttest.Config("aclfile", file)}
}

// URL returns that of a user of a protected server.
func URL(s *keywrighttest.Server, user string) string {
	return fmt.Sprintf("redis://%s:%s@%s", user, Word, s.Addr())
}

// newer are commands that Redis 7.0 does not know, so that no rule has them. Clients do
// without.
var newer = regexp.MustCompile(`object client\|(setinfo|no-touch) `)

// Refusals demands that no program was refused what it needs.
func Refusals(t *testing.T, s *keywrighttest.Server) {
	t.Helper()
	for _, refused := range s.Do("ACL", "LOG", "1000").([]any) {
		if text := fmt.Sprint(refused); !newer.MatchString(text) {
			t.Errorf("a program was refused what it needs: %s", text)
		}
	}
}

// Kills returns how many programs a test of a system kills: usual, unless KEYWRIGHT_KILLS says more.
func Kills(t testing.TB, usual int) int { return gate.Count(t, "KEYWRIGHT_KILLS", usual, usual) }
