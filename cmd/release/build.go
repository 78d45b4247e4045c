package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// platforms lists the systems that programs are built for.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// programs lists the programs that are built, each in the module cmd/NAME.
var programs = []string{"keywright", "keywrightd"}

// built represents one system's programs.
type built struct {
	os, arch string
	files    []file // the programs, then what is read
	programs []program
}

// program describes what is known of a program that was built.
type program struct {
	name, path string
	info       *buildinfo.BuildInfo
}

// build builds for each system and writes what belongs to it.
func (r *release) build(ctx context.Context) error {
	err := os.MkdirAll(filepath.Dir(r.dist), 0o755)
	if err == nil {
		r.part, err = os.MkdirTemp(filepath.Dir(r.dist), ".part-") // two releases at once do not mix their files
	}
	if err == nil {
		err = os.Chmod(r.part, 0o755)
	}
	if err != nil {
		return err
	}
	for _, platform := range r.platforms {
		system, arch, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("%q is no system: say linux/amd64, or several with commas", platform)
		}
		fmt.Fprintln(r.out, platform)
		b := built{os: system, arch: arch}
		for _, name := range r.programs {
			if err := r.install(ctx, &b, name); err != nil {
				return err
			}
		}
		if err := r.pack(ctx, b); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(r.part, notesFile(r.version)), []byte(r.notes), 0o644)
}

// install builds one program, from the module as users get it: by the same command with the same Go everybody gets the
// same bytes.
func (r *release) install(ctx context.Context, b *built, name string) error {
	home := filepath.Join(r.work, "home")
	env := r.tool.env(home, r.proxy(), "CGO_ENABLED=0", "GOOS="+b.os, "GOARCH="+b.arch)
	path := root + "/cmd/" + name
	if _, err := r.tool.run(ctx, filepath.Join(r.work, "empty"), env, "install", "-trimpath", "-ldflags=-s -w",
		path+"@v"+r.version); err != nil {
		return err
	}
	at := filepath.Join(home, "bin", b.os+"_"+b.arch)
	if b.os == runtime.GOOS && b.arch == runtime.GOARCH {
		at = filepath.Join(home, "bin")
	}
	file := file{name: name, mode: 0o755}
	if b.os == "windows" {
		file.name += ".exe"
	}
	var err error
	if file.data, err = os.ReadFile(filepath.Join(at, file.name)); err != nil {
		return err
	}
	p := program{name: file.name, path: path}
	if p.info, err = buildinfo.ReadFile(filepath.Join(at, file.name)); err != nil {
		return err
	}
	b.files, b.programs = append(b.files, file), append(b.programs, p)
	return r.trust(p, filepath.Join("cmd", name, "go.sum"))
}

// trust holds what was linked against the go.sum of the tree: go install does not read it.
func (r *release) trust(p program, sums string) error {
	if p.info.Main.Version != "v"+r.version {
		return fmt.Errorf("%s says that it is %s: this cannot happen, please report it", p.path, p.info.Main.Version)
	}
	text, err := os.ReadFile(filepath.Join(r.tree(), sums))
	if err != nil {
		return err
	}
	for _, dep := range p.info.Deps {
		if line := dep.Path + " " + dep.Version + " " + dep.Sum + "\n"; !strings.Contains("\n"+string(text), "\n"+line) {
			return fmt.Errorf(
				"%s was built with %s %s (%s), which is not in %s: run make tidy and look where the module comes from", p.path,
				dep.Path, dep.Version, dep.Sum, sums)
		}
	}
	return nil
}
