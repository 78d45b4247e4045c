package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// archive names a file that was packed for a system.
type archive struct{ os, arch, name, sum string }

// ofSystem returns the archives of a system.
func ofSystem(all []archive, system string) (out []archive) {
	for _, a := range all {
		if a.os == system {
			out = append(out, a)
		}
	}
	return out
}

// derive writes what others install the archives by: for Homebrew, and for containers. Both have the checksums.
func (r *release) derive(context.Context) error {
	if len(ofSystem(r.archives, "linux")) > 0 {
		text := containerfile(r.version, r.commit, ofSystem(r.archives, "linux"))
		if err := os.WriteFile(filepath.Join(r.part, "Containerfile"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if len(ofSystem(r.archives, "linux"))+len(ofSystem(r.archives, "darwin")) == 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(r.part, "keywright.rb"), []byte(formula(r.version, r.archives)), 0o644)
}

// laterFirst orders archives by the name of the processor, the last one first.
func laterFirst(a, b archive) int { return strings.Compare(b.arch, a.arch) }

// formula returns what Homebrew reads: an archive for each system, with its checksum.
func formula(version string, archives []archive) string {
	var out strings.Builder
	fmt.Fprintf(&out, `# Release %s of keywright for Homebrew, written by make release: Formula/keywright.rb of a tap.
class Keywright < Formula
  desc "Schema as code for Redis and Valkey keyspaces"
  homepage %q
  version %q
  license "Apache-2.0"
`, version, home, version)
	for _, system := range []struct{ name, block string }{{"darwin", "on_macos"}, {"linux", "on_linux"}} {
		found := ofSystem(archives, system.name)
		if len(found) == 0 {
			continue
		}
		fmt.Fprintf(&out, "\n  %s do\n", system.block)
		for _, a := range slices.SortedFunc(slices.Values(found), laterFirst) { // arm before intel, as brew style wants
			fmt.Fprintf(&out, "    %s do\n      url %q\n      sha256 %q\n    end\n", map[string]string{"amd64": "on_intel",
				"arm64": "on_arm"}[a.arch], home+"/releases/download/v"+version+"/"+a.name, a.sum)
		}
		out.WriteString("  end\n")
	}
	out.WriteString(`
  def install
    bin.install "keywright", "keywrightd"
    generate_completions_from_executable(bin/"keywright", "completion")
  end

  test do
    assert_match "keywright v#{version}, commit ", shell_output("#{bin}/keywright version")
    (testpath/"keyspace.yaml").write <<~YAML
      keywright: 1
      package: shop
      owner: shop
      keys:
        account: {key: "user:{id}", type: string, ttl: none}
    YAML
    assert_match "account", pipe_output("#{bin}/keywright match", "user:7\n")
  end
end
`)
	return out.String()
}

// containerfile returns how an image is made of an archive for Linux that is beside it. The first stage has a shell,
// and is of the machine that builds; the image has none.
func containerfile(version, commit string, archives []archive) string {
	var sums strings.Builder
	for _, a := range archives {
		fmt.Fprintf(&sums, "      \"%s  /%s\" \\\n", a.sum, a.name)
	}
	of := fmt.Sprintf("keywright_%s_linux_${TARGETARCH}.tar.gz", version)
	const text = `# keywright %[1]s as an image: keywright serve, and keywrightd for a history in SQLite or PostgreSQL.
# It has static programs, is not root, and has no shell. It is built from the archive of the release, put beside it:
#   docker build -f Containerfile -t keywright .
FROM --platform=$BUILDPLATFORM docker.io/library/alpine:3.22 AS unpacked
ARG TARGETARCH
WORKDIR /unpacked
COPY %[3]s /
RUN printf '%%s\n' \
%[4]s      | grep "_linux_${TARGETARCH}[.]" | sha256sum -c \
 && tar -xzf /%[3]s \
 && mkdir /data

FROM scratch
LABEL org.opencontainers.image.title="keywright" \
      org.opencontainers.image.version="%[1]s" \
      org.opencontainers.image.revision="%[2]s" \
      org.opencontainers.image.source="%[5]s" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=unpacked /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=unpacked /unpacked/keywright /unpacked/keywrightd /unpacked/LICENSE /
COPY --from=unpacked --chown=65532:65532 --chmod=0700 /data /data
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 7380
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["/keywright", "serve", "check"]
ENTRYPOINT ["/keywright"]
CMD ["serve"]
`
	return fmt.Sprintf(text, version, commit, of, sums.String(), home)
}
