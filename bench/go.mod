module github.com/keywright/keywright/bench

go 1.26.0

require (
	github.com/keywright/keywright v0.0.0
	github.com/redis/rueidis v1.0.79
)

require (
	go.yaml.in/yaml/v4 v4.0.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/keywright/keywright => ../
