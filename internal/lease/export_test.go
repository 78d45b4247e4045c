package lease

// Held returns a script that says whether a lease is held.
func Held() string {
	return parts.Fill("keep", func(string) string {
		return `-- keep: says whether a lease is held.
-- KEYS[1] lease
-- ARGV[1] token
-- Returns: 'held' or 'lost'
-- Bound: O(1)
-- Round trips: 1
-- include: lease
return lease_held(KEYS[1], ARGV[1]) and 'held' or 'lost'`
	})
}
