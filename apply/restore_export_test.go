package apply

// MaxFlight is maxFlight for tests.
const MaxFlight = maxFlight

// TemporaryName is temporaryName for tests.
var TemporaryName = temporaryName

// Bounds sets how many records are decided about and not written down, and how many values one
