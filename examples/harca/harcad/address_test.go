package main

import (
	"errors"
	"testing"
)

// TestAddress: where Redis is, by flags and by the variables of the deployment.
func TestAddress(t *testing.T) {
	for _, c := range []struct {
		given string
		env   map[string]string
		want  string
	}{
		{"", nil, ""},
		{"redis://a:1", nil, "redis://a:1"},
		{"", map[string]string{"REDIS_HOST": "h"}, "rediss://h:3710"},
		{"", map[string]string{"REDIS_HOST": "::1", "REDIS_PORT": "1", "REDIS_TLS": "off"}, "redis://[::1]:1"},
		{"", map[string]string{"REDIS_HOST": "h", "REDIS_USERNAME": "u", "REDIS_PASSWORD": "p@:/?"},
			"rediss://u:p%40%3A%2F%3F@h:3710"},
		{"redis://a:1", map[string]string{"REDIS_HOST": "h", "REDIS_USERNAME": "u", "REDIS_PASSWORD": "p"},
			"redis://u:p@a:1"},
		{"rediss://me@a:1", map[string]string{"REDIS_PASSWORD": "p@"}, "rediss://me:p%40@a:1"},
		{"rediss://m%40e@a:1", map[string]string{"REDIS_USERNAME": "u", "REDIS_PASSWORD": "p"}, "rediss://m%40e:p@a:1"},
		{"redis+sentinel://me@a:1/m", map[string]string{"REDIS_PASSWORD": "p"},
			"redis+sentinel://me:p@a:1/m?sentinel_password=p&sentinel_user=me"},
		{"redis://me@a:1", nil, "redis://me@a:1"},
		{"", map[string]string{"REDIS_URL": "redis://x:y@a:1", "REDIS_PASSWORD": "p"}, "redis://x:y@a:1"},
		{"rediss+sentinel://a:1,b:2/m", map[string]string{"REDIS_USERNAME": "u", "REDIS_PASSWORD": "p"},
			"rediss+sentinel://u:p@a:1,b:2/m?sentinel_password=p&sentinel_user=u"},
	} {
		if got, err := address(c.given, func(name string) string { return c.env[name] }); got != c.want || err != nil {
			t.Errorf("%q %v: %q, %v, not %q", c.given, c.env, got, err, c.want)
		}
	}
	for _, given := range []string{"redis://u:p@a:1", "redis://u:p%zz@a:1", "redis+sentinel://a:1/m?sentinel_password=p"} {
		if _, err := address(given, func(string) string { return "" }); !errors.Is(err, errPassword) {
			t.Errorf("a password in a flag: %v", err)
		}
	}
}
