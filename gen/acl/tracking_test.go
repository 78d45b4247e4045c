package acl_test

import (
	"slices"
	"testing"
)

// TestTracking: only those whose handles use client-side caching may be notified of keys that change, and it is
// reported.
func TestTracking(t *testing.T) {
	for text, want := range map[string][]string{
		"k: {key: k, type: string, ttl: 1d, readers: [r]}":                                                 {"o", "r"},
		"k: {key: k, type: hash, fields: {n: int}, ttl: 1d}":                                               {"o"},
		"k: {key: k, type: cache, ttl: 1d}":                                                                {"o"},
		"k: {key: k, type: lock, ttl: 1m}":                                                                 {"o"},
		"k: {key: \"k:{i}\", type: entity, ttl: 1d, fields: {n: int}}":                                     {"o"},
		"k: {key: k, type: list, ttl: 1d, readers: [r]}":                                                   nil,
		"k: {key: k, type: stream, groups: [g], ttl: 1d, readers: [r]}":                                    nil,
		"k: {key: k, type: queue, ttl: none, readers: [r]}":                                                nil,
		"k: {key: k, type: counter, ttl: none}":                                                            nil,
		"k: {key: \"k:{i}\", type: ranking, ttl: 1d, member: int}":                                         nil,
		"k: {key: k, type: ratelimit, rate: 1 per 1m, ttl: 2m}":                                            nil,
		"k: {key: k, type: set, ttl: 1d}\nchannels: {c: {channel: c}}":                                     nil,
		"k: {key: k, type: set, ttl: 1d}\nchannels: {c: {channel: c, durable: {maxlen: 9}, readers: [r]}}": nil,
	} {
		var got []string
		for _, u := range users(t, loaded(t, "keywright: 1\nowner: o\nvars: {i: int}\nkeys:\n  "+text+"\n")) {
			if u.Tracks() {
				got = append(got, u.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v may hear of keys that change", text, got)
		}
	}
}
