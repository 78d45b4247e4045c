module github.com/keywright/keywright/cmd/keywright

go 1.26.0

require github.com/keywright/keywright v0.0.0
