package main

import (
	"cmp"
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/keywright/keywright/examples/internal/program"
)

// errPassword reports a password where each user of the machine can read it.
var errPassword = errors.New("-redis has a password; put it into REDIS_PASSWORD")

// address returns where Redis is: by the flag, else as keywright finds it, else by REDIS_HOST and
// REDIS_PORT; with the login of REDIS_USERNAME and REDIS_PASSWORD, unless the URL has a password.
// A user in the URL goes with REDIS_PASSWORD. Sentinels get the same login. "" is the
// environment of keywright without any of that.
func address(given string, getenv func(string) string) (string, error) {
	if program.HasPassword(given) {
		return "", errPassword
	}
	at := cmp.Or(given, getenv("KEYWRIGHT_URL"), getenv("REDIS_URL"))
	if host := getenv("REDIS_HOST"); at == "" && host != "" {
		scheme := "rediss://"
		if getenv("REDIS_TLS") == "off" {
			scheme = "redis://"
		}
		at = scheme + net.JoinHostPort(host, cmp.Or(getenv("REDIS_PORT"), "3710"))
	}
	user, password := getenv("REDIS_USERNAME"), getenv("REDIS_PASSWORD")
	scheme, rest, ok := strings.Cut(at, "://")
	if !ok || password == "" || program.HasPassword(at) {
		return at, nil
	}
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		named, err := url.PathUnescape(rest[:i])
		if err != nil {
			return "", errors.New("the user in the URL of Redis cannot be read")
		}
		user, rest = named, rest[i+1:]
	}
	at = scheme + "://" + url.UserPassword(user, password).String() + "@" + rest
	if strings.HasSuffix(scheme, "+sentinel") {
		mark := "?"
		if strings.Contains(rest, "?") {
			mark = "&"
		}
		at += mark + url.Values{"sentinel_user": {user}, "sentinel_password": {password}}.Encode()
	}
	return at, nil
}
