package main

import (
	"cmp"
	"errors"
	"net"
	"net/url"
	"strings"
)

// errPassword is a password where each user of the machine can read it.
var errPassword = errors.New("-redis has a password; put it into REDIS_PASSWORD")

// address is where Redis is: by the flag, else as keywright finds it, else by REDIS_HOST and
// REDIS_PORT; with the login of REDIS_USERNAME and REDIS_PASSWORD, unless the URL has one.
// Sentinels get the same login. "" is the environment of keywright without any of that.
func address(given string, getenv func(string) string) (string, error) {
	if scheme, rest, ok := strings.Cut(given, "://"); ok {
		user, _, there := strings.Cut(rest, "@")
		if there && scheme != "" && strings.Contains(user, ":") {
			return "", errPassword
		}
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
	if !ok || password == "" || strings.Contains(rest, "@") {
		return at, nil
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
