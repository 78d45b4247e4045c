package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// golden compares a text with a file of testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("KEYWRIGHT_UPDATE") != "" {
		write(t, path, got)
	}
	if want := read(t, path); got != want {
		t.Errorf("%s is other text; KEYWRIGHT_UPDATE=1 writes it again:\n%s", path, got)
	}
}

// packed returns the archives of a release of all systems.
func packed() (out []archive) {
	for i, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		if system != "windows" {
			out = append(out, archive{system, arch, "keywright_0.1.0_" + system + "_" + arch + ".tar.gz",
				strings.Repeat(string("abcdef"[i]), 64)})
		}
	}
	return out
}

// TestFormula: the text for Homebrew is what it was; where there is Ruby, it is Ruby.
func TestFormula(t *testing.T) {
	golden(t, "keywright.rb", formula("0.1.0", packed()))
	if text := formula("0.1.0", packed()[:1]); strings.Contains(text, "on_macos") || strings.Contains(text, "on_arm") ||
		strings.Count(text, "sha256 ") != 1 {
		t.Errorf("of one archive:\n%s", text)
	}
	if ruby, err := exec.LookPath("ruby"); err == nil {
		out, err := output(exec.Command(ruby, "-cw", "testdata/keywright.rb"))
		if err != nil || out != "Syntax OK" {
			t.Errorf("%q %v", out, err)
		}
	}
}

// TestContainerfile: the text for an image is what it was. Its health check and its command are tested beside those of
// deploy, in cmd/keywright.
func TestContainerfile(t *testing.T) {
	text := containerfile("0.1.0", "0123456789abcdef0123456789abcdef01234567", ofSystem(packed(), "linux"))
	golden(t, "Containerfile", text)
	stages := strings.Split(text, "\nFROM ")
	if len(stages) != 3 || !strings.HasPrefix(stages[2], "scratch\n") || strings.Contains(stages[2], "\nRUN ") ||
		!strings.Contains(stages[2], "\nUSER 65532:65532\n") {
		t.Errorf("the image is not from scratch, or is root:\n%s", text)
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "ADD ") || strings.Contains(line, "://") && !strings.Contains(line, ".source=") {
			t.Errorf("it gets something from elsewhere: %s", line)
		}
	}
}

// TestChecksOfTheContainerfile: the line that compares the archive takes the right one, and no other, and refuses one
// that was changed.
func TestChecksOfTheContainerfile(t *testing.T) {
	dir := t.TempDir()
	var archives []archive
	for _, arch := range []string{"amd64", "arm64"} {
		a := archive{"linux", arch, "keywright_0.1.0_linux_" + arch + ".tar.gz", ""}
		r, b := sample()
		b.arch = arch
		b.files = append(b.files, file{"arch", 0o644, []byte(arch)})
		var text strings.Builder
		must(t, r.writeTar(&text, b.files))
		write(t, filepath.Join(dir, a.name), text.String())
		sum, err := output(exec.Command("sha256sum", filepath.Join(dir, a.name)))
		must(t, err)
		a.sum, _, _ = strings.Cut(sum, " ")
		archives = append(archives, a)
	}
	_, command, _ := strings.Cut(containerfile("0.1.0", "", archives), "\nRUN ")
	command, _, found := strings.Cut(command, " \\\n && mkdir /data\n")
	if !found {
		t.Fatalf("the command is not found in %s", command)
	}
	command = strings.ReplaceAll(command, "/keywright_", dir+"/keywright_")
	runs := func(arch string) error {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "TARGETARCH="+arch)
		_, err := output(cmd)
		if err == nil && read(t, filepath.Join(cmd.Dir, "arch")) != arch {
			t.Errorf("for %s it unpacks the other", arch)
		}
		return err
	}
	for _, arch := range []string{"amd64", "arm64"} {
		if err := runs(arch); err != nil {
			t.Error(err)
		}
	}
	for _, arch := range []string{"", "riscv64"} {
		if runs(arch) == nil {
			t.Errorf("for %q it unpacks something", arch)
		}
	}
	write(t, filepath.Join(dir, archives[0].name), read(t, filepath.Join(dir, archives[1].name)))
	if runs("amd64") == nil || runs("arm64") != nil {
		t.Error("an archive that was changed is taken, or the other is not")
	}
}
