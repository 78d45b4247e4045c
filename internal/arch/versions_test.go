package arch

import (
	"os"
	"regexp"
	"testing"
)

// TestOneVersionOfEachDependency: all modules of the repository name the same version of what they share. A package
// that is compiled with two versions of what it imports is compiled twice: for eight modules that made CI minutes
// longer.
func TestOneVersionOfEachDependency(t *testing.T) {
	require := regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+/\S+) (v\S+)(?: // indirect)?$`)
	versions, where := map[string]string{}, map[string]string{}
	for _, dir := range []string{"", "cmd/keywright", "cmd/keywrightd", "metrics", "tracing", "fallback/bbolt", "examples",
		"bench", "cmd/release"} {
		path := "../../" + dir + "/go.mod"
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range require.FindAllStringSubmatch(string(text), -1) {
			name, version := found[1], found[2]
			if before, there := versions[name]; there && before != version {
				t.Errorf("%s: %s is %s here and %s in %s", path, name, version, before, where[name])
				continue
			}
			versions[name], where[name] = version, path
		}
	}
	if len(versions) < 20 {
		t.Errorf("%d dependencies were found: the search is broken", len(versions))
	}
}
