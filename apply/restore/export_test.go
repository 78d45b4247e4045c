package restore

// MaxFlight is maxFlight for tests.
const MaxFlight = maxInFlight

// TemporaryName is temporaryName for tests.
var TemporaryName = temporaryName

// Bounds sets how many records are decided about and not written down, and how many values one
// writer has begun, until restore is called.
func Bounds(decided, begun int) (restore func()) {
	was, then := maxDecided, maxBegun
	maxDecided, maxBegun = decided, begun
	return func() { maxDecided, maxBegun = was, then }
}
