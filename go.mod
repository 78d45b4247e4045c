module github.com/keywright/keywright

go 1.26.0
