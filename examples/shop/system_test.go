package shop_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/examples/shop"
	"github.com/keywright/keywright/examples/shop/catalog"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// site represents the shop as it runs: programs under their users.
type site struct {
	t       *testing.T
	s       *keywrighttest.Server
	catalog string
	at      map[string]string // where a program listens
	mu      sync.Mutex
	running map[string]*sitetest.Process
}

// userOf is the user of each program.
var userOf = map[string]string{"products": "product", "coupons": "coupon", "orders": "order", "watch": "monitor"}

func newSite(t *testing.T, s *keywrighttest.Server, db *catalog.Memory) *site {
	t.Helper()
	web := httptest.NewServer(db.Handler())
	t.Cleanup(web.Close)
	st := &site{t: t, s: s, catalog: web.URL, at: map[string]string{}, running: map[string]*sitetest.Process{}}
	for name := range userOf {
		st.at[name] = keywrighttest.Address(t)
	}
	return st
}

// running returns a site whose programs run.
func running(t *testing.T, brand keywrighttest.Brand, db *catalog.Memory) *site {
	t.Helper()
	st := newSite(t, sitetest.Protected(t, brand, sitetest.Printed(t)), db)
	for name := range userOf {
		st.start(name)
	}
	return st
}

func (st *site) env(name string) []string {
	return []string{"SHOP_REDIS=" + sitetest.URL(st.s, userOf[name]), "SHOP_HTTP=" + st.at[name], "SHOP_CATALOG=" +
		st.catalog, "SHOP_PRODUCTS=http://" + st.at["products"]}
}

// start runs a program, or runs it again in its place.
func (st *site) start(name string) {
	st.t.Helper()
	p := start(st.t, st.env(name), "shopd", name)
	st.mu.Lock()
	defer st.mu.Unlock()
	st.running[name] = p
}

// until sends a request until it gets one of these codes: its program may be down, and what
// it waits for, too.
func (st *site) until(name, method, path, body string, codes ...int) (int, string) {
	st.t.Helper()
	code, said := 0, ""
	await(st.t, fmt.Sprint(method, " ", path, " has an answer"), func() bool {
		code, said = sitetest.Ask(st.t, method, "http://"+st.at[name]+path, body, nil)
		for _, c := range codes {
			if code == c {
				return true
			}
		}
		if code != 0 && code != 503 && code != 409 {
			st.t.Fatalf("%s %s: %d %s", method, path, code, said)
		}
		return false
	})
	return code, said
}

// TestSystem: the programs, each under the user that is printed for it, the default user off.
// Customers buy and take coupons, and ask again when they get no answer, while programs are
// killed. Nothing is sold twice or more than there is, sales are counted, releases are
// received, and no program is refused what it needs.
func TestSystem(t *testing.T) {
	gate.Skip(t, "kills programs")
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		db, n := catalog.New(), sitetest.Kills(t, 3)
		orders := int64(30 + 20*n)
		stock := orders * 2 / 3
		db.Add(shop.Product{ID: 123, Name: "shirt"}, shop.Category{ID: 12, Name: "clothes"},
			shop.Option{ID: 456, Name: "red", Stock: stock})
		db.AddCoupons(7, stock)
		st := running(t, brand, db)
		await(t, "the watcher listens", func() bool {
			return strings.Contains(st.running["watch"].Said.String(),
				"listening")
		})

		var done, soldOut, answered atomic.Int64
		var wg sync.WaitGroup
		next := make(chan int64, orders)
		for id := int64(1); id <= orders; id++ {
			next <- id
		}
		close(next)
		for range 4 {
			wg.Go(func() {
				for id := range next {
					_, said := st.until("orders", "POST", fmt.Sprint("/orders/", id), `{"product":123,"option":456,"units":1}`, 200)
					var o shop.Order
					if err := json.Unmarshal([]byte(said), &o); err != nil {
						t.Error(err)
					}
					switch o.State {
					case shop.Done:
						done.Add(1)
					case shop.SoldOut:
						soldOut.Add(1)
					default:
						t.Errorf("an order is %q", o.State)
					}
					st.until("coupons", "POST", "/coupons/7/issue", fmt.Sprintf(`{"user":%d}`, id), 200, 410)
					st.until("products", "GET", "/products/123/options/456", "", 200)
					answered.Add(1)
				}
			})
		}
		random := gate.Rand(t)
		victims := []string{"products", "coupons", "orders"}
		first := random.IntN(len(victims))
		for i := range n { // each time when there is something to lose
			before := answered.Load()
			await(t, "customers are served", func() bool { return answered.Load() > before+2 || answered.Load() == orders })
			victim := victims[(first+i)%len(victims)]
			st.running[victim].Kill()
			st.start(victim)
		}
		wg.Wait()
		option, err := db.Option(t.Context(), 123, 456)
		must(t, err)
		if done.Load() != stock || soldOut.Load() != orders-stock || option.Stock != 0 || int64(db.Issued(7)) != stock {
			t.Errorf("of %d: %d sold, %d sold out, %d left, %d coupons", stock, done.Load(), soldOut.Load(), option.Stock,
				db.Issued(7))
		}
		// A sale that was not counted, since its program was killed, is with the next one.
		st.until("products", "PUT", "/products/123/options/456", `{"name":"red","stock":1}`, 200)
		st.until("orders", "POST", fmt.Sprint("/orders/", orders+1), `{"product":123,"option":456,"units":1}`, 200)
		await(t, "all sales are counted", func() bool { // the sum is kept for a minute
			_, said := st.until("products", "GET", "/products/123/rank?days=2", "", 200, 404)
			return strings.Contains(said, fmt.Sprintf(`"sold":%d`, stock+1)) && strings.Contains(said, `"rank":1`)
		})
		await(t, "the releases are heard", func() bool {
			said := st.running["watch"].Said.String()
			return strings.Contains(said, "released lock:coupon:issue:7\n") &&
				strings.Contains(said, "released lock:product:stock:456\n") &&
				strings.Contains(said, fmt.Sprintf("released lock:order:process:%d\n", orders+1))
		})
		for name := range userOf {
			if name != "watch" {
				st.until(name, "GET", "/health", "", 200)
			}
			if err := st.running[name].Stop(); err != nil {
				t.Errorf("%s was asked to stop: %v", name, err)
			}
		}
		sitetest.Keywright(t, sitetest.URL(st.s, "test"), "audit", "--values=all", "--quiet")
		sitetest.Refusals(t, st.s)
	})
}

// TestHealth: a program without its server is unhealthy, still answers from the catalog, and
// is well again with it.
func TestHealth(t *testing.T) {
	gate.Skip(t, "runs programs")
	db := catalog.New()
	db.Add(shop.Product{ID: 123, Name: "shirt"}, shop.Category{ID: 12, Name: "clothes"})
	st := running(t, keywrighttest.Redis, db)
	st.until("products", "GET", "/health", "", 200)
	st.s.Kill()
	await(t, "it is unhealthy", func() bool {
		code, _ := sitetest.Ask(t, "GET", "http://"+st.at["products"]+"/health", "", nil)
		return code == 503
	})
	if _, said := st.until("products", "GET", "/products/123", "", 200); !strings.Contains(said, "shirt") {
		t.Errorf("without Redis: %s", said)
	}
	st.s.Restart()
	st.until("products", "GET", "/health", "", 200)
}

// TestRequests: what cannot be read is the asker's fault, and what there is not is not there.
func TestRequests(t *testing.T) {
	gate.Skip(t, "runs programs")
	db := catalog.New()
	db.Add(shop.Product{ID: 123, Name: "shirt"}, shop.Category{ID: 12, Name: "clothes"},
		shop.Option{ID: 456, Name: "red", Stock: 1})
	st := running(t, keywrighttest.Valkey, db)
	for _, c := range []struct {
		program, method, path, body string
		code                        int
	}{
		{"products", "GET", "/products/0", "", 400}, {"products", "GET", "/products/x", "", 400},
		{"products", "GET", "/products/9", "", 404},
		{"products", "GET", "/products/123/options/9", "", 404}, {"products", "GET", "/products/9/options", "", 404},
		{"products", "GET", "/categories/9", "", 404},
		{"products", "PUT", "/products/123", "{", 400}, {"products", "PUT", "/products/123", `{"colour":1}`, 400},
		{"products", "PUT", "/products/123", `null`, 400}, {"products", "PUT", "/products/123", `{"price":1}`, 400},
		{"products", "PUT", "/products/123", `{"name":"x","price":-1}`, 400},
		{"products", "PUT", "/products/123", `{"name":"x","category":-1}`, 400},
		{"products", "PUT", "/products/123", `{"name":"x"}{"name":"y"}`, 400},
		{"products", "PUT", "/products/123/options/456", `{"name":"x","stock":-1}`, 400},
		{"products", "PUT", "/products/123/options/456", `{"stock":1}`, 400},
		{"products", "GET", "/products/123", "", 200},
		{"products", "PUT", "/products/9/options/1", `{"name":"x"}`, 404},
		{"products", "GET", "/popular?days=8", "", 400}, {"products", "GET", "/popular?n=x", "", 400},
		{"products", "GET", "/products/123/rank", "", 404},
		{"products", "POST", "/take", `{"id":1,"product":123,"option":456,"units":2}`, 410},
		{"products", "POST", "/take", `{"id":1,"product":123,"option":456,"units":-2}`, 400},
		{"coupons", "POST", "/coupons/9/issue", `{"user":1}`, 404}, {"coupons", "POST", "/coupons/7/issue", `{}`, 400},
		{"orders", "POST", "/orders/1", `{"product":123}`, 400}, {"orders", "GET", "/orders/9", "", 404},
		{"orders", "POST", "/orders/2", `{"product":9,"option":9,"units":1}`, 404},
	} {
		st.until(c.program, c.method, c.path, c.body, c.code)
	}
	sitetest.Refusals(t, st.s)
}

// TestSecrets: no flag has a password, and none is in what a program says.
func TestSecrets(t *testing.T) {
	gate.Skip(t, "runs programs")
	const secret = "a-secret"
	for _, url := range []string{"redis://u:" + secret + "@127.0.0.1:1", "redis://u:" + secret + "%zz@127.0.0.1:1",
		"redis+sentinel://127.0.0.1:1/m?sentinel_password=" + secret} {
		p := start(t, nil, "shopd", "products", "-redis", url)
		if err := p.Wait(); err == nil || !strings.Contains(p.Said.String(), "SHOP_REDIS") ||
			strings.Contains(p.Said.String(), secret) {
			t.Errorf("%v, %s", err, p.Said)
		}
	}
	for _, args := range [][]string{{"products", "-help"}, {"coupons", "-http", "nonsense"}, {"nothing"}, {}} {
		p := start(t, []string{"SHOP_REDIS=redis://u:" + secret + "@127.0.0.1:1"}, "shopd", args...)
		if err := p.Wait(); err == nil || strings.Contains(p.Said.String(), secret) {
			t.Errorf("%v: %v, %s", args, err, p.Said)
		}
	}
}

// TestDeployedUsers: the ACL file has the default user off, and for each program what is
// printed for it.
func TestDeployedUsers(t *testing.T) {
	sitetest.DeployedUsers(t, sitetest.Printed(t), os.Getenv("KEYWRIGHT_UPDATE") != "")
}

// TestDeployed: a server starts with redis.conf and users.acl as they are, but for where it is
// and the passwords; the programs run as the unit says, and an order is processed.
func TestDeployed(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := sitetest.Protected(t, brand, sitetest.Deployed(t), sitetest.Configuration(t)...)
		if s.Info("maxmemory_policy") != "noeviction" || s.Info("aof_enabled") != "1" {
			t.Error("the server would lose locks")
		}
		db := catalog.New()
		db.Add(shop.Product{ID: 123, Name: "shirt"}, shop.Category{ID: 12, Name: "clothes"},
			shop.Option{ID: 456, Name: "red", Stock: 10})
		st := newSite(t, s, db)
		for name := range userOf {
			files := map[string][]string{"/etc/shop/" + name + ".env": st.env(name)}
			st.running[name] = sitetest.ReadUnit(t, "shopd@.service", name).Start(t, files, strings.NewReplacer())
		}
		if _, said := st.until("orders", "POST", "/orders/1", `{"product":123,"option":456,"units":2}`,
			200); !strings.Contains(said, `"state":"done"`) {
			t.Errorf("the order: %s", said)
		}
		for name, p := range st.running {
			if name == "watch" {
				await(t, "it listens", func() bool { return strings.Contains(p.Said.String(), "listening") })
			} else {
				st.until(name, "GET", "/health", "", 200)
			}
			if err := p.Stop(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		sitetest.Refusals(t, s)
		sitetest.Survives(t, s)
	})
}
