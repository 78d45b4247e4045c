package built

import (
	"runtime/debug"
	"testing"
)

// TestOf: each way to build a program gives its version and, where it can be known, its commit.
func TestOf(t *testing.T) {
	const cut, revision = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	for _, c := range []struct{ name, version, cut, revision, want, commit string }{
		{"go install of a release", "v0.1.0", cut, "", "v0.1.0", cut},
		{"go install of a release candidate", "v0.1.0-rc.1", cut, "", "v0.1.0-rc.1", cut},
		{"a clone at the tag", "v0.1.0", cut, revision, "v0.1.0", cut},
		{"a clone at the tag, with changes", "v0.1.0+dirty", cut, revision, "v0.1.0+dirty", revision},
		{"a clone after a release", "v0.1.1-0.20261123120000-222222222222", cut, revision,
			"v0.1.1-0.20261123120000-222222222222", revision},
		{"go install of a commit after a release", "v0.1.1-0.20261123120000-222222222222", cut, "",
			"v0.1.1-0.20261123120000-222222222222", "222222222222"},
		{"go install of a commit before any release", "v0.0.0-20261123120000-abcdef012345", "", "",
			"v0.0.0-20261123120000-abcdef012345", "abcdef012345"},
		{"without version control", "(devel)", cut, "", "(devel)", ""},
		{"without version control, in a clone", "(devel)", "", revision, "(devel)", revision},
		{"a test", "", "", "", "unknown", ""},
	} {
		info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: c.version}}
		if c.revision != "" {
			info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: c.revision}}
		}
		if got := of(info, c.cut); got != (Info{c.want, c.commit, "go1.26.8"}) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestLine: the line names what is not known.
func TestLine(t *testing.T) {
	if got, want := (Info{"v0.1.0", "abc", "go1.26.8"}).Line("keywright"),
		"keywright v0.1.0, commit abc, go1.26.8"; got != want {
		t.Errorf("%q", got)
	}
	if got, want := (Info{"(devel)", "", "go1.26.8"}).Line("keywrightd"),
		"keywrightd (devel), commit unknown, go1.26.8"; got != want {
		t.Errorf("%q", got)
	}
}
