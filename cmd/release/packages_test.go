package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sample returns a system's programs without the programs.
func sample() (*release, built) {
	r := &release{version: "0.1.0-rc.1", level: gzip.BestSpeed, when: time.Unix(1790000000, 0).UTC()}
	b := built{os: "linux", arch: "amd64"}
	for _, f := range []file{{"keywright", 0o755, []byte("program")}, {"keywrightd", 0o755, []byte("odd")},
		{"LICENSE", 0o644, []byte("licence")},
		{"README.md", 0o644, []byte("readme")}, {"CHANGELOG.md", 0o644, []byte("new")}} {
		b.files = append(b.files, f)
	}
	return r, b
}

// members returns the files of an ar archive.
func members(t *testing.T, text []byte) map[string][]byte {
	t.Helper()
	rest, found := bytes.CutPrefix(text, []byte("!<arch>\n"))
	if !found {
		t.Fatal("it is no ar archive")
	}
	out := map[string][]byte{}
	for len(rest) > 0 {
		size, err := strconv.Atoi(strings.TrimSpace(string(rest[48:58])))
		must(t, err)
		out[strings.TrimSpace(string(rest[:16]))] = rest[60 : 60+size]
		rest = rest[60+size+size%2:]
	}
	return out
}

// listed returns a compressed tar as lines: mode, owner, time, name, text.
func listed(t *testing.T, text []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(text))
	must(t, err)
	var out strings.Builder
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		must(t, err)
		body, err := io.ReadAll(r)
		must(t, err)
		if h.ModTime.Unix() != 1790000000 || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s: %v %d %d", h.Name, h.ModTime, h.Uid, h.Gid)
		}
		fmt.Fprintf(&out, "%o %s %s\n", h.Mode, h.Name, body)
	}
}

// TestDeb: a package has its parts in the order that dpkg wants, each folder before its files; where there is dpkg-deb,
// it reads it.
func TestDeb(t *testing.T) {
	r, b := sample()
	var deb bytes.Buffer
	must(t, r.writeDeb(&deb, b))
	parts := members(t, deb.Bytes())
	if string(parts["debian-binary"]) != "2.0\n" || !bytes.HasPrefix(deb.Bytes(), []byte("!<arch>\ndebian-binary ")) {
		t.Errorf("%q", parts["debian-binary"])
	}
	control := listed(t, parts["control.tar.gz"])
	for _, want := range []string{
		"644 ./control Package: keywright\nVersion: 0.1.0~rc.1\nArchitecture: amd64\nMaintainer: ", "\nInstalled-Size: 1\n",
		"644 ./md5sums ", "a9c449d4fa44e9e5a41c574ae55ce4d9  usr/bin/keywright\n"} {
		if !strings.Contains(control, want) {
			t.Errorf("no %q in\n%s", want, control)
		}
	}
	want := "755 ./ \n755 ./usr/ \n755 ./usr/bin/ \n755 ./usr/bin/keywright program\n755 ./usr/bin/keywrightd odd\n755 " +
		"./usr/share/ \n755 ./usr/share/doc/ \n" +
		"755 ./usr/share/doc/keywright/ \n644 ./usr/share/doc/keywright/copyright licence\n644 " +
		"./usr/share/doc/keywright/README.md readme\n644 ./usr/share/doc/keywright/CHANGELOG.md new\n"
	if got := listed(t, parts["data.tar.gz"]); got != want {
		t.Errorf("%s", got)
	}
	if dpkg, err := exec.LookPath("dpkg-deb"); err == nil {
		name := filepath.Join(t.TempDir(), "keywright.deb")
		write(t, name, deb.String())
		out, err := output(exec.Command(dpkg, "--field", name, "Version"))
		if err != nil || out != "0.1.0~rc.1" {
			t.Errorf("%q %v", out, err)
		}
		if out, err := output(exec.Command(dpkg, "--contents", name)); err != nil ||
			!strings.Contains(out, "-rwxr-xr-x root/root") {
			t.Errorf("%q %v", out, err)
		}
	}
}

// TestRPM: a package begins as one does, names what it is, and is the same twice.
func TestRPM(t *testing.T) {
	r, b := sample()
	var one, two bytes.Buffer
	must(t, r.writeRPM(&one, b))
	must(t, r.writeRPM(&two, b))
	if !bytes.HasPrefix(one.Bytes(), []byte{0xed, 0xab, 0xee, 0xdb, 3}) || !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Errorf("%d and %d bytes", one.Len(), two.Len())
	}
	for _, want := range []string{"keywright", "0.1.0~rc.1", "x86_64", "Apache-2.0", "/usr/bin/", "keywrightd",
		"/usr/share/doc/keywright/"} {
		if !bytes.Contains(one.Bytes(), []byte(want+"\x00")) {
			t.Errorf("it does not say %q", want)
		}
	}
}

// TestPackageNames: a candidate's files have names that GitHub and rpm keep as they are.
func TestPackageNames(t *testing.T) {
	deb, rpm := packageNames("0.1.0-rc.1", "amd64")
	if deb != "keywright_0.1.0-rc.1_amd64.deb" || rpm != "keywright-0.1.0.rc.1-1.x86_64.rpm" {
		t.Error(deb, rpm)
	}
}
