module github.com/keywright/keywright/cmd/keywright

go 1.26.0

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/keywright/keywright v0.0.0
)

require github.com/yuin/gopher-lua v1.1.1 // indirect
