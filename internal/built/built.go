// Package built says what a program was built from: its version, the commit, and the version of Go. It reads what the
// go command has written into the program, so that one of `go install` knows it too. It does not look at the source
// tree, and takes nothing from flags of the linker.
package built

import (
	"regexp"
	"runtime/debug"
)

// Info describes what a program was built from. What is not known is empty, but for the version, which is then
// "unknown".
type Info struct {
	Version string // v0.1.0, a version that go has made of a commit, or (devel)
	Commit  string // of a release the commit that it was cut from
	Go      string
}

// Read gives what is known of the program that runs.
func Read() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Info{Version: "unknown"}
	}
	return of(info, cutFrom)
}

// released matches the version of a release; ofCommit one that go has made of a commit.
var (
	released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[\w.-]+)?$`)
	ofCommit = regexp.MustCompile(`[.-]\d{14}-([0-9a-f]{12})(\+\w+)?$`)
)

// of reads the build info. A module that was downloaded has no commit in it: a release says itself which it was cut
// from, another version has the commit in its name.
func of(info *debug.BuildInfo, cut string) Info {
	i := Info{Version: info.Main.Version, Go: info.GoVersion}
	if i.Version == "" {
		i.Version = "unknown"
	}
	made := ofCommit.FindStringSubmatch(i.Version)
	if made == nil && cut != "" && released.MatchString(i.Version) {
		i.Commit = cut
		return i
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			i.Commit = s.Value
		}
	}
	if i.Commit == "" && made != nil {
		i.Commit = made[1]
	}
	return i
}

// Line returns what a program prints of itself.
func (i Info) Line(program string) string {
	commit := i.Commit
	if commit == "" {
		commit = "unknown"
	}
	return program + " " + i.Version + ", commit " + commit + ", " + i.Go
}
