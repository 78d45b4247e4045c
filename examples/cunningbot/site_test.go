package cunningbot_test

import (
	"os"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
)

// What the tests of all examples share.
const word = sitetest.Word // the password of all users

var (
	must, await, onBrands   = sitetest.Must, sitetest.Await, sitetest.OnBrands
	start, program, address = sitetest.Start, sitetest.Program, keywrighttest.Address
)

func TestMain(m *testing.M) { os.Exit(sitetest.Main(m, "./cunningbotd", "./locald")) }

func open(t *testing.T, url string, hooks ...keywright.Hook) *keywright.Client {
	return servertest.Open(t, url, keywright.Options{Wrap: sitetest.Guard(t, ".").Wrap, Attempts: 20, Hooks: hooks})
}

// protected starts a server with the users of the programs and one of the tests.
func protected(t *testing.T, brand keywrighttest.Brand, options ...keywrighttest.Option) *keywrighttest.Server {
	t.Helper()
	return sitetest.Protected(t, brand, sitetest.Off+deployedUsers(t), options...)
}

// healthUser asks how the server is, for the health endpoint.
const healthUser = "user health on resetkeys resetchannels -@all +auth +client|getname +client|id " +
	"+client|setname +cluster|slots +hello +info +ping +quit +role +time"

// migrationUser is all programs while they migrate: each replays what another one has left.
const migrationUser = "user migration on resetkeys resetchannels ~global:* ~guild:* ~rss:* ~trivia:* ~breaking:* " +
	"~{breaking:* ~history:* ~daily:* ~meta:* ~keywright:migrate:* &{breaking:* -@all +@read +@write +@transaction " +
	"+@scripting +@connection +@pubsub -@dangerous +info +role +time +wait +cluster|slots +config|get"

// deployedUsers returns those of the programs, of their backups, of their health and of their migration.
func deployedUsers(t *testing.T) string {
	t.Helper()
	return sitetest.Keywright(t, "", "acl", "print", "--quiet") +
		sitetest.Keywright(t, "", "acl", "print", "--self", "--backup", "--user", "archive", "--quiet") +
		sitetest.Operator(t) + healthUser + "\n" + migrationUser + "\n"
}
