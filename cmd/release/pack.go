package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// file represents a file of an archive or a package.
type file struct {
	name string
	mode int64
	data []byte
}

// notesFile returns the name of the file with the section of the changelog.
func notesFile(version string) string { return "CHANGELOG-" + version + ".md" }

// pack writes the archive of a system, the list of what is in it and, for Linux, the packages.
func (r *release) pack(ctx context.Context, b built) error {
	for _, name := range []string{"LICENSE", "README.md"} {
		text, err := os.ReadFile(filepath.Join(r.tree(), name))
		if err != nil {
			return err
		}
		b.files = append(b.files, file{name, 0o644, text})
	}
	b.files = append(b.files, file{"CHANGELOG.md", 0o644, []byte(r.notes)})
	base := fmt.Sprintf("keywright_%s_%s_%s", r.version, b.os, b.arch)
	forms := map[string]func(io.Writer, built) error{base + ".cdx.json": r.writeBill}
	if b.os == "windows" {
		forms[base+".zip"] = r.writeZip
	} else {
		forms[base+".tar.gz"] = func(w io.Writer, b built) error { return r.writeTar(w, b.files) }
	}
	if b.os == "linux" {
		deb, rpm := packageNames(r.version, b.arch)
		forms[deb], forms[rpm] = r.writeDeb, r.writeRPM
	}
	for name, write := range forms {
		if err := ctx.Err(); err != nil {
			return err
		}
		var out bytes.Buffer
		if err := write(&out, b); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(r.part, name), out.Bytes(), 0o644); err != nil {
			return err
		}
		if strings.HasSuffix(name, ".tar.gz") {
			r.archives = append(r.archives, archive{b.os, b.arch, name, fmt.Sprintf("%x", sha256.Sum256(out.Bytes()))})
		}
	}
	return nil
}

// packageNames returns the names of the files of a version. They have no ~, as packaged has: GitHub does not keep it.
func packageNames(version, arch string) (deb, rpm string) {
	return fmt.Sprintf("keywright_%s_%s.deb", version, arch),
		fmt.Sprintf("keywright-%s-1.%s.rpm", strings.ReplaceAll(version, "-", "."), rpmArch[arch])
}

// packaged returns the version as deb and rpm order it: a candidate comes before its release.
func packaged(version string) string { return strings.Replace(version, "-", "~", 1) }

// writeTar writes a compressed tar: no names of users and no times but that of the commit.
func (r *release) writeTar(w io.Writer, files []file) error {
	z, err := gzip.NewWriterLevel(w, r.level)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: r.when, Typeflag: tar.TypeReg,
			Uname: "root", Gname: "root"}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func (r *release) writeZip(w io.Writer, b built) error {
	z := zip.NewWriter(w)
	for _, f := range b.files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.when}
		h.SetMode(os.FileMode(f.mode))
		out, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := out.Write(f.data); err != nil {
			return err
		}
	}
	return z.Close()
}

// sum writes SHA256SUMS in the form that sha256sum reads. Only its signature comes after it: a folder without it is not
// whole.
func (r *release) sum(context.Context) error {
	entries, err := os.ReadDir(r.part)
	if err != nil {
		return err
	}
	var lines []string
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(r.part, e.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(data), e.Name()))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return os.WriteFile(filepath.Join(r.part, sumsFile), []byte(strings.Join(lines, "")), 0o644)
}
