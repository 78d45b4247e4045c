package arch

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// everySystem says what package syscall has on Unix and on Windows.
var everySystem = []string{"ECONNREFUSED", "EDQUOT", "EINVAL", "ELOOP", "ENOENT", "ENOSPC", "EPERM", "Errno", "O_NONBLOCK", "SIGHUP",
	"SIGINT", "SIGKILL",
	"SIGTERM", "Signal", "SysProcAttr"}

// TestWhatOnlySomeSystemsHave: the library, the command line and the servers of tests compile on Windows
// and macOS. What only some systems have is used in files that are for these: name_unix.go, or a
// //go:build line. Programs of examples and benchmarks run on Unix.
func TestWhatOnlySomeSystemsHave(t *testing.T) {
	seen := 0
	for _, f := range load(t) {
		if f.Test || Within(f.Dir, "examples", "bench") || !slices.Contains(f.Imports, "syscall") || tagged(f) {
			continue
		}
		seen++
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if p, ok := s.X.(*ast.Ident); ok && p.Name == "syscall" && !slices.Contains(everySystem, s.Sel.Name) {
					t.Errorf("%s uses syscall.%s: put it into a file with a build constraint", f.Set.Position(s.Pos()), s.Sel.Name)
				}
			}
			return true
		})
	}
	if seen < 2 {
		t.Errorf("only %d files were found: the search is broken", seen)
	}
}

// tagged reports whether a file is for some systems only.
func tagged(f File) bool {
	for _, system := range []string{"unix", "linux", "darwin", "windows"} {
		if strings.HasSuffix(f.Path, "_"+system+".go") {
			return true
		}
	}
	return strings.HasPrefix(f.Text, "//go:build ") || strings.Contains(f.Text, "\n//go:build ")
}
