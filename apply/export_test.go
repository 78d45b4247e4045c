package apply

// TemporaryName is temporaryName for tests.
var TemporaryName = temporaryName
