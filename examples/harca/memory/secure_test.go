package memory_test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/entity/pressure"
	"github.com/keywright/keywright/examples/harca/memory"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/gen/acl"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
)

// user is that of the one program.
const user = "short_term_memory"

// as returns the URL of servers for a user: that of the program, or test.
func as(user, url string) string {
	return strings.Replace(url, "://", "://"+user+":"+sitetest.Word+"@", 1)
}

// users returns those that are printed for the declaration, and the default user, which is off.
func users(t *testing.T) string {
	t.Helper()
	ks, _ := load.File(os.DirFS(".."), "keyspace.yaml")
	files, err := acl.Generate(ks)
	must(t, err)
	return sitetest.Off + string(files[0].Text)
}

// protected starts a server with the printed users.
func protected(t *testing.T, brand keywrighttest.Brand, options ...keywrighttest.Option) *keywrighttest.Server {
	t.Helper()
	return sitetest.Protected(t, brand, users(t), options...)
}

// cluster starts one whose nodes have the printed users.
func cluster(t *testing.T, brand keywrighttest.Brand) *keywrighttest.Cluster {
	t.Helper()
	return keywrighttest.StartCluster(t, brand, 3, 0, sitetest.Users(t, users(t))...)
}

// TestSecure: the memory needs nothing that the declared user may not, over TLS,
// and in a cluster.
func TestSecure(t *testing.T) {
	sitetest.OnBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		certificates := keywrighttest.NewCertificates(t)
		s := protected(t, brand, keywrighttest.TLS(certificates))
		o := options(t, "rediss://short_term_memory:word@"+s.Addr())
		o.Client.CAFile = certificates.CA
		o.Client.CertFile, o.Client.KeyFile = certificates.ClientCert, certificates.ClientKey
		t.Run("flow", func(t *testing.T) { flow(t, o, s) }) // its daemon ends: it would shorten items of pressed, too
		pressed(t, o, s)
		sitetest.Refusals(t, s)
		o.Client.CAFile = certificates.OtherCA
		if m, err := memory.Open(t.Context(), o); err == nil {
			_ = m.Close()
			t.Error("a server that another authority has signed was believed")
		}
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		c := cluster(t, keywrighttest.Valkey)
		flow(t, options(t, as(user, c.URL())), c.Nodes...)
		check(t, as("test", c.URL()))
		for _, n := range c.Nodes {
			sitetest.Refusals(t, n)
		}
	})
}

// pressed: at 80 % of maxmemory items of low priority live shorter, at 90 % they
// go; those of high priority stay.
func pressed(t *testing.T, o memory.Options, s *keywrighttest.Server) {
	o.Pressure = pressure.Options{Interval: 20 * time.Millisecond, Pause: time.Millisecond, Rest: time.Millisecond}
	_, c := start(t, o)
	const each = 300
	long := strings.Repeat("x", 4000)
	for i := range 2 * each {
		c.do(http.StatusCreated, "POST", "/items", fmt.Sprintf(`{"type":"note","content":%q,"priority":%d,"ttl":3600}`, long,
			1+i%2*8), nil)
	}
	// Most of the memory is one key. The buffers of clients, which come and go, would else be several percent of it.
	s.Do("SETRANGE", "ballast", strconv.Itoa(64<<20-1), "x")
	level := func(ratio float64) {
		used, _ := strconv.ParseFloat(s.Info("used_memory"), 64)
		s.Do("CONFIG", "SET", "maxmemory", strconv.Itoa(int(used/ratio)))
	}
	level(.85)
	eventually(t, "items of low priority live shorter", func() bool {
		return c.metric(`keywright_pressure_items_total{action="shorten",entry="item"}`) == strconv.Itoa(each)
	})
	// They are counted on the server: a list of them would be in its memory while it is sent, and the server above 90 %.
	left := func(priority int) any {
		return s.Do("ZCARD", fmt.Sprint("harca:memory:short:idx:priority:", priority))
	}
	if n := left(1); n != int64(each) {
		t.Errorf("%d items of low priority are left at 85 %%", n)
	}
	level(.97)
	eventually(t, "items of low priority go", func() bool { return left(1).(int64) < each })
	s.Do("CONFIG", "SET", "maxmemory", "0")
	s.Do("DEL", "ballast")
	if n := left(9); n != int64(each) {
		t.Errorf("%d items of high priority are left", n)
	}
}
