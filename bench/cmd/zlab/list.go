package main

import (
	"fmt"
	"strconv"
	"strings"
)

const sixNames = `'id','type','content','contextId','priority','createdAt'`

func fill() {
	flush()
	var b []byte
	for i := range 10000 {
		b = plain(b, i)
		t := itemOf(i)
		b = cmd(b, "SADD", "ten:"+strconv.Itoa(i%1000), t.id)
		b = cmd(b, "SADD", "hundred:"+strconv.Itoa(i%100), t.id)
		b = cmd(b, "ZADD", "zten:"+strconv.Itoa(i%1000), strconv.Itoa(i), t.id)
		b = cmd(b, "ZADD", "zhundred:"+strconv.Itoa(i%100), strconv.Itoa(i), t.id)
		if len(b) > 50000 {
			do(b)
			b = nil
		}
	}
	do(b)
}

func lists() {
	scripts := []struct{ name, text string }{
		{"HGETALL nested", `local call = redis.call local out, ids, p = {}, call('SMEMBERS', KEYS[1]), ARGV[1] for i = 1, #ids do out[i] = call('HGETALL', p .. ids[i]) end return out`},
		{"HMGET nested", `local call = redis.call local out, ids, p = {}, call('SMEMBERS', KEYS[1]), ARGV[1] for i = 1, #ids do out[i] = call('HMGET', p .. ids[i], ` + sixNames + `) end return out`},
		{"HMGET flat", `local call = redis.call local out, ids, p, n = {}, call('SMEMBERS', KEYS[1]), ARGV[1], 0 for i = 1, #ids do local m = call('HMGET', p .. ids[i], ` + sixNames + `) for j = 1, 6 do out[n+j] = m[j] end n = n + 6 end return out`},
		{"HMGET, cmsgpack of all", `local call = redis.call local out, ids, p = {}, call('SMEMBERS', KEYS[1]), ARGV[1] for i = 1, #ids do out[i] = call('HMGET', p .. ids[i], ` + sixNames + `) end return cmsgpack.pack(out)`},
		{"HMGET, cmsgpack of each", `local call, pack = redis.call, cmsgpack.pack local out, ids, p = {}, call('SMEMBERS', KEYS[1]), ARGV[1] for i = 1, #ids do out[i] = pack(call('HMGET', p .. ids[i], ` + sixNames + `)) end return out`},
		{"HMGET, cjson of all", `local call = redis.call local out, ids, p = {}, call('SMEMBERS', KEYS[1]), ARGV[1] for i = 1, #ids do out[i] = call('HMGET', p .. ids[i], ` + sixNames + `) end return cjson.encode(out)`},
		{"HMGET, table.concat \\0", `local call, concat = redis.call, table.concat local out, ids, p = {}, call('SMEMBERS', KEYS[1]), ARGV[1] for i = 1, #ids do out[i] = concat(call('HMGET', p .. ids[i], ` + sixNames + `), '\0') end return concat(out, '\0')`},
		{"SORT BY nosort GET # GET *->f x5 in a script", `return redis.call('SORT', KEYS[1], 'BY', 'nosort', 'GET', ARGV[1] .. '*->id', 'GET', ARGV[1] .. '*->type', 'GET', ARGV[1] .. '*->content', 'GET', ARGV[1] .. '*->contextId', 'GET', ARGV[1] .. '*->priority', 'GET', ARGV[1] .. '*->createdAt')`},
		{"ids only (SMEMBERS in a script)", `return redis.call('SMEMBERS', KEYS[1])`},
		{"HGETALL nested, ZRANGE REV of a ZSET", `local call = redis.call local out, ids, p = {}, call('ZRANGE', 'z' .. KEYS[1], 0, -1, 'REV'), ARGV[1] for i = 1, #ids do out[i] = call('HGETALL', p .. ids[i]) end return out`},
		{"one blob field: HGET each", `local call = redis.call local out, ids, p = {}, call('SMEMBERS', KEYS[1]), ARGV[1] for i = 1, #ids do out[i] = call('HGET', p .. ids[i], 'content') end return out`},
	}
	fill()
	for _, size := range []struct {
		name    string
		mod, of int
	}{{"ten:", 1000, 10}, {"hundred:", 100, 100}} {
		n := 20000 / size.of
		v, _ := measure(func() {}, func(b []byte, i int) []byte {
			b = cmd(b, "SMEMBERS", size.name+strconv.Itoa(i%size.mod))
			for j := range size.of {
				b = cmd(b, "HGETALL", itemOf(i%size.mod+j*size.mod).hash())
			}
			return b
		}, n, 1)
		fmt.Printf("%-52s %7.2f µs per list of %d\n", "SMEMBERS + HGETALL, plain commands", v, size.of)
		v, _ = measure(func() {}, func(b []byte, i int) []byte {
			b = cmd(b, "SMEMBERS", size.name+strconv.Itoa(i%size.mod))
			for j := range size.of {
				b = cmd(b, "HMGET", itemOf(i%size.mod+j*size.mod).hash(), "id", "type", "content", "contextId", "priority", "createdAt")
			}
			return b
		}, n, 1)
		fmt.Printf("%-52s %7.2f µs per list of %d\n", "SMEMBERS + HMGET, plain commands", v, size.of)
		v, _ = measure(func() {}, func(b []byte, i int) []byte {
			a := []string{"SORT_RO", size.name + strconv.Itoa(i%size.mod), "BY", "nosort"}
			for _, f := range strings.Split("id type content contextId priority createdAt", " ") {
				a = append(a, "GET", p+"item:*->"+f)
			}
			return cmd(b, a...)
		}, n, 1)
		fmt.Printf("%-52s %7.2f µs per list of %d\n", "SORT_RO plain", v, size.of)
		for _, s := range scripts {
			sha := load(s.text)
			v, _ := measure(func() {}, func(b []byte, i int) []byte {
				return cmd(b, "EVALSHA", sha, "1", size.name+strconv.Itoa(i%size.mod), p+"item:")
			}, n, 1)
			fmt.Printf("%-52s %7.2f µs\n", s.name, v)
		}
	}
	// many lists in one script
	text := `local call, p = redis.call, ARGV[2] local lists = {} for k = 1, #KEYS do local out, ids = {}, call('SMEMBERS', KEYS[k]) for i = 1, #ids do out[i] = call('HGETALL', p .. ids[i]) end lists[k] = out end return lists`
	sha := load(text)
	for _, n := range []int{1, 8, 32} {
		v, _ := measure(func() {}, func(b []byte, i int) []byte {
			a := []string{"EVALSHA", sha, strconv.Itoa(n)}
			for j := range n {
				a = append(a, "ten:"+strconv.Itoa((i*n+j)%1000))
			}
			return cmd(b, append(a, "x", p+"item:")...)
		}, 2000/n, n)
		fmt.Printf("%d lists of ten in a script: %.2f µs per list\n", n, v)
	}
}
