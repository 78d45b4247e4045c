module github.com/keywright/keywright

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	go.yaml.in/yaml/v4 v4.0.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)
