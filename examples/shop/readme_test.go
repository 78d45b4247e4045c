package shop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/examples/shop"
	"github.com/keywright/keywright/examples/shop/shopkeys"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestReadme sends the requests of README.md to the programs that it starts, in their order,
// and gets the answers that it shows.
func TestReadme(t *testing.T) {
	gate.Skip(t, "runs programs")
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	var pairs []string
	at := map[string]string{}
	for port, name := range map[string]string{"8091": "products", "8092": "coupons", "8093": "orders", "8094": "catalog"} {
		at[name] = keywrighttest.Address(t)
		pairs = append(pairs, "localhost:"+port, at[name])
	}
	moved := strings.NewReplacer(pairs...)
	start(t, nil, "catalogd", "-http", at["catalog"])
	for _, name := range []string{"products", "coupons", "orders"} {
		start(t, nil, "shopd", name, "-redis", s.URL(), "-http", at[name], "-catalog", "http://"+at["catalog"], "-products",
			"http://"+at["products"])
		await(t, name+" is up", func() bool {
			code, _ := sitetest.Ask(t, "GET", "http://"+at[name]+"/health", "", nil)
			return code == 200
		})
	}
	await(t, "the catalog is up", func() bool {
		code, _ := sitetest.Ask(t, "GET", "http://"+at["catalog"]+"/products/1", "", nil)
		return code == 404
	})
	watch := start(t, nil, "shopd", "watch", "-redis", s.URL())
	await(t, "the watcher listens", func() bool { return strings.Contains(watch.Said.String(), "listening") })
	sitetest.Play(t, sitetest.Exchanges(t, sitetest.Block(t, "README.md", "TestReadme"), 18), moved, nil, false)
	await(t, "the watcher says what README.md says", func() bool {
		return strings.Contains(watch.Said.String(), "released lock:order:process:1\n")
	})
}

// TestOperations runs the commands of README.md on a shop that was used, and looks at what
// the page's commands are there for.
func TestOperations(t *testing.T) {
	gate.Skip(t, "runs 20 commands")
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c, facts := open(t, s.URL()), stocked()
	facts.Add(shop.Product{ID: 123, Name: "shirt"}, shop.Category{ID: 12}, shop.Option{ID: 456})
	facts.Add(shop.Product{ID: 1234, Name: "socks"}, shop.Category{ID: 12}, shop.Option{ID: 457})
	p := shop.NewProducts(c, facts, 0)
	for _, id := range []int64{123, 1234} {
		_, err := p.Product(t.Context(), id)
		must(t, err)
		_, err = p.Options(t.Context(), id)
		must(t, err)
	}
	_, err := p.Option(t.Context(), 123, 456)
	must(t, err)
	_, err = shopkeys.New(c).CouponIssue(7).Try(t.Context())
	must(t, err)
	for product := range 12 {
		s.Do("ZADD", "ranking:product:sales:2025-01-15", fmt.Sprint(product/2), fmt.Sprint(120+product))
	}
	s.Do("PEXPIRE", "ranking:product:sales:2025-01-15", "600000")
	s.Do("ZADD", "temp:ranking:sales:1704067200000:a1b2c3d4", "1", "123")
	s.Do("PEXPIRE", "temp:ranking:sales:1704067200000:a1b2c3d4", "60000")
	ran, operator := map[string]bool{}, sitetest.AsOperator(t, s)
	for i, line := range sitetest.Block(t, "README.md", "TestOperations") {
		line, _, _ = strings.Cut(strings.TrimPrefix(line, "$ "), "#")
		words := strings.Fields(strings.ReplaceAll(line, "'", ""))
		if i == 0 {
			if line != "export KEYWRIGHT_FILE=shop/keyspace.yaml KEYWRIGHT_URL=redis://localhost:6379" {
				t.Fatalf("README.md begins with %s", line)
			}
			continue
		}
		said := sitetest.Keywright(t, operator, words[1:]...)
		for _, want := range shows[strings.Join(words[1:], " ")] {
			if has := strings.Contains(said, strings.TrimPrefix(want, "!")); has == strings.HasPrefix(want, "!") {
				t.Errorf("%s: %s\n%s", strings.Join(words, " "), want, said)
			}
		}
		ran[strings.Join(words[1:], " ")] = true
		for _, k := range gone[strings.Join(words[1:], " ")] {
			if fmt.Sprint(s.Do("EXISTS", k)) != "0" {
				t.Errorf("%s leaves %s", strings.Join(words, " "), k)
			}
		}
		if strings.Contains(line, "productId=123 --apply") && fmt.Sprint(s.Do("EXISTS", "cache:product:detail:1234")) != "1" {
			t.Error("product 1234 is gone, too")
		}
	}
	for command := range shows {
		if !ran[command] {
			t.Errorf("README.md does not run %s", command)
		}
	}
	for command := range gone {
		if !ran[command] {
			t.Errorf("README.md does not run %s", command)
		}
	}
}

// shows say what commands say, or with a ! do not say.
var shows = map[string][]string{
	"ls --match cache:*":       {"cache:product:detail:123 ", "cache:product:options:1234", "!lock:"},
	"ls --where productId=123": {"cache:product:detail:123 ", "cache:product:option:123:456", "!1234"},
	"ls --match lock:*":        {"lock:coupon:issue:7", "!cache:"},
	"locks":                    {"lock:coupon:issue:7", "coupon_issue"},
	"rankings":                 {"ranking:product:sales:2025-01-15 ", " 12  130 "},
	"rankings top ranking:product:sales:2025-01-15": {"   1  130 ", "   2  131 ", "  10  123 ",
		"and 2 more members", "!120"},
	"rankings around ranking:product:sales:2025-01-15 123": {"  10  123 ", "   9  122 ", "  12  121 "},
	"explain --key cache:product:detail:123":               {"product_detail (cache)"},
	"delete --match cache:product:detail:123":              {"Nothing was changed"},
}

// gone lists the keys that commands delete.
var gone = map[string][]string{
	"delete --where productId=123 --apply": {"cache:product:detail:123",
		"cache:product:options:123", "cache:product:option:123:456"},
	"delete --entry product_detail,product_options,product_option --apply": {"cache:product:detail:1234",
		"cache:product:options:1234"},
	"delete --entry temp_sales,temp_rank --apply": {"temp:ranking:sales:1704067200000:a1b2c3d4"},
}
