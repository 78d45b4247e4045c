package main

import (
	"fmt"
	"strconv"
	"strings"
)

type item struct{ id, typ, ctx, pri string }

var content = strings.Repeat("c", 64)

func itemOf(i int) item {
	return item{"01932f6e-7c1a-7d3e-8f60-" + strconv.Itoa(100000000000+i), "type" + strconv.Itoa(i%5), "ctx" + strconv.Itoa(i%1000), strconv.Itoa(i % 10)}
}

const p = "harca:memory:short:"

func (t item) hash() string { return p + "item:" + t.id }
func (t item) keys() []string {
	return []string{t.hash(), p + "idx:expiry", p + "ledger", p + "idx:type:" + t.typ, p + "idx:context:" + t.ctx, p + "idx:priority:" + t.pri}
}
func (t item) record() string { return t.typ + "\x00" + t.ctx + "\x00" + t.pri }

const now = "1795167000000"
const expiresAt = "1995167000000"

func naive(b []byte, i int) []byte {
	t := itemOf(i)
	b = cmd(b, "MULTI")
	b = plain(b, i)
	_ = t
	return cmd(b, "EXEC")
}

func plain(b []byte, i int) []byte {
	t := itemOf(i)
	k := t.keys()
	b = cmd(b, "HSET", k[0], "id", t.id, "type", t.typ, "content", content, "contextId", t.ctx, "priority", t.pri, "createdAt", now)
	b = cmd(b, "PEXPIRE", k[0], "900000")
	b = cmd(b, "SADD", k[3], t.id)
	b = cmd(b, "SADD", k[4], t.id)
	b = cmd(b, "ZADD", k[5], now, t.id)
	return cmd(b, "ZADD", k[1], expiresAt, t.id)
}

const names = `'id','type','content','contextId','priority','createdAt','version'`

type variant struct {
	name string
	n    int // calls per script
	text string
	args func(t item) []string
	keys func(t item) []string
}

func batch(v variant) func(b []byte, i int) []byte {
	sha := load(v.text)
	return func(b []byte, i int) []byte {
		args := []string{"EVALSHA", sha, ""}
		nk := 0
		for j := range v.n {
			k := v.keys(itemOf(i*v.n + j))
			nk += len(k)
			args = append(args, k...)
		}
		args[2] = strconv.Itoa(nk)
		args = append(args, strconv.Itoa(v.n))
		for j := range v.n {
			args = append(args, v.args(itemOf(i*v.n+j))...)
		}
		return cmd(b, args...)
	}
}

func keysOf(t item) []string { return t.keys() }

// generic: id, expect, record, ttl, version, score, nfields, f, v ...
func genericArgs(t item) []string {
	return []string{t.id, "", t.record(), "900000", "", now, "12", "id", t.id, "type", t.typ, "content", content, "contextId", t.ctx, "priority", t.pri, "createdAt", now}
}

const genericHead = `local call, unpack = redis.call, unpack
local t = call('TIME')
local ms, us = t[1] * 1000 + math.floor(t[2] / 1000), t[1] * 1000000 + t[2]
local out, a, k = {}, 1, 0
for i = 1, tonumber(ARGV[1]) do
  local id, expect, record, ttl, want = ARGV[a+1], ARGV[a+2], ARGV[a+3], tonumber(ARGV[a+4]), ARGV[a+5]
  local hash, expiry, ledger = KEYS[k+1], KEYS[k+2], KEYS[k+3]
  local n = tonumber(ARGV[a+7])
`
const genericTail = `
  a, k = a + 7 + n, k + 6
end
return out`

var generic = genericHead + `
  if (call('HGET', ledger, id) or '') ~= expect then out[i] = 0
  else
    local v = call('HGET', hash, 'version')
    if v then out[i] = -1 else
    local f = {'HSET', hash, 'version', us}
    for j = 1, n do f[4+j] = ARGV[a+7+j] end
    call(unpack(f))
    local at = ms + ttl
    call('PEXPIREAT', hash, at)
    call('ZADD', expiry, at, id)
    call('SADD', KEYS[k+4], id)
    call('SADD', KEYS[k+5], id)
    call('ZADD', KEYS[k+6], ARGV[a+6], id)
    call('HSET', ledger, id, record)
    for j = 2, 6 do call('PEXPIRE', KEYS[k+j], 86400000) end
    out[i] = us end
  end` + genericTail

// range unpack of ARGV, version as a separate field in args position
var genericUnpack = strings.Replace(generic, `    local f = {'HSET', hash, 'version', us}
    for j = 1, n do f[4+j] = ARGV[a+7+j] end
    call(unpack(f))
`, `    call('HSET', hash, 'version', us, unpack(ARGV, a+8, a+7+n))
`, 1)

var renewOnce = strings.Replace(strings.Replace(genericUnpack, `for j = 2, 6 do call('PEXPIRE', KEYS[k+j], 86400000) end`,
	`for j = 2, 6 do local key = KEYS[k+j] if not renewed[key] then renewed[key] = true call('PEXPIRE', key, '86400000') end end`, 1),
	`local out, a, k = {}, 1, 0`, `local out, a, k, renewed = {}, 1, 0, {}`, 1)

var noRenew = strings.Replace(genericUnpack, `for j = 2, 6 do call('PEXPIRE', KEYS[k+j], 86400000) end`, ``, 1)

// strings: at computed once per distinct ttl as string
var stringsOnce = strings.Replace(strings.Replace(strings.Replace(renewOnce, `local at = ms + ttl`, `local at = ats[ttl] if not at then at = string.format('%.0f', ms + ttl) ats[ttl] = at end`, 1),
	`us = t[1] * 1000 + math.floor(t[2] / 1000), t[1] * 1000000 + t[2]`, `us = t[1] * 1000 + math.floor(t[2] / 1000), string.format('%.0f', t[1] * 1000000 + t[2])
local ats = {}`, 1), `ARGV[a+3], tonumber(ARGV[a+4]), `, `ARGV[a+3], ARGV[a+4], `, 1)

var nx = strings.Replace(strings.Replace(stringsOnce, `if (call('HGET', ledger, id) or '') ~= expect then out[i] = 0`, `if expect ~= '' and call('HGET', ledger, id) ~= expect or expect == '' and call('HSETNX', ledger, id, record) == 0 then out[i] = 0`, 1),
	`call('HSET', ledger, id, record)`, `if expect ~= '' then call('HSET', ledger, id, record) end`, 1)

// no exists check: HSET answers how many fields are new (version among them)
var nxNoCheck = strings.Replace(strings.Replace(nx, `local v = call('HGET', hash, 'version')
    if v then out[i] = -1 else`, ``, 1), `out[i] = us end`, `out[i] = us`, 1)

// specialised: names in the text. id expect record ttl score v2..v6 ; a stride 10
func specArgs(t item) []string {
	return []string{t.id, "", t.record(), "900000", t.typ, content, t.ctx, t.pri, now}
}

func spec(check bool) string {
	c, e := `if call('HGET', hash, 'version') then out[i] = -1 else`, `end`
	if !check {
		c, e = "", ""
	}
	return `local call = redis.call
local t = call('TIME')
local ms, us = t[1] * 1000 + math.floor(t[2] / 1000), string.format('%.0f', t[1] * 1000000 + t[2])
local ats, out, renewed, a, k = {}, {}, {}, 1, 0
local function renew(key) if not renewed[key] then renewed[key] = true call('PEXPIRE', key, '86400000') end end
for i = 1, tonumber(ARGV[1]) do
  local id, expect, record, ttl = ARGV[a+1], ARGV[a+2], ARGV[a+3], ARGV[a+4]
  local hash, expiry, ledger, k1, k2, k3 = KEYS[k+1], KEYS[k+2], KEYS[k+3], KEYS[k+4], KEYS[k+5], KEYS[k+6]
  if expect ~= '' and call('HGET', ledger, id) ~= expect or expect == '' and call('HSETNX', ledger, id, record) == 0 then out[i] = 0
  else
    ` + c + `
    local at = ats[ttl] if not at then at = string.format('%.0f', ms + ttl) ats[ttl] = at end
    call('HSET', hash, 'id', id, 'type', ARGV[a+5], 'content', ARGV[a+6], 'contextId', ARGV[a+7], 'priority', ARGV[a+8], 'createdAt', ARGV[a+9], 'version', us)
    call('PEXPIREAT', hash, at)
    call('ZADD', expiry, at, id)
    call('SADD', k1, id)
    call('SADD', k2, id)
    call('ZADD', k3, ARGV[a+9], id)
    if expect ~= '' then call('HSET', ledger, id, record) end
    renew(expiry) renew(ledger) renew(k1) renew(k2) renew(k3)
    out[i] = us
    ` + e + `
  end
  a, k = a + 9, k + 6
end
return out`
}

// one packed argument for the fields
func packed(t item) []string {
	all := []string{t.id, "", t.record(), "900000", t.typ, content, t.ctx, t.pri, now}
	var b strings.Builder
	b.WriteByte(0x90 | byte(len(all)))
	for _, s := range all {
		if len(s) < 32 {
			b.WriteByte(0xa0 | byte(len(s)))
		} else {
			b.WriteByte(0xd9)
			b.WriteByte(byte(len(s)))
		}
		b.WriteString(s)
	}
	return []string{b.String()}
}

func packedText() string {
	s := spec(true)
	s = strings.Replace(s, `local id, expect, record, ttl = ARGV[a+1], ARGV[a+2], ARGV[a+3], ARGV[a+4]`, `local A = cmsgpack.unpack(ARGV[a+1]) local id, expect, record, ttl = A[1], A[2], A[3], A[4]`, 1)
	for _, n := range []string{"5", "6", "7", "8", "9"} {
		s = strings.ReplaceAll(s, "ARGV[a+"+n+"]", "A["+n+"]")
	}
	return strings.Replace(s, "a, k = a + 9, k + 6", "a, k = a + 1, k + 6", 1)
}

// shared keys once: KEYS[1..2] expiry, ledger; then 4 per call. Needs other RunShared.
func fewKeys(t item) []string { k := t.keys(); return []string{k[0], k[3], k[4], k[5]} }
func fewText(check bool) string {
	s := spec(check)
	s = strings.Replace(s, `KEYS[k+1], KEYS[k+2], KEYS[k+3], KEYS[k+4], KEYS[k+5], KEYS[k+6]`, `KEYS[k+1], 'harca:memory:short:idx:expiry', 'harca:memory:short:ledger', KEYS[k+2], KEYS[k+3], KEYS[k+4]`, 1)
	return strings.Replace(s, "k + 6", "k + 4", 1)
}

const pushEvent = `call('PUBLISH', 'harca:events:memory:item:created', '{"timestamp":' .. ms .. ',"data":' .. '{"id":"01932f6e-7c1a-7d3e-8f60-100000000000","type":"fact","contextId":"ctx1"}' .. '}')
    out[i] = us`

func creates() {
	const items = 16000
	v, _ := measure(flush, naive, items, 1)
	fmt.Printf("%-46s %.2f µs\n", "naive MULTI of six", v)
	v, _ = measure(flush, plain, items, 1)
	fmt.Printf("%-46s %.2f µs\n", "naive pipeline of six", v)
	for _, va := range []variant{
		{name: "generic, table + unpack, PEXPIRE x5", text: generic, args: genericArgs, keys: keysOf},
		{name: "generic, unpack(ARGV,i,j), PEXPIRE x5", text: genericUnpack, args: genericArgs, keys: keysOf},
		{name: "  no renewal", text: noRenew, args: genericArgs, keys: keysOf},
		{name: "  renew once per key", text: renewOnce, args: genericArgs, keys: keysOf},
		{name: "  + times as strings, once", text: stringsOnce, args: genericArgs, keys: keysOf},
		{name: "  + HSETNX ledger in place of HGET+HSET", text: nx, args: genericArgs, keys: keysOf},
		{name: "  + no HGET version of the hash", text: nxNoCheck, args: genericArgs, keys: keysOf},
		{name: "names in the text (9 args), check", text: spec(true), args: specArgs, keys: keysOf},
		{name: "names in the text (9 args), no check", text: spec(false), args: specArgs, keys: keysOf},
		{name: "  one cmsgpack argument, check", text: packedText(), args: packed, keys: keysOf},
		{name: "  expiry, ledger in text, check", text: fewText(true), args: specArgs, keys: fewKeys},
		{name: "  + PUBLISH", text: strings.Replace(spec(true), "out[i] = us", pushEvent, 1), args: specArgs, keys: keysOf},
	} {
		fmt.Printf("%-46s", va.name)
		for _, n := range []int{1, 4, 16, 64} {
			va.n = n
			v, h := measure(flush, batch(va), items/n, n)
			fmt.Printf(" %6.2f", v)
			if n == 4 && !strings.Contains(h, "179") && !strings.Contains(h, ":17") && !strings.Contains(h, "$16") {
				fmt.Print(" ?", strings.ReplaceAll(h[:40], "\r\n", " "))
			}
		}
		fmt.Println("  µs @1/4/16/64 per script")
	}
}



func init() {
	groups = append(groups, group{"perf1", func() { perf(1) }}, group{"perf64", func() { perf(64) }}, group{"perfnaive", func() { perf(0) }})
}

func perf(n int) {
	va := variant{text: spec(true), args: specArgs, keys: keysOf, n: n}
	op := naive
	if n > 0 {
		op = batch(va)
	} else {
		n = 1
	}
	for range 8 {
		measure(flush, op, 16000/n, n)
	}
}
