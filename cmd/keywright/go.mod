module github.com/keywright/keywright/cmd/keywright

go 1.26.0

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/google/go-cmp v0.7.0
	github.com/keywright/keywright v0.0.0
	pgregory.net/rapid v1.3.0
)

require github.com/yuin/gopher-lua v1.1.1 // indirect
