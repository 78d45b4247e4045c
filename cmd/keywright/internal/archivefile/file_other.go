//go:build !unix

package archivefile

const noFollow = 0
