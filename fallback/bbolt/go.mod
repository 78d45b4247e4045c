module github.com/keywright/keywright/fallback/bbolt

go 1.26.0

require (
	github.com/keywright/keywright v0.0.0
	go.etcd.io/bbolt v1.5.0
)

require (
	github.com/redis/rueidis v1.0.79 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
