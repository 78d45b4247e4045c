// Package stored has the forms in which a queue stores its jobs and what is known of those that have begun, and in
// which its scripts take settlements and answer a claim.
//
// It sends nothing, and knows no key.
package stored

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Claimed represents one job as the server gives it.
type Claimed struct {
	ID, Payload             string
	Unique                  string // the key of its unique name, "" for none
	Alien                   bool   // it is nothing that an enqueue has written
	Attempt, Fence, Crashes int64
	Doubtful                bool // leases have ended of which it is not known whether the handler had begun
	Enqueued                int64
	Timeout                 time.Duration // its own, 0 for none
	Token                   string
	Sent                    time.Time // when it was asked for: its lease began no earlier
}

// LimitOf is in a job's request before its own time limit in ms. The line of a job has no place for more words, and
// older programs do not read this one.
const LimitOf = "~"

// Parse takes a stored job apart: a line with the form it is written in, when it
// was enqueued, its lane, its attempts, its request and its unique name, and after it
// the payload.
func (c *Claimed) Parse(text string) {
	line, payload, ok := strings.Cut(text, "\n")
	line, ours := strings.CutPrefix(line, "q1 ")
	stamp, rest, _ := strings.Cut(line, " ")
	enqueued, err := strconv.ParseInt(stamp, 10, 64)
	unique, bad := url.PathUnescape(rest[strings.LastIndexByte(rest, ' ')+1:])
	if c.Alien = !ok || !ours || err != nil || bad != nil; c.Alien {
		return
	}
	c.Payload, c.Enqueued = payload, enqueued
	if strings.Contains(rest, LimitOf) {
		c.Timeout = limitIn(strings.Fields(rest))
	}
	if unique != NoName {
		c.Unique = unique
	}
}

// limitIn returns the time limit in the words of a job's line after the moment of its enqueue.
func limitIn(words []string) time.Duration {
	if len(words) != 4 {
		return 0
	}
	_, limit, _ := strings.Cut(words[2], LimitOf)
	ms, _ := strconv.ParseInt(limit, 10, 64)
	return time.Duration(ms) * time.Millisecond
}

// NoName is the name of a lane without one as it is stored.
const NoName = "-"
