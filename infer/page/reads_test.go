package page_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/infer/page"
)

// summary writes what was read of a page: for each key its line, pattern, type and TTL, the types of its
// placeholders, an example and what the page contradicts itself in; and what was passed over, with the reason.
func summary(p page.Page) []string {
	var out []string
	for _, k := range p.Keys {
		line := strings.TrimSpace(fmt.Sprintf("%d %s %s %s", k.Line, k.Pattern, k.Type, k.TTL))
		if len(k.Types) > 0 {
			line += " " + strings.TrimPrefix(fmt.Sprint(k.Types), "map")
		}
		if k.Example != "" {
			line += ", e.g. " + k.Example
		}
		if k.Doubt != "" {
			line += "; " + k.Doubt
		}
		out = append(out, line)
	}
	for _, q := range p.Passed {
		out = append(out, fmt.Sprintf("%d not %s: %s", q.Line, q.Text, q.Why))
	}
	return out
}

// reads reports the pages of which something else is read than what a row has, or something else the second time.
func reads(t *testing.T, rows []pageRow) {
	t.Helper()
	for _, r := range rows {
		text := []byte(r.text)
		got := summary(page.Read(text))
		if !slices.Equal(got, r.want) || string(text) != r.text || !slices.Equal(summary(page.Read(text)), got) {
			t.Errorf("%s\n\n%q, and not %q", r.text, got, r.want)
		}
	}
}

// pageRow is a page and its summary.
type pageRow struct {
	text string
	want []string
}

// TestTables: tables give keys by the column that has them, the type, the TTL and the line by their titles; an
// upright table, a prefix with an example, and what is struck out, planned or another thing are read as such.
func TestTables(t *testing.T) {
	reads(t, []pageRow{
		{"| key | ttl |\n" +
			"|---|---|\n" +
			"| `user:{id}` | 1h |\n" +
			"| post:{id} | 2h |", []string{
			"3 user:{id}  1h",
			"4 post:{id}  2h",
		}},
		{"| Key | Type | TTL | Notes |\n" +
			"|---|---|---|---|\n" +
			"| `user:{id}:a`, `user:{id}:b` | hash | 5 | x |", []string{
			"3 user:{id}:a hash 5s",
			"3 user:{id}:b hash 5s",
		}},
		{"| Key | Expires at |\n" +
			"|---|---|\n" +
			"| `user:{id}:x` | 1700000000 |", []string{
			"3 user:{id}:x",
			"3 not Expires at 1700000000: the time that the number means is not certain, or below a second",
		}},
		{"| Prefix | Example | TTL |\n" +
			"|---|---|---|\n" +
			"| `login:` | `login:42` | 5 min |\n" +
			"| `otp:` | | 5 min |", []string{
			"3 login:{login_id}  5m, e.g. login:42",
		}},
		{"| Key | Notes |\n" +
			"|---|---|\n" +
			"| `user:{id}:x` | a stream, trimmed after 7 days |", []string{
			"3 user:{id}:x stream 7d",
		}},
		{"| Key | Example |\n" +
			"|---|---|\n" +
			"| `person:{handle}` | `person:anna` |", []string{
			"3 person:{handle}",
		}},
		{"| Key | `user:{id}` | `post:{id}` |\n" +
			"|---|---|---|\n" +
			"| Type | hash | list |\n" +
			"| TTL | 1h | 2h |", []string{
			"1 user:{id} hash 1h",
			"1 post:{id} list 2h",
		}},
		{"## `user:{id}`\n" +
			"\n" +
			"| | |\n" +
			"|---|---|\n" +
			"| Type | hash |\n" +
			"| TTL | 5 min |", []string{
			"1 user:{id} hash 5m",
		}},
		{"| Data | TTL |\n" +
			"|---|---|\n" +
			"| Sessions | 1 h |\n" +
			"\n" +
			"- `sess:{id}`: Sessions of users", []string{
			"5 sess:{id}  1h",
		}},
		{"| Field | Type |\n" +
			"|---|---|\n" +
			"| `name:first` | string |", []string{
			"3 not name:first: nothing says that it is a key",
		}},
		{"| Key | TTL |\n" +
			"|---|---|\n" +
			"| ~~`user:{id}`~~ | 1h |\n" +
			"| `post:{id}` (planned) | 1h |", []string{
			"3 not ~~`user:{id}`~~: it is struck out",
			"4 not `post:{id}` (planned) | 1h: the line says planned",
		}},
		{"<table><tr><th>Key</th><th>TTL</th></tr>\n" +
			"<tr><td><code>user:&lt;id&gt;</code></td><td>1h</td></tr></table>", []string{
			"2 user:{id}  1h",
		}},
		{"| Key | TTL |\n" +
			"|---|---|\n" +
			"| `user:{id}` | a \\| b, 1h |\n" +
			"\n" +
			"| Key | TTL |\n" +
			"|---|---|\n" +
			"| `post:{id}` | 2h |", []string{
			"3 user:{id}  1h",
			"7 post:{id}  2h",
		}},
		{"| Key | TTL |\n" +
			"|---|---|\n" +
			"| `{env}:{service}:{type}` | 1h |\n" +
			"| `exporter:9121` | 1h |\n" +
			"| `main.go:12` | 1h |\n" +
			"| `KEY` | 1h |", []string{
			"4 not exporter:9121: it is a host and a port",
			"5 not main.go:12: it is an address, a version or a file",
		}},
	})
}

// TestLabels: lines with labels tell of the key that they name, that is above them, or that follows.
func TestLabels(t *testing.T) {
	reads(t, []pageRow{
		{"**Key**: `user:{id}`\n" +
			"**Type**: Hash\n" +
			"**TTL**: 5 min", []string{
			"1 user:{id} hash 5m",
		}},
		{"Key: user:{id}\n" +
			"TTL (min): 5", []string{
			"1 user:{id}  5m",
		}},
		{"Key: user:{id}\n" +
			"TTL: 5 fortnights", []string{
			"1 user:{id}",
			"2 not TTL 5 fortnights: no TTL is read of it",
		}},
		{"### Session\n" +
			"\n" +
			"- **Type** Hash\n" +
			"- **Key** `sess:{id}`\n" +
			"- **TTL** 1 h", []string{
			"4 sess:{id} hash 1h",
		}},
		{"### `feed` (Sorted Set)", []string{"1 feed zset"}},
		{"### `feed`\n" +
			"\n" +
			"Type: Stream", []string{
			"1 feed stream",
		}},
		{"Stream: events:orders, MAXLEN 50000", []string{"1 events:orders stream"}},
		{"Stream names:\n" +
			"\n" +
			"- `events:orders`\n" +
			"- `events:{kind}`", []string{
			"3 events:orders stream",
			"4 not events:{kind}: it is a naming scheme",
		}},
		{"キー: `user:{id}`\n" +
			"型: ハッシュ\n" +
			"有効期限: 5分", []string{
			"1 user:{id} hash 5m",
		}},
		{"- `user:{id}:x`\n" +
			"  - TTL: 1h30m\n" +
			"  - Type: list", []string{
			"1 user:{id}:x list 90m",
		}},
		{"- `user:{id}:x`\n" +
			"  expires after 5 minutes", []string{
			"1 user:{id}:x  5m",
		}},
		{"`user:{id}` and `post:{id}` are hashes.\n" +
			"\n" +
			"TTL: 1 h", []string{
			"1 user:{id} hash",
			"1 post:{id} hash 1h",
		}},
		{"Channel: chat:room", []string{"1 chat:room channel"}},
		{"The feed (key: user:{id}, list, 5 min), the cart (cart:{id}),\n" +
			"the word (see:this) and a list (work:jobs, list).", []string{
			"1 user:{id} list 5m",
			"1 cart:{id}",
			"2 work:jobs list",
		}},
		{"user:{id}:plain\n" +
			"\n" +
			"HGETALL cart:{id}", []string{
			"1 user:{id}:plain",
			"3 cart:{id} hash",
		}},
	})
}

// TestSentences: a sentence tells of the key that is in it, and of no other one.
func TestSentences(t *testing.T) {
	reads(t, []pageRow{
		{"`user:{id}` is a hash. `post:{id}` is a list, kept 2 h.", []string{
			"1 user:{id} hash",
			"1 post:{id} list 2h",
		}},
		{"The hash `user:{id}` lives\n" +
			"for 2 hours.", []string{
			"1 user:{id} hash 2h",
		}},
		{"`rate:{ip}` allows 100 an hour. It expires after 1 hour.", []string{"1 rate:{ip}  1h"}},
		{"`user:{id}` has a second counter, kept 1 day.", []string{"1 user:{id} string 1d"}},
		{"`otp:{phone}` is removed in 5 minutes.", []string{"1 otp:{phone}  5m"}},
		{"`user:{id}:x` lives 1 h. `user:{id}:x` lives 2 h.", []string{
			"1 user:{id}:x; the page gives several TTLs: 1h (line 1), 2h (line 1)",
		}},
		{"Takes jobs from the list `work:jobs`, and puts others into the set `work:failed`.", []string{
			"1 not work:jobs: nothing else on the page begins like it",
			"1 not work:failed: nothing else on the page begins like it",
		}},
		{"For example `user:42`; the key is `user:{id}`.", []string{"1 user:{id}, e.g. user:42"}},
		{"Publish to channel `chat:room`.", []string{"1 chat:room channel"}},
		{"All keys begin with `app:{env}:`.\n" +
			"\n" +
			"- `user:{id}` hash\n" +
			"- `post:{id}` list", []string{
			"3 app:{env}:user:{id} hash",
			"4 app:{env}:post:{id} list",
		}},
		{"`foo:bar`", []string{"1 foo:{foo_id}, e.g. foo:bar"}},
		{"`user:{id}` (5 min)", []string{"1 user:{id}  5m"}},
		{"Written by `SET user:{id} 1 EX 60`, read by `GET user:{id}`.", []string{"1 user:{id} string 1m"}},
		{"The hash `post:{id}` is kept. `old:{id}` was removed in 2024.", []string{
			"1 post:{id} hash",
			"1 not `old:{id}` was removed in 2024.: the line says removed in 2024",
		}},
		{"Formerly `user:{id}` was a hash. `post:{id}` is one.", []string{
			"1 post:{id}",
			"1 not Formerly `user:{id}` was a hash.: the line says Formerly",
		}},
	})
}

// TestSeveralKeysOfASentence: a time is of the nearest key before it that a part of the sentence is about, and of the
// keys that are joined with it.
func TestSeveralKeysOfASentence(t *testing.T) {
	reads(t, []pageRow{
		{"The hash `stock:{sku}` lives for one day, the set `stock:low` never expires.", []string{
			"1 stock:low set none",
			"1 stock:{sku} hash 1d",
		}},
		{"The string `otp:{phone}` lives for 5 minutes, the hash `user:{id}` for 30 days.", []string{
			"1 otp:{phone} string 5m",
			"1 user:{id} hash 30d",
		}},
		{"We keep `audit:{day}` (stream) 90 days and `audit:index` (set) forever.", []string{
			"1 audit:{day} stream 90d",
			"1 audit:index set none",
		}},
		{"`user:{id}` and `post:{id}` live for 2 hours.", []string{"1 user:{id}  2h", "1 post:{id}  2h"}},
		{"`pay:{id}` and `ship:{id}` are hashes that live 7 and 3 days.", []string{
			"1 pay:{id} hash",
			"1 ship:{id} hash",
			"1 not `pay:{id}` and `ship:{id}` are hashes that live 7 and 3 days.: it gives several times to several keys",
		}},
		{"The hash `stock:{sku}`, which mirrors the hash `wh:low`, lives for 1 day.", []string{"1 stock:{sku} hash 1d",
			"1 not wh:low: nothing else on the page begins like it"}},
		{"- The hash `stock:{sku}` lives for one day, the set `stock:low` never expires.", []string{
			"1 stock:low set none", "1 stock:{sku} hash 1d"}},
		{"`pay:{id}`: hash, 2 days; `ship:{id}`: list, 3 days", []string{"1 pay:{id} hash 2d", "1 ship:{id} list 3d"}},
		{"We use `pay:{id}` (hash) and `ship:{id}` (list). Both live for 2 days.", []string{
			"1 pay:{id} hash 2d", "1 ship:{id} list 2d"}},
		{"We use `pay:{id}` (hash) and `ship:{id}` (list). The worker stays for 2 days.", []string{
			"1 pay:{id} hash", "1 ship:{id} list",
			"1 not The worker stays for 2 days.: it may be of any key of the sentence before it"}},
		{"`pay:{id}` and `ship:{id}` are hashes and live for an hour and two days respectively.", []string{
			"1 pay:{id} hash", "1 ship:{id} hash",
			"1 not `pay:{id}` and `ship:{id}` are hashes and live for an hour and two days respectively.: it gives " +
				"several times to several keys"}},
		{"| Key | TTL |\n|---|---|\n| `pay:{id}`, `ship:{id}` | 1 h / 2 h |", []string{
			"3 pay:{id}", "3 ship:{id}", "3 not TTL 1 h / 2 h: it gives several times to several keys"}},
		{"- `pay:{id}` and `ship:{id}` (hash), 3 days", []string{"1 pay:{id} hash 3d", "1 ship:{id} hash 3d"}},
		{"- `pay:{id}` (hash, 1 day), `ship:{id}` (list, 2 days)", []string{"1 pay:{id} hash 1d", "1 ship:{id} list 2d"}},
		{"- `pay:{id}` / `ship:{id}`: sets; 10 min / 2 min", []string{"1 pay:{id} set", "1 ship:{id} set",
			"1 not / ship:{id}: sets; 10 min / 2 min: it gives several times to several keys"}},
		{"The hash `cart:{id}` lives 1 h and is copied to `cart:backup`, which lives 2 days.", []string{
			"1 cart:{id} hash 1h"}},
		{"`cart:{id}` is a hash like `wish:{id}` and lives for 2 days.", []string{
			"1 cart:{id}",
			"1 wish:{id}",
			"1 not `cart:{id}` is a hash like `wish:{id}` and lives for 2 days.: it names several keys, and the time may " +
				"be of any of them",
		}},
		{"We keep carts under `cart:{id}` (expires after 14 days) and prices in `price:{sku}`.", []string{
			"1 cart:{id}  14d",
			"1 price:{sku}",
		}},
		{"`rate:{ip}` has a field `n`. It expires after 1 hour.", []string{"1 rate:{ip}  1h"}},
	})
}

// TestTimesOfSomethingElse: a time in a later sentence is the key's TTL if the sentence goes on about the key.
// Otherwise it is passed over, and two that differ are none.
func TestTimesOfSomethingElse(t *testing.T) {
	const other = ": the time may be of something else than "
	reads(t, []pageRow{
		{"The list `mail:out:{lane}` is drained by a worker. The worker has a timeout of 90 seconds.", []string{
			"1 mail:out:{lane} list",
			"1 not The worker has a timeout of 90 seconds." + other + "mail:out:{lane}",
		}},
		{"The hash `price:{sku}` is written by the importer. The importer keeps its log for 30 days.", []string{
			"1 price:{sku} hash",
			"1 not The importer keeps its log for 30 days." + other + "price:{sku}",
		}},
		{"A job empties the hash `tmp:import:{id}`. It runs for 20 minutes.", []string{
			"1 tmp:import:{id} hash",
			"1 not It runs for 20 minutes." + other + "tmp:import:{id}",
		}},
		{"The hash `view:{id}` is read often. Clients cache it for 10 seconds.", []string{
			"1 view:{id} hash",
			"1 not Clients cache it for 10 seconds." + other + "view:{id}",
		}},
		{"The hash `cart:{id}` is small; the browser keeps its cookie for 30 days.", []string{
			"1 cart:{id} hash",
			"1 not the browser keeps its cookie for 30 days." + other + "cart:{id}",
		}},
		{"The hash `menu:{id}` is cached for 10 minutes. In Redis it never expires.", []string{
			"1 menu:{id} hash; the page gives several TTLs: 10m (line 1), none (line 1)",
		}},
		{"`sess:{id}` is a hash. The session lives for 30 minutes.", []string{"1 sess:{id} hash 30m"}},
		{"`work:{id}` is a hash. The key is gone after an hour.", []string{"1 work:{id} hash 1h"}},
		{"`view:{id}` is a hash.\nIt expires after 90 seconds.", []string{"1 view:{id} hash 90s"}},
		{"- `view:{id}`: hash. The worker has a timeout of 90 seconds.", []string{"1 view:{id} hash",
			"1 not The worker has a timeout of 90 seconds." + other + "view:{id}"}},
		{"- `view:{id}`: hash\n  - The worker has a timeout of 90 seconds.", []string{"1 view:{id} hash",
			"2 not The worker has a timeout of 90 seconds." + other + "view:{id}"}},
		{"| Key | Notes |\n|---|---|\n| `view:{id}` | hash. The worker has a timeout of 90 seconds. |", []string{
			"3 view:{id} hash", "3 not The worker has a timeout of 90 seconds." + other + "view:{id}"}},
		{"`sess:{id}` holds it (hash). Users stay logged in for 30 days.", []string{"1 sess:{id} hash",
			"1 not Users stay logged in for 30 days." + other + "sess:{id}"}},
		{"A session lives under `sess:{id}`; it is a hash and every request extends it to 30 minutes.", []string{
			"1 sess:{id} hash 30m"}},
		{"`price:{sku}` is kept by the importer. A checkout may take 20 minutes.", []string{"1 price:{sku}"}},
		{"`lock:{id}` is a hash; cleared after 5 minutes.", []string{"1 lock:{id} hash 5m"}},
	})
}

// TestLists: items that begin with a key explain it; several that are one are merged, and of two that a name may be
// of both one is passed over.
func TestLists(t *testing.T) {
	reads(t, []pageRow{
		{"- `user:{id}`: hash, 5 min\n" +
			"- `post:{id}` – list\n" +
			"- `plain:word`: a thing", []string{
			"1 user:{id} hash 5m",
			"2 post:{id} list",
			"3 plain:word",
		}},
		{"1. `user:{id}`: hash\n" +
			"2. `cart:*`: hash, 1 h\n" +
			"3. `cart:*:x*`", []string{
			"1 user:{id} hash",
			"2 cart:{cart_id} hash 1h",
			"3 not cart:*:x*: it is a glob",
		}},
		{"- user:{id}: hash\n" +
			"- jobs: list\n" +
			"- notes: string", []string{
			"1 user:{id} hash",
			"2 jobs list",
		}},
		{"- user-{id}: hash, 5 min\n" +
			"- http://x:{id}: list", []string{
			"1 user-{id} hash 5m",
		}},
		{"- `queue:high`: list\n" +
			"- `queue:low`: list\n" +
			"- `queue:{priority}`: list, TTL 1 h", []string{
			"1 queue:{priority} list 1h [priority:high|low], e.g. queue:high",
		}},
		{"- `app:issue:{type}:{number}`: hash\n" +
			"- `app:issue:status:{n}`: string\n" +
			"- `app:issue:meta:{n}`: string", []string{
			"2 app:issue:status:{n} string",
			"3 app:issue:meta:{n} string",
		}},
		{"- `user:{id}` : hash with fields `name`\n" +
			"- `user:{id}:name`", []string{
			"1 user:{id} hash",
			"2 not user:{id}:name: it may be a field of a hash",
		}},
		{"- `user:{id}:{x}-{y}`: hash\n" +
			"- `user:{id}:{x}{y}`: hash", []string{
			"1 user:{id}:{x}-{y} hash [x:/[^-:\\/]+/]",
			"2 not user:{id}:{x}{y}: no pattern of the language says it",
		}},
		{"- `user:{id}`: hash\n" +
			"- `user:42`: list\n" +
			"- `user:{name}`: hash, 1 h", []string{
			"1 user:{id} hash 1h, e.g. user:42",
		}},
		{"- `aa:{x}:b`: hash\n" +
			"- `aa:c:{y}`: list\n" +
			"- `aa:b:{x}:c`: hash\n" +
			"- `aa:b:{y}:d`: list\n" +
			"- `bb:x{y}:c`: set\n" +
			"- `bb:{z}y:c`: set\n" +
			"- `cc:a{y}:c`: set\n" +
			"- `cc:b{z}:c`: set", []string{
			"1 aa:{x}:b hash",
			"3 aa:b:{x}:c hash",
			"4 aa:b:{y}:d list",
			"5 bb:x{y}:c set",
			"7 cc:a{y}:c set",
			"8 cc:b{z}:c set",
			"2 not aa:c:{y}: a key may be of it and of aa:{x}:b (line 1), and a draft cannot have both",
			"6 not bb:{z}y:c: a key may be of it and of bb:x{y}:c (line 5), and a draft cannot have both",
		}},
		{"- `lock:{id}`: SET NX PX 5000\n" +
			"- `chat:channel:{id}`: x\n" +
			"- `seq:%03d`: x", []string{
			"1 lock:{id} lock 5s",
			"2 chat:channel:{id} channel",
			"3 seq:{seq_id} [seq_id:/[0-9]{3,}/]",
		}},
	})
}

// TestSingleLetters: a key of single letters and placeholders is one where a table or an item says so, else it is
// listed.
func TestSingleLetters(t *testing.T) {
	reads(t, []pageRow{
		{"| Key | Type | TTL |\n|---|---|---|\n| `u:c:{userId}` | set | 1 day |\n| `s:{id}` | hash | 2 h |", []string{
			"3 u:c:{userId} set 1d", "4 s:{id} hash 2h"}},
		{"- `cart:{userId}` (hash), 7 days\n- `u:{userId}` (hash), 1 day\n- `x:y:{id}` is there", []string{
			"1 cart:{userId} hash 7d",
			"2 u:{userId} hash 1d",
			"3 not x:y:{id}: nothing says that it is a key",
		}},
	})
}

// TestTreesWithoutColons: what is between the words of such a tree is not known; its branches are listed.
func TestTreesWithoutColons(t *testing.T) {
	const why = ": the tree does not say what is between the words of its keys"
	reads(t, []pageRow{
		{"```\nrank\n├── day\n│   └── {date}     zset, 35 days\n└── total          zset, no TTL\n```", []string{
			"4 not rank/day/{date}" + why,
			"5 not rank/total" + why,
		}},
		{"```\nsrc\n├── main.go  reads the list\n└── keys     files\n```", nil},
	})
}

// TestBelowHeadings: a line below a heading that is a key tells its type and its TTL.
func TestBelowHeadings(t *testing.T) {
	reads(t, []pageRow{
		{"## `price:{sku}`\nHash. TTL 1 hour.\n### Monitoring\nAn alert fires after 10 minutes.", []string{
			"1 price:{sku} hash 1h"}},
		{"### lat:cart:abandoned\n\nSortierte Menge der Körbe. Kein TTL.", []string{"1 lat:cart:abandoned zset none"}},
		{"## `cart:open`\nSorted set of open carts. No TTL.", []string{"1 cart:open zset none"}},
		{"## `seen:{id}`\nSet when a user logs in. The worker runs for 5 minutes.", []string{"1 seen:{id}",
			"2 not The worker runs for 5 minutes.: the time may be of something else than seen:{id}"}},
	})
}

// TestTTLsThatAreNotRead: a text for a TTL that is none is listed.
func TestTTLsThatAreNotRead(t *testing.T) {
	reads(t, []pageRow{
		{"| Key | TTL |\n|---|---|\n| `voucher:{id}` | end of the campaign |\n" +
			"| `view:{id}` | 1h (was 2h until May) |", []string{
			"3 voucher:{id}",
			"4 view:{id}  1h",
			"3 not TTL end of the campaign: no TTL is read of it",
		}},
	})
}

// TestPrefixesAbove: an item in code that ends in a colon is what the keys below it begin with, a label that says so of
// the keys of its section.
func TestPrefixesAbove(t *testing.T) {
	reads(t, []pageRow{
		{"- `rank:`\n" +
			"  - `day:{date}` – zset, 35 days\n" +
			"  - `total` – zset, no TTL\n" +
			"- `shop:cart:` (carts)\n" +
			"  - `{id}` – hash, 14 days\n" +
			"- `user:{id}` – hash", []string{
			"2 rank:day:{date} zset 35d",
			"3 rank:total zset none",
			"5 shop:cart:{id} hash 14d",
			"6 user:{id} hash",
		}},
		{"- rank:\n" +
			"  - day:{date} – zset, 35 days\n" +
			"  - total – zset, no TTL", []string{
			"2 rank:day:{date} zset 35d",
			"3 rank:total zset none",
		}},
		{"- `a:`\n" +
			"  - `{id}` – hash\n" +
			"    - `name` – string\n" +
			"  - `b:`\n" +
			"    - `{id}` – list\n" +
			"  - `cc` – set\n" +
			"- `total:{id}` – set", []string{
			"2 a:{id} hash",
			"5 a:b:{id} list",
			"6 a:cc set",
			"7 total:{id} set",
		}},
		{"- `rank:`\n" +
			"  - `day:{date}` – zset\n" +
			"  - the values are numbers in strings\n" +
			"  - `type`: hash\n" +
			"- redis:\n" +
			"  - user:{id} hash\n" +
			"  - jobs - list", []string{"2 rank:day:{date} zset", "6 user:{id} hash", "7 jobs list",
			"4 not rank:type: nothing says that it is a key"}},
		{"- Sessions:\n" +
			"  - sess:{id} – hash\n" +
			"- `rank:`\n" +
			"  - `rank:{id}` – zset", []string{
			"2 sess:{id} hash",
			"4 rank:{id} zset",
		}},
		{"# A\n\nKey prefix: `cart:v2:`\n\n" +
			"* `{userId}` - hash - 30 days\n" +
			"* `{userId}:total` - string - 30 days\n" +
			"* `guest:{token}` - hash - 2 hours\n" +
			"* See the page of carts for a note.\n\n" +
			"# B\n\n* `user:{id}` - hash", []string{
			"5 cart:v2:{userId} hash 30d",
			"6 cart:v2:{userId}:total string 30d",
			"12 user:{id} hash",
			"7 not cart:v2:guest:{token}: a key may be of it and of cart:v2:{userId}:total (line 6), and a draft cannot " +
				"have both",
		}},
		{"Prefix: `app:`\n\n| Key | TTL |\n|---|---|\n| `user:{id}` | 1h |", []string{"5 app:user:{id}  1h"}},
		{"Prefix: `app:`\n\n| Key | TTL |\n|---|---|\n| `app:user:{id}` | 1h |\n| `post:{id}` | 1h |", []string{
			"5 app:user:{id}  1h", "6 post:{id}  1h"}},
	})
}

// TestPagesOfNothing: pieces of markup that end too soon give nothing, and no line needs a certain end.
func TestPagesOfNothing(t *testing.T) {
	reads(t, []pageRow{
		{"", nil},
		{"|", nil},
		{"|-|", nil},
		{"```", nil},
		{"- ", nil},
		{"| Key |\n" +
			"|---|", nil},
		{"`a\\xff:{id}` is a hash", []string{"1 not xff:{id}: nothing says that it is a key"}},
		{"`user:{a}`\r\n" +
			"\n" +
			"- `post:{id}`: hash\r", []string{
			"1 user:{a}",
			"3 post:{id} hash",
		}},
		{"# ", nil},
		{"<table", nil},
		{"~~~~", nil},
	})
}

// TestCode: blocks of code are lists of keys, commands with their answers, trees or programs.
func TestCode(t *testing.T) {
	reads(t, []pageRow{
		{"```\n" +
			"user:{id}  # hash, 5 min\n" +
			"post:{id}  -> list\n" +
			"plain\n" +
			"```", []string{
			"2 user:{id} hash 5m",
			"3 post:{id} list",
		}},
		{"```\n" +
			"game:\n" +
			"├── match:{id}   hash, 1h\n" +
			"└── lobby:{id}   list\n" +
			"```", []string{
			"3 game:match:{id} hash 1h",
			"4 game:lobby:{id} list",
		}},
		{"```redis\n" +
			"> SET user:{id} 1 EX 60\n" +
			"OK\n" +
			"> TYPE user:{id}\n" +
			"string\n" +
			"> TTL post:{id}\n" +
			"(integer) -1\n" +
			"```", []string{
			"2 user:{id} string 1m",
			"6 post:{id}  none",
		}},
		{"```\n" +
			"# sessions, 1 h\n" +
			"HSET sess:{id} ex 60\n" +
			"```", []string{
			"3 sess:{id} hash",
		}},
		{"```py\n" +
			"# sess:{id} hash, 1 h\n" +
			"r.hset(f\"user:{id}\", x)\n" +
			"log.info(\"user:%s:x\")\n" +
			"```", []string{
			"2 sess:{id} hash 1h",
			"3 user:{id} hash",
			"4 not user:%s:x: nothing says that it is a key",
		}},
		{"```\n" +
			"# cart:{user} expires after 2 hours\n" +
			"profile:{user}  hash\n" +
			"# as (sess:{id}), 5 min\n" +
			"post:{id}  hash\n" +
			"# post:{id} has, with 1 h, its tags\n" +
			"SADD post:{id}:tags x\n" +
			"```", []string{
			"2 cart:{user}  2h",
			"3 profile:{user} hash",
			"5 post:{id} hash",
			"7 post:{id}:tags set",
			"4 not sess:{id}: nothing says that it is a key",
		}},
		{"```\n" +
			"# user:{id}  removed in 2023, hash, 1h\n" +
			"cart:{id}  hash, no longer used\n" +
			"post:{id}  hash\n" +
			"```", []string{
			"4 post:{id} hash",
			"2 not user:{id}: the line says removed in 2023",
			"3 not cart:{id}: the line says no longer used",
		}},
		{"```\n" +
			"# the key sess:{id}:x lives 5 min\n" +
			"sess:{id}:x  hash\n" +
			"user:{id}:y  hash\n" +
			"# post:{id} expires after 5 min and like:{id} after 1h\n" +
			"like:{id}   hash\n" +
			"# as user:{id}:y: hash, expires after 5 min\n" +
			"superuser:{id}:y  list\n" +
			"# see user:{id}:tags, 2 hours\n" +
			"user:{id}:profile  hash\n" +
			"# cart:{id}\n" +
			"# expires after 1h, hash\n" +
			"item:{id}:profile\n" +
			"```", []string{
			"3 sess:{id}:x hash 5m",
			"4 user:{id}:y hash",
			"6 like:{id} hash",
			"8 superuser:{id}:y list",
			"10 user:{id}:profile hash",
			"11 cart:{id} hash 1h",
			"13 item:{id}:profile",
			"5 not post:{id}: nothing says that it is a key",
			"9 not user:{id}:tags: nothing says that it is a key",
		}},
		{"| Key | TTL | Notes |\n|---|---|---|\n| `tenant:cart:{id}` | 1h | replaces cart:{id} |\n" +
			"\n- ~~`old:cart:{id}:x`~~ is gone, see cart:{id}:x", []string{
			"3 tenant:cart:{id}  1h",
			"3 not cart:{id}: nothing says that it is a key",
			"5 not ~~`old:cart:{id}:x`~~: it is struck out",
			"5 not cart:{id}:x: nothing says that it is a key",
		}},
		{"```js\n" +
			"// => 'cache:product:1'\n" +
			"redis.get(`cache:product:${id}`)\n" +
			"```", []string{
			"2 cache:product:{id} string, e.g. cache:product:1",
		}},
		{"```\n" +
			"user:{id}\n" +
			"    hash\n" +
			"    TTL: 5 min\n" +
			"```", []string{
			"2 user:{id} hash 5m",
		}},
		{"**Example:**\n" +
			"\n" +
			"```\n" +
			"SET user:42 1 EX 60\n" +
			"```\n" +
			"\n" +
			"- `user:{id}`: string", []string{
			"4 user:{id} string 1m, e.g. user:42",
		}},
		{"## Removed\n" +
			"\n" +
			"```\n" +
			"user:{id}  # hash\n" +
			"```\n" +
			"\n" +
			"## Keys\n" +
			"\n" +
			"```\n" +
			"post:{id}  # hash\n" +
			"```", []string{
			"10 post:{id} hash",
			"1 not Removed: the section says Removed",
		}},
		{"~~~\n" +
			"user:{id}  # hash", []string{
			"2 user:{id} hash",
		}},
	})
}

// TestLongPages: a page of very many mentions is read up to a bound, and says so; what is passed over is bounded, too.
func TestLongPages(t *testing.T) {
	row := "| " + strings.Repeat("`ab:*` ", 50) + "| 1h |\n"
	p := page.Read([]byte("| Key | TTL |\n|---|---|\n" + strings.Repeat(row, 201) + "\n- `post:{id}`: hash\n"))
	want := []string{"3 ab:{ab_id}  1h", "203 not the rest: only 10000 mentions of keys are read"}
	if got := summary(p); !slices.Equal(got, want) {
		t.Errorf("%q, and not %q", got, want)
	}
	p = page.Read([]byte("`user:{id}` is a hash\n" + strings.Repeat("\n`exporter:9121` is one\n", 300)))
	if got := p.Passed; len(got) != 2 || got[1].Text != "the rest" || got[1].Line != 201 {
		t.Errorf("%+v", got)
	}
}

// TestAttributes: a label after a list of keys is of all of them, one after a heading of the key that follows, and one far
// below, or of another section, of none.
func TestAttributes(t *testing.T) {
	far := strings.Repeat("\nx\n", 13)
	reads(t, []pageRow{
		{"- `user:{id}`: hash\n- `post:{id}`: list\n\nTTL: 1 h", []string{"1 user:{id} hash 1h", "2 post:{id} list 1h"}},
		{"- `user:{id}`: hash, 5 min\n- `post:{id}`: list\n\nTTL: 1 h", []string{"1 user:{id} hash 5m", "2 post:{id} list 1h"}},
		{"- `user:{id}`: hash\n\n- `post:{id}`: list\n\nTTL: 1 h", []string{"1 user:{id} hash", "3 post:{id} list 1h"}},
		{"# A\n\nTTL: 1 h\n\nKey: user:{id}", []string{"5 user:{id}  1h"}},
		{"- `user:{id}`: hash" + far + "\nTTL: 1 h", []string{"1 user:{id} hash"}},
		{"`user:{id}` is a hash.\n\n## Other\n\nTTL: 1 h", []string{"1 user:{id} hash"}},
	})
}
