package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/rpmpack"
)

// What both kinds of packages say.
const (
	summary     = "schema as code for Redis and Valkey keyspaces"
	description = "keywright checks servers against a declaration of their keys, and generates code from it."
	home        = "https://github.com/keywright/keywright"
	maintainer  = "keywright <keywright@users.noreply.github.com>"
)

// installed returns the files of a package with their places on the system.
func installed(b built, readme string) []file {
	var out []file
	for _, f := range b.files {
		switch f.name {
		case "LICENSE":
			f.name = path.Join(readme, "copyright")
		case "README.md", "CHANGELOG.md":
			f.name = path.Join(readme, f.name)
		default:
			f.name = path.Join("usr/bin", f.name)
		}
		out = append(out, f)
	}
	return out
}

// writeDeb writes a package of Debian: an ar archive of the form's version, what the package says, and the files.
func (r *release) writeDeb(w io.Writer, b built) error {
	files := installed(b, "usr/share/doc/keywright")
	var sums strings.Builder
	size := 0
	for _, f := range files {
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.data), f.name)
		size += len(f.data)
	}
	control := fmt.Sprintf(
		"Package: keywright\nVersion: %s\nArchitecture: %s\nMaintainer: %s\nInstalled-Size: %d\nSection: database\n"+
			"Priority: optional\nHomepage: %s\nDescription: %s\n %s\n", packaged(r.version), b.arch, maintainer,
		(size+1023)/1024, home, summary, description)
	var about, data bytes.Buffer
	if err := r.writeTar(&about,
		[]file{{"./control", 0o644, []byte(control)}, {"./md5sums", 0o644, []byte(sums.String())}}); err != nil {
		return err
	}
	if err := r.writeTar(&data, withFolders(files)); err != nil {
		return err
	}
	return writeAr(w, r.when, []file{{"debian-binary", 0o644, []byte("2.0\n")}, {"control.tar.gz", 0o644, about.Bytes()},
		{"data.tar.gz", 0o644, data.Bytes()}})
}

// withFolders puts each folder before what is in it, and names all as dpkg does.
func withFolders(files []file) []file {
	var out []file
	var folder func(name string)
	folder = func(name string) {
		if name != "." {
			folder(path.Dir(name))
		}
		entry := "./" + strings.TrimPrefix(name+"/", "./")
		if !slices.ContainsFunc(out, func(f file) bool { return f.name == entry }) {
			out = append(out, file{name: entry, mode: 0o755})
		}
	}
	for _, f := range files {
		folder(path.Dir(f.name))
		f.name = "./" + f.name
		out = append(out, f)
	}
	return out
}

// writeAr writes the old Unix archive: a header of fixed width and then the data, on even offsets.
func writeAr(w io.Writer, when time.Time, files []file) error {
	if _, err := io.WriteString(w, "!<arch>\n"); err != nil {
		return err
	}
	for _, f := range files {
		if _, err := fmt.Fprintf(w, "%-16s%-12d%-6d%-6d%-8s%-10d`\n%s%s", f.name, when.Unix(), 0, 0, "100644", len(f.data),
			f.data, strings.Repeat("\n", len(f.data)%2)); err != nil {
			return err
		}
	}
	return nil
}

// rpmArch lists the names that rpm has for architectures.
var rpmArch = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

func (r *release) writeRPM(w io.Writer, b built) error {
	p, err := rpmpack.NewRPM(rpmpack.RPMMetaData{
		Name: "keywright", Version: packaged(r.version), Release: "1", Arch: rpmArch[b.arch], Summary: summary,
		Description: description,
		URL:         home, Vendor: "keywright", Packager: maintainer, Licence: "Apache-2.0", Group: "Applications/Databases",
		BuildTime: r.when, BuildHost: "localhost", Compressor: fmt.Sprintf("gzip:%d", r.level),
	})
	if err != nil {
		return err
	}
	for _, f := range installed(b, "usr/share/doc/keywright") {
		kind := rpmpack.GenericFile
		if f.mode&0o111 == 0 {
			kind = rpmpack.DocFile
		}
		p.AddFile(rpmpack.RPMFile{Name: "/" + f.name, Body: f.data, Mode: 0o100000 | uint(f.mode), Owner: "root",
			Group: "root", MTime: uint32(r.when.Unix()), Type: kind})
	}
	return p.Write(w)
}
