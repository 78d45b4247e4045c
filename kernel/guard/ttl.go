package guard

import (
	"strconv"
	"strings"
	"time"
)

// commandTTL reads the TTL of a key from the arguments of a command; 0: it has none. ok is false where the arguments do
// not decide it: the old TTL may stay, or the time is absolute.
func commandTTL(c *command, args []string) (ttl time.Duration, ok bool) {
	switch c.name {
	case "set":
		return setTTL(args[min(3, len(args)):])
	case "setex":
		return relative(args, 2, time.Second)
	case "psetex":
		return relative(args, 2, time.Millisecond)
	case "expire":
		return expireTTL(args, time.Second)
	case "pexpire":
		return expireTTL(args, time.Millisecond)
	case "getex":
		return getexTTL(args[min(2, len(args)):])
	case "restore":
		return restoreTTL(args)
	case "getset", "mset", "persist", "msetnx", "setnx":
		return 0, c.name != "setnx" && c.name != "msetnx"
	}
	return 0, false
}

// getexTTL reads the options of GETEX: without any it leaves the TTL as it is.
func getexTTL(options []string) (time.Duration, bool) {
	if has(options, "PERSIST") {
		return 0, true
	}
	for i, o := range options {
		switch strings.ToUpper(o) {
		case "EX":
			return relative(options, i+1, time.Second)
		case "PX":
			return relative(options, i+1, time.Millisecond)
		}
	}
	return 0, false
}

// restoreTTL reads RESTORE key ttl value: 0 is none.
func restoreTTL(args []string) (time.Duration, bool) {
	if len(args) < 4 || has(args[4:], "ABSTTL") {
		return 0, false
	}
	if args[2] == "0" {
		return 0, true
	}
	return relative(args, 2, time.Millisecond)
}

// setTTL reads the options of SET.
func setTTL(options []string) (time.Duration, bool) {
	for i, o := range options {
		switch strings.ToUpper(o) {
		case "EX":
			return relative(options, i+1, time.Second)
		case "PX":
			return relative(options, i+1, time.Millisecond)
		case "EXAT", "PXAT", "KEEPTTL", "NX", "XX", "IFEQ":
			if has(options, "EX", "PX") {
				continue
			}
			return 0, false
		}
	}
	return 0, true
}

func has(options []string, words ...string) bool {
	for _, o := range options {
		for _, w := range words {
			if strings.EqualFold(o, w) {
				return true
			}
		}
	}
	return false
}

// expireTTL: with a condition (NX, XX, GT, LT) the outcome tells.
func expireTTL(args []string, unit time.Duration) (time.Duration, bool) {
	if len(args) != 3 {
		return 0, false
	}
	ttl, ok := relative(args, 2, unit)
	return ttl, ok && ttl > 0 // at zero and below it deletes
}

func relative(args []string, at int, unit time.Duration) (time.Duration, bool) {
	if at >= len(args) {
		return 0, false
	}
	n, err := strconv.ParseInt(args[at], 10, 64)
	if err != nil || n <= 0 || n > int64((1<<63-1)/unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}
