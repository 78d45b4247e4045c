package kernel_test

import (
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/keywright/keywright/kernel"
)

// TestBrokenIsOfConnections: an error of a file is none of the server.
func TestBrokenIsOfConnections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, true},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true},
		{fmt.Errorf("reading: %w", io.EOF), true},
		{fmt.Errorf("import: %w", &fs.PathError{Op: "open", Path: "2.json", Err: syscall.EACCES}), false},
		{&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.ENOSPC}, false},
		{os.NewSyscallError("flock", syscall.EAGAIN), false},
	} {
		if got := kernel.Broken(c.err); got != c.want {
			t.Errorf("%v: %t", c.err, got)
		}
	}
}
