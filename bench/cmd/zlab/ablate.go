package main

import (
	"fmt"
	"strings"
)

func init() { groups = append(groups, group{"ablate", ablate}) }

func ablate() {
	const items = 16000
	base := spec(true)
	for _, c := range []struct{ name, old, new string }{
		{"whole", "", ""},
		{"no HSETNX/HGET ledger", `if expect ~= '' and call('HGET', ledger, id) ~= expect or expect == '' and call('HSETNX', ledger, id, record) == 0 then out[i] = 0
  else`, "do"},
		{"no version check", `if call('HGET', hash, 'version') then out[i] = -1 else`, "do"},
		{"EXISTS for version check", `if call('HGET', hash, 'version') then out[i] = -1 else`, `if call('EXISTS', hash) == 1 then out[i] = -1 else`},
		{"no HSET (nor PEXPIREAT)", `call('HSET', hash, 'id', id, 'type', ARGV[a+5], 'content', ARGV[a+6], 'contextId', ARGV[a+7], 'priority', ARGV[a+8], 'createdAt', ARGV[a+9], 'version', us)
    call('PEXPIREAT', hash, at)`, ""},
		{"no PEXPIREAT", `call('PEXPIREAT', hash, at)`, ""},
		{"no ZADD expiry", `call('ZADD', expiry, at, id)`, ""},
		{"no SADD 1", `call('SADD', k1, id)`, ""},
		{"no SADD 2", `call('SADD', k2, id)`, ""},
		{"no ZADD prio", `call('ZADD', k3, ARGV[a+9], id)`, ""},
		{"no renew", `renew(expiry) renew(ledger) renew(k1) renew(k2) renew(k3)`, ""},
		{"no renew k2 (ctx)", `renew(k2)`, ""},
		{"ctx: SCARD==1 then renew", `renew(k2)`, `if call('SCARD', k2) == 1 then renew(k2) end`},
		{"no HSET at all, only SADD2", base[strings.Index(base, "  if expect"):strings.Index(base, "  a, k = a + 9")], `call('SADD', k2, id) out[i] = us`},
		{"nothing", base[strings.Index(base, "  if expect"):strings.Index(base, "  a, k = a + 9")], `out[i] = us`},
		{"nothing, no locals", base[strings.Index(base, "for i = 1"):strings.Index(base, "return out")], `for i = 1, tonumber(ARGV[1]) do out[i] = us end `},
	} {
		text := strings.Replace(base, c.old, c.new, 1)
		if c.name == "no HSETNX/HGET ledger" || c.name == "no version check" {
		}
		fmt.Printf("%-30s", c.name)
		for _, n := range []int{1, 8, 64} {
			va := variant{text: text, args: specArgs, keys: keysOf, n: n}
			v, _ := measure(flush, batch(va), items/n, n)
			fmt.Printf(" %6.2f", v)
		}
		fmt.Println()
	}
}
