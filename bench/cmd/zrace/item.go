package main

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// item is what is stored: a hash of six fields with a TTL, in two sets and two
// sorted sets.
type item struct {
	id, kind, content, context string
	priority                   int
	created                    time.Time
}

const (
	prefix   = "mem:item:"
	kinds    = 5
	contexts = 1000
)

var (
	content = strings.Repeat("c", 64)
	names   = [...]string{"id", "type", "content", "contextId", "priority", "createdAt"}
)

// itemOf is the nth item of a goroutine. variant moves it to other indexes.
func itemOf(goroutine, n, variant int) item {
	return item{
		id: strconv.Itoa(100_000+goroutine) + "-7c1a-7d3e-8f60-" + strconv.Itoa(100_000_000+n), kind: "type" + strconv.Itoa((n+variant)%kinds),
		content: content, context: "ctx" + strconv.Itoa((n*7+goroutine)%contexts), priority: (n + variant) % 10, created: time.Now(),
	}
}

func (t item) hash() string       { return prefix + t.id }
func (t item) byKind() string     { return "mem:idx:type:" + t.kind }
func (t item) byContext() string  { return "mem:idx:context:" + t.context }
func (t item) byPriority() string { return "mem:idx:priority:" + strconv.Itoa(t.priority) }

const byExpiry = "mem:idx:expiry"

// values in the order of names.
func (t item) values() [6]string {
	return [6]string{t.id, t.kind, t.content, t.context, strconv.Itoa(t.priority), strconv.FormatInt(t.created.UnixMilli(), 10)}
}

// itemOfMap is what a program by hand makes of a hash.
func itemOfMap(m map[string]string) (t item, err error) {
	if len(m) == 0 {
		return t, errors.New("the item is gone")
	}
	var e1, e2 error
	var ms int64
	t.id, t.kind, t.content, t.context = m["id"], m["type"], m["content"], m["contextId"]
	t.priority, e1 = strconv.Atoi(m["priority"])
	ms, e2 = strconv.ParseInt(m["createdAt"], 10, 64)
	t.created = time.UnixMilli(ms)
	return t, errors.Join(e1, e2)
}
