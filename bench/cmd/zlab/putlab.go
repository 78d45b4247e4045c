package main

import (
	"fmt"
	"os"
	"strings"
)

func init() { groups = append(groups, group{"putlab", putlab}) }

func putArgs(t item) []string {
	return []string{t.id, "", "=type=5:" + t.typ + "context=4:" + t.ctx + "prio=1:" + t.pri, "absent", "900000", "", "0", t.id, t.typ, content, t.ctx, t.pri}
}

func putlab() {
	raw, _ := os.ReadFile("/tmp/kw/put-harca.lua")
	base := string(raw)
	loop := base[strings.Index(base, "local out, a, k"):]
	top := `local call, fmt = redis.call, string.format
local t = call('TIME')
local ms = t[1] * 1000 + math.floor(t[2] / 1000)
local now, micros = fmt('%.0f', ms), fmt('%.0f', t[1] * 1000000 + t[2])
`
	plain := strings.Replace(strings.Replace(loop, "pcall(put, k, a)", "true, now", 1), "now", "'x'", 1)
	_ = top
	_ = plain
	old, _ := os.ReadFile("/tmp/kw/put-old.lua")
	all := []struct{ name, text string }{
		{"old", string(old)}, {"new", base}, {"proto", spec(true)}, {"old", string(old)}, {"new", base},
		{"new, few at 2", strings.Replace(base, "< 8", "< 2", 1)},
		{"new, always few", strings.Replace(base, "< 8", "< 80", 1)},
		{"new, no lacking", strings.Replace(base, "local due = true", "local due = false", 1)},
	}
	const items = 16000
	for _, v := range all {
		fmt.Printf("%-30s", v.name)
		for _, n := range []int{1, 8, 64} {
			va := variant{text: v.text, args: map[bool]func(item) []string{true: specArgs, false: putArgs}[v.name == "proto"], keys: keysOf, n: n}
			if strings.Contains(v.name, "no HSET") && strings.Contains(v.text, "local _ = (") {
				continue
			}
			c, _ := measure(flush, batch(va), items/n, n)
			fmt.Printf(" %6.2f", c)
		}
		fmt.Println()
	}
}
