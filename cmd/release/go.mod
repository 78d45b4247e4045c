module github.com/keywright/keywright/cmd/release

go 1.26.0

require (
	github.com/google/rpmpack v0.7.1
	golang.org/x/crypto v0.58.0
	golang.org/x/mod v0.42.0
)

require (
	github.com/cavaliergopher/cpio v1.0.1 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/klauspost/pgzip v1.2.6 // indirect
	github.com/ulikunitz/xz v0.5.12 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
