package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// goTool represents the go command, and where it takes modules from.
type goTool struct {
	offline    bool
	Version    string `json:"GOVERSION"`
	BuildCache string `json:"GOCACHE"`
	Modules    string `json:"GOMODCACHE"`
	Proxy      string `json:"GOPROXY"`
	SumDB      string `json:"GOSUMDB"`
	NoSumDB    string `json:"GONOSUMDB"`
	NoProxy    string `json:"GONOPROXY"`
}

func findGo(ctx context.Context, offline bool) (g goTool, err error) {
	text, err := output(exec.CommandContext(ctx, "go", "env", "-json", "GOVERSION", "GOCACHE", "GOMODCACHE", "GOPROXY",
		"GOSUMDB", "GONOSUMDB", "GONOPROXY"))
	if err != nil {
		return g, err
	}
	g.offline = offline
	return g, json.Unmarshal([]byte(text), &g)
}

// fileURL returns a folder as GOPROXY and git name it.
func fileURL(dir string) string { return "file://" + filepath.ToSlash(dir) }

// cached returns where the go command keeps what it has downloaded, in the form of a proxy.
func cached(modules string) string { return filepath.Join(modules, "cache", "download") }

// proxies returns where modules come from: ours from a folder, those of others from the local cache or the network.
func (g goTool) proxies(ours string) string {
	list := fileURL(ours) + "," + fileURL(cached(g.Modules))
	if !g.offline {
		list += "," + g.Proxy
	}
	return list
}

// cleanEnvironment returns the environment without anything that would change what go builds, where it takes it from
// or puts it.
func cleanEnvironment() []string {
	var out []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if name == "GOROOT" || name == "GOTMPDIR" || name == "GODEBUG" ||
			!strings.HasPrefix(name, "GO") && !strings.HasPrefix(name, "CGO_") {
			out = append(out, v)
		}
	}
	return append(out, "GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local", "GO111MODULE=on")
}

// env returns the environment of a go command that uses a folder of its own for modules: what is released now must not
// stay where other builds would find it.
func (g goTool) env(home, ours string, more ...string) []string {
	sums, without := g.SumDB, root+","+root+"/*,"+g.NoSumDB
	if g.offline {
		sums = "off"
	}
	return append(append(cleanEnvironment(), "GOPATH="+home, "GOMODCACHE="+filepath.Join(home, "modules"),
		"GOCACHE="+g.BuildCache,
		"GOFLAGS=-modcacherw", "GOPROXY="+g.proxies(ours), "GOSUMDB="+sums, "GONOSUMDB="+strings.TrimSuffix(without, ","),
		"GONOPROXY="+g.NoProxy), more...)
}

// run runs the go command.
func (g goTool) run(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, env
	return output(cmd)
}

// proxy returns the folder with the modules of the release, in the form that GOPROXY takes.
func (r *release) proxy() string { return cached(filepath.Join(r.work, "ours")) }

// serve lets the go command download each module from the tags, as public proxies do, and compares the sums with those
// in the go.sum files.
func (r *release) serve(ctx context.Context) error {
	empty := filepath.Join(r.work, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		return err
	}
	env := append(r.tool.env(r.work, ""), "GOMODCACHE="+filepath.Join(r.work, "ours"), "GOPROXY=direct", "GONOPROXY=",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url."+fileURL(r.tree())+".insteadOf", "GIT_CONFIG_VALUE_0=https://"+root)
	for _, m := range r.modules {
		text, err := r.tool.run(ctx, empty, env, "mod", "download", "-json", m.path+"@v"+r.version)
		if err != nil {
			return err
		}
		var got struct{ Sum, GoModSum string }
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			return err
		}
		required := func(other module) bool { return slices.Contains(other.requires, m.path) }
		if slices.ContainsFunc(r.modules, required) && (got.Sum != m.sum || got.GoModSum != m.modSum) {
			return fmt.Errorf("the go command reads %s as %s, go.sum files say %s: this cannot happen, please report it", m.path,
				got.Sum, m.sum)
		}
	}
	return nil
}
