module github.com/keywright/keywright/examples

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/keywright/keywright v0.0.0
)

require go.yaml.in/yaml/v4 v4.0.0 // indirect

replace github.com/keywright/keywright => ../
