package shop_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/keywright/keywright/examples/shop"
	"github.com/keywright/keywright/examples/shop/shopkeys"
	"github.com/keywright/keywright/keywrighttest"
)

// block is the console block of README.md after a mark.
func block(t *testing.T, mark string) []string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	must(t, err)
	_, rest, found := strings.Cut(string(text), "<!-- not run: "+mark)
	if !found {
		t.Fatalf("README.md has no block of %s", mark)
	}
	_, rest, _ = strings.Cut(rest, "```console\n")
	part, _, _ := strings.Cut(rest, "```")
	return strings.Split(strings.TrimSpace(part), "\n")
}

var curl = regexp.MustCompile(`^\$ curl (?:-X (\w+) )?(?:-d '([^']*)' )?(\S+)$`)

// TestReadme sends the requests of README.md to the programs that it starts, in their order,
// and gets the answers that it shows.
func TestReadme(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Brands()[1])
	var pairs []string
	at := map[string]string{}
	for port, name := range map[string]string{"8091": "products", "8092": "coupons", "8093": "orders", "8094": "catalog"} {
		at[name] = address(t)
		pairs = append(pairs, "localhost:"+port, at[name])
	}
	moved := strings.NewReplacer(pairs...)
	start(t, nil, "catalogd", "-http", at["catalog"])
	for _, name := range []string{"products", "coupons", "orders"} {
		start(t, nil, "shopd", name, "-redis", s.URL(), "-http", at[name], "-catalog", "http://"+at["catalog"], "-products", "http://"+at["products"])
		await(t, name+" is up", func() bool { code, _ := ask(t, "GET", "http://"+at[name]+"/health", ""); return code == 200 })
	}
	await(t, "the catalog is up", func() bool { code, _ := ask(t, "GET", "http://"+at["catalog"]+"/products/1", ""); return code == 404 })
	watch := start(t, nil, "shopd", "watch", "-redis", s.URL())
	await(t, "the watcher listens", func() bool { return strings.Contains(watch.said.String(), "listening") })
	lines := block(t, "TestReadme")
	asked := 0
	for i := 0; i+1 < len(lines); i += 2 {
		m := curl.FindStringSubmatch(lines[i])
		if m == nil {
			t.Fatalf("README.md asks %s", lines[i])
		}
		method := map[bool]string{true: "GET", false: "POST"}[m[2] == ""]
		if m[1] != "" {
			method = m[1]
		}
		if _, said := ask(t, method, "http://"+moved.Replace(m[3]), m[2]); said != lines[i+1] {
			t.Errorf("%s says\n%s\nREADME.md says\n%s", lines[i], said, lines[i+1])
		}
		asked++
	}
	if asked < 18 {
		t.Errorf("README.md has %d requests", asked)
	}
	await(t, "the watcher says what README.md says", func() bool {
		return strings.Contains(watch.said.String(), "released lock:order:process:1\n")
	})
}

// TestOperations runs the commands of README.md on a shop that was used, and looks at what
// the page's commands are there for.
func TestOperations(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Brands()[0])
	c, facts := open(t, s.URL()), stocked()
	facts.Add(shop.Product{ID: 123, Name: "shirt"}, shop.Category{ID: 12}, shop.Option{ID: 456})
	facts.Add(shop.Product{ID: 1234, Name: "socks"}, shop.Category{ID: 12}, shop.Option{ID: 457})
	p := shop.NewProducts(c, facts)
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
	ran := map[string]bool{}
	for i, line := range block(t, "TestOperations") {
		line, _, _ = strings.Cut(strings.TrimPrefix(line, "$ "), "#")
		words := strings.Fields(strings.ReplaceAll(line, "'", ""))
		if i == 0 {
			if line != "export KEYWRIGHT_FILE=shop/keyspace.yaml KEYWRIGHT_URL=redis://localhost:6379" {
				t.Fatalf("README.md begins with %s", line)
			}
			continue
		}
		said := keywrightSays(t, s.URL(), words[1:]...)
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

// shows are what commands say, or with a ! do not say.
var shows = map[string][]string{
	"ls --match cache:*":       {"cache:product:detail:123 ", "cache:product:options:1234", "!lock:"},
	"ls --where productId=123": {"cache:product:detail:123 ", "cache:product:option:123:456", "!1234"},
	"ls --match lock:*":        {"lock:coupon:issue:7", "!cache:"},
	"locks":                    {"lock:coupon:issue:7", "coupon_issue"},
	"rankings":                 {"ranking:product:sales:2025-01-15 ", " 12  130 "},
	"rankings top ranking:product:sales:2025-01-15":        {"   1  130 ", "   2  131 ", "  10  123 ", "and 2 more members", "!120"},
	"rankings around ranking:product:sales:2025-01-15 123": {"  10  123 ", "   9  122 ", "  12  121 "},
	"explain --key cache:product:detail:123":               {"product_detail (cache)"},
	"delete --match cache:product:detail:123":              {"Nothing was changed"},
}

// gone are the keys that commands delete.
var gone = map[string][]string{
	"delete --where productId=123 --apply":                                 {"cache:product:detail:123", "cache:product:options:123", "cache:product:option:123:456"},
	"delete --entry product_detail,product_options,product_option --apply": {"cache:product:detail:1234", "cache:product:options:1234"},
	"delete --entry temp_sales,temp_rank --apply":                          {"temp:ranking:sales:1704067200000:a1b2c3d4"},
}
