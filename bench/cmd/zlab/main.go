// zlab: throw-away; server CPU of variants.
package main

import (
	"bytes"
	"context"
	"crypto/sha1"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/bench/live"
)

var server *live.Server
var conn net.Conn

func cmd(b []byte, args ...string) []byte {
	b = append(b, '*')
	b = strconv.AppendInt(b, int64(len(args)), 10)
	b = append(b, "\r\n"...)
	for _, a := range args {
		b = append(b, '$')
		b = strconv.AppendInt(b, int64(len(a)), 10)
		b = append(b, "\r\n"...)
		b = append(b, a...)
		b = append(b, "\r\n"...)
	}
	return b
}

func do(b []byte) string {
	b = cmd(b, "ECHO", "~~marker~~")
	go func() { conn.Write(b) }()
	buf := make([]byte, 1<<20)
	var tail, head []byte
	for {
		n, err := conn.Read(buf)
		if err != nil {
			panic(err)
		}
		if len(head) < 3000 {
			head = append(head, buf[:min(n, 3000)]...)
		}
		if i := bytes.Index(buf[:n], []byte("\r\n-")); i >= 0 || (len(tail) == 0 && buf[0] == '-') {
			fmt.Println("ERROR", string(buf[max(0, i):min(n, max(0, i)+300)]))
			os.Exit(1)
		}
		tail = append(tail, buf[:n]...)
		if len(tail) > 100 {
			tail = tail[len(tail)-100:]
		}
		if bytes.HasSuffix(tail, []byte("~~marker~~\r\n")) {
			return string(head)
		}
	}
}

func load(text string) string {
	do(cmd(nil, "SCRIPT", "LOAD", text))
	return fmt.Sprintf("%x", sha1.Sum([]byte(text)))
}

// measure: median of 5 of server CPU per op.
func measure(prepare func(), op func(b []byte, i int) []byte, ops, per int) (float64, string) {
	var all []float64
	first := ""
	for r := range 5 {
		prepare()
		var bufs [][]byte
		for i := 0; i < ops; {
			var b []byte
			for ; i < ops && len(b) < 60000; i++ {
				b = op(b, i)
			}
			bufs = append(bufs, b)
		}
		before, _ := server.CPU()
		for j, b := range bufs {
			h := do(b)
			if r == 0 && j == 0 {
				first = h
			}
		}
		after, _ := server.CPU()
		all = append(all, float64(after-before)/1e3/float64(ops*per))
	}
	m := all[0]
	for _, v := range all {
		m = min(m, v)
	}
	return m, first
}

func flush() { do(cmd(nil, "FLUSHALL", "SYNC")) }

func main() {
	var err error
	binary := "redis-server"
	if s := os.Getenv("SERVER"); s != "" {
		binary = s
	}
	server, err = live.Start(context.Background(), binary)
	if err != nil {
		panic(err)
	}
	defer server.Stop()
	conn, _ = net.DialTimeout("tcp", server.Addr, time.Second)
	which := os.Args[1]
	for _, g := range groups {
		if strings.Contains(which, g.name) {
			fmt.Println("##", g.name)
			g.run()
		}
	}
}

type group struct {
	name string
	run  func()
}

var groups = []group{{"calls", calls}, {"create", creates}, {"list", lists}}

func calls() {
	pre := func() {
		flush()
		do(cmd(nil, "HSET", "h", "id", "x", "type", "fact", "content", strings.Repeat("c", 64), "contextId", "c1", "priority", "5", "createdAt", "1795167000000"))
		do(cmd(nil, "SADD", "s", "a", "b", "zz"))
		for i := range 10000 {
			do0(i)
		}
		do(pending)
		pending = nil
	}
	for _, c := range []struct{ name, body string }{
		{"empty loop", ``},
		{"EXISTS", `call('EXISTS', 'h')`},
		{"HGET field", `call('HGET', 'h', 'type')`},
		{"HGET ledger 10k", `call('HGET', 'ledger', ids[i])`},
		{"HSET ledger same", `call('HSET', 'ledger', ids[i], 'fact:c1:5')`},
		{"HSETNX ledger there", `call('HSETNX', 'ledger', ids[i], 'fact:c1:5')`},
		{"PEXPIRE", `call('PEXPIRE', 's', 60000)`},
		{"PEXPIRE str", `call('PEXPIRE', 's', '60000')`},
		{"PEXPIREAT num", `call('PEXPIREAT', 's', 1995167000000)`},
		{"PEXPIREAT str", `call('PEXPIREAT', 's', '1995167000000')`},
		{"PTTL", `call('PTTL', 's')`},
		{"SADD there", `call('SADD', 's', 'a')`},
		{"ZADD 10k move num", `call('ZADD', 'z', 1795167000000+i, ids[i])`},
		{"ZADD 10k move str", `call('ZADD', 'z', '1795167000000', ids[i])`},
		{"ZREM missing", `call('ZREM', 'z', 'nope')`},
		{"TIME", `call('TIME')`},
		{"PUBLISH no listener", `call('PUBLISH', 'ch', '{"timestamp":1795167000000,"data":{"id":"x","type":"fact"}}')`},
		{"XADD maxlen ~1000", `call('XADD', 'st', 'MAXLEN', '~', 1000, '*', 'timestamp', '1795167000000', 'data', '{"id":"x","type":"fact"}')`},
		{"HSET 6 over", `call('HSET', 'h', 'id', 'x', 'type', 'fact', 'content', big, 'contextId', 'c1', 'priority', '5', 'createdAt', '1795167000000')`},
		{"HSET 7 over", `call('HSET', 'h', 'id', 'x', 'type', 'fact', 'content', big, 'contextId', 'c1', 'priority', '5', 'createdAt', '1795167000000', 'version', '1795167000000000')`},
		{"HSET 1 x6", `call('HSET', 'h', 'id', 'x') call('HSET', 'h', 'type', 'fact') call('HSET', 'h', 'content', big) call('HSET', 'h', 'contextId', 'c1') call('HSET', 'h', 'priority', '5') call('HSET', 'h', 'createdAt', '1795167000000')`},
		{"DEL+HSET 6", `call('DEL', 'h') call('HSET', 'h', 'id', 'x', 'type', 'fact', 'content', big, 'contextId', 'c1', 'priority', '5', 'createdAt', '1795167000000')`},
		{"UNLINK+HSET 6", `call('UNLINK', 'h') call('HSET', 'h', 'id', 'x', 'type', 'fact', 'content', big, 'contextId', 'c1', 'priority', '5', 'createdAt', '1795167000000')`},
		{"HDEL 2 missing + HSET 6", `call('HDEL', 'h', 'a', 'b') call('HSET', 'h', 'id', 'x', 'type', 'fact', 'content', big, 'contextId', 'c1', 'priority', '5', 'createdAt', '1795167000000')`},
		{"HINCRBY", `call('HINCRBY', 'h', 'n', 1)`},
		{"HMGET 6", `call('HMGET', 'h', 'id', 'type', 'content', 'contextId', 'priority', 'createdAt')`},
		{"HMGET 6 unpack", `call('HMGET', 'h', unpack(names))`},
		{"HGETALL 6", `call('HGETALL', 'h')`},
		{"redis.call HGET (global lookups)", `redis.call('HGET', 'h', 'type')`},
		{"pcall HGET", `redis.pcall('HGET', 'h', 'type')`},
		{"format %.0f", `local s = string.format('%.0f', 1795167000000000)`},
		{"concat 3", `local s = ids[i] .. ':' .. i`},
		{"tonumber str", `local s = tonumber('1795167000000')`},
	} {
		text := `local call, big, names, ids = redis.call, string.rep('c', 64), {'id', 'type', 'content', 'contextId', 'priority', 'createdAt'}, {}
for i = 1, 1000 do ids[i] = 'id:' .. i end
for i = 1, 1000 do ` + c.body + ` end return 0`
		sha := load(text)
		v, _ := measure(pre, func(b []byte, i int) []byte { return cmd(b, "EVALSHA", sha, "0") }, 50, 1000)
		fmt.Printf("%-32s %.3f µs\n", c.name, v)
	}
}

var pending []byte

func do0(i int) {
	id := "id:" + strconv.Itoa(i)
	pending = cmd(pending, "HSET", "ledger", id, "fact:c1:5")
	pending = cmd(pending, "ZADD", "z", strconv.Itoa(1795167000000+i), id)
}
