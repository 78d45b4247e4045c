package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// newKey lets ssh-keygen make a key, and returns the file and the line of allowed_signers.
func newKey(t testing.TB, args ...string) (name, line string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "key")
	if len(args) == 0 {
		args = []string{"-t", "ed25519", "-N", ""}
	}
	_, err := output(exec.Command("ssh-keygen", append(args, "-q", "-C", "of a test", "-f", name)...))
	must(t, err)
	return name, `keywright namespaces="file" ` + read(t, name+".pub")
}

// verify is what docs/install.md tells users to do.
func verify(dir, signers string) error {
	sums, err := os.Open(filepath.Join(dir, sumsFile))
	if err != nil {
		return err
	}
	defer sums.Close()
	cmd := exec.Command("ssh-keygen", "-Y", "verify", "-f", signers, "-I", "keywright", "-n", "file", "-s",
		sumsFile+".sig")
	cmd.Dir, cmd.Stdin = dir, sums
	_, err = output(cmd)
	return err
}

// TestSigned: ssh-keygen verifies a release, refuses one that was changed, another key and another name, and signs with
// the same bytes itself. The other files are the same with a key and without, and so are the tags.
func TestSigned(t *testing.T) {
	key, line := newKey(t)
	_, other := newKey(t)
	repo := toy(t, map[string]string{signersFile: "# keys\n\n" + other + line})
	plain, err := ofToy(t, repo, "0.1.0")
	must(t, err)
	r := newToy(t, repo, "0.1.0")
	r.keyFile = key
	var said bytes.Buffer
	r.out = &said
	must(t, r.steps(t.Context()))
	must(t, r.report())
	signed, unsigned := distOf(t, r), distOf(t, plain)
	sig := signed[sumsFile+".sig"]
	delete(signed, sumsFile+".sig")
	if len(signed) != len(unsigned) || r.commit != plain.commit {
		t.Errorf("%d files, %s; without a key %d files, %s", len(signed), r.commit, len(unsigned), plain.commit)
	}
	for name, data := range unsigned {
		if !bytes.Equal(signed[name], data) {
			t.Errorf("%s has other bytes with a key", name)
		}
	}
	signers := filepath.Join(repo, signersFile)
	must(t, verify(r.dist, signers))
	if !strings.Contains(said.String(), "SHA256SUMS is signed by the key SHA256:") {
		t.Errorf("it does not say that it is signed:\n%s", said.String())
	}
	copied := filepath.Join(t.TempDir(), sumsFile)
	write(t, copied, string(signed[sumsFile]))
	_, err = output(exec.Command("ssh-keygen", "-Y", "sign", "-n", "file", "-f", key, copied))
	must(t, err)
	if got := read(t, copied+".sig"); got != string(sig) {
		t.Errorf("ssh-keygen signs with other bytes:\n%s\n%s", got, sig)
	}
	otherSigners := filepath.Join(t.TempDir(), "others")
	write(t, otherSigners, other+strings.Replace(line, "keywright ", "mallory ", 1))
	if verify(r.dist, otherSigners) == nil {
		t.Error("a key of another is taken")
	}
	changed := append([]byte{}, signed[sumsFile]...)
	changed[3] ^= 1
	write(t, filepath.Join(r.dist, sumsFile), string(changed))
	if verify(r.dist, signers) == nil {
		t.Error("sums that were changed are taken")
	}
}

// TestNotSigned: without a key the end of a release says so.
func TestNotSigned(t *testing.T) {
	r := newToy(t, toy(t, nil), "0.1.0")
	var said bytes.Buffer
	r.out = &said
	must(t, r.steps(t.Context()))
	must(t, r.report())
	for _, want := range []string{"\nThe release is not signed: ", "\nKnown vulnerabilities:\n  not checked: "} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in\n%s", want, said.String())
		}
	}
	if _, err := os.Stat(filepath.Join(r.dist, sumsFile+".sig")); err == nil {
		t.Error("there is a signature")
	}
}

// TestKeysAreRefused: a key that no user could verify with is refused with the reason, before anything is built.
func TestKeysAreRefused(t *testing.T) {
	good, line := newKey(t)
	locked, lockedLine := newKey(t, "-t", "ed25519", "-N", "secret")
	rsa, rsaLine := newKey(t, "-t", "rsa", "-b", "2048", "-N", "")
	unknown, unknownLine := newKey(t)
	garbage := filepath.Join(t.TempDir(), "garbage")
	write(t, garbage, "-----BEGIN OPENSSH PRIVATE KEY-----\nnone\n-----END OPENSSH PRIVATE KEY-----\n")
	pipe := filepath.Join(t.TempDir(), "pipe") // a read of it would never end
	if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	repo := toy(t, map[string]string{signersFile: line + lockedLine + rsaLine})
	for name, says := range map[string]string{
		filepath.Join(t.TempDir(), "none"): "the key to sign with cannot be read: open ",
		"none":                             "the key to sign with cannot be read: open " + repo,
		t.TempDir():                        " is no file",
		pipe:                               pipe + " is no file",
		good + ".pub":                      "is a public key; the private one is needed",
		locked:                             "has a passphrase, and a release asks for nothing",
		rsa:                                "is a key of the type ssh-rsa; it must be ssh-ed25519",
		garbage:                            "is no private key that ssh-keygen wrote",
		filepath.Join(repo, "LICENSE"):     "is no private key that ssh-keygen wrote",
		unknown: "is committed before its first release, as this line:\n" + strings.TrimSuffix(unknownLine,
			" of a test\n"),
	} {
		r := newToy(t, repo, "0.1.0")
		r.keyFile = name
		if err := r.steps(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, not %q", name, err, says)
		}
		if _, err := os.Stat(r.dist); err == nil {
			t.Errorf("%s: something was built", name)
		}
	}
	if got := commit(t, repo, "tag", "--list"); got != "" {
		t.Errorf("there are tags: %s", got)
	}
	r := newToy(t, toy(t, nil), "0.1.0")
	r.keyFile = good
	if err := r.steps(t.Context()); err == nil || !strings.Contains(err.Error(), signersFile) {
		t.Errorf("a tree without %s: %v", signersFile, err)
	}
}

// TestNamesKey: a key is ours if a line has it under our name; a comment and a line of another are none.
func TestNamesKey(t *testing.T) {
	key, line := newKey(t)
	private, err := readKey(key)
	must(t, err)
	public := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(private.PublicKey())))
	for text, want := range map[string]bool{
		line:                  true,
		"keywright " + public: false,
		"keywright namespaces=\"file\" " + public + " a comment":            true,
		"keywright namespace=\"file\" " + public:                            false,
		"keywright namespaces=\"git\" " + public:                            false,
		"keywright namespaces=\"file\",valid-before=\"20200101\" " + public: false,
		"keywright cert-authority,namespaces=\"file\" " + public:            false,
		"a keywright " + public:                                             false,
		"# " + line:                                                         false,
		"keywright ssh-ed25519":                                             false,
		"":                                                                  false,
		"other " + public + "\n" + line:                                     true,
		"keywright ssh-ed25519 AAAA\n":                                      false,
		strings.Replace(line, "A", "B", 1):                                  false,
	} {
		if namesKey(text, public) != want {
			t.Errorf("%q: not %v", text, want)
		}
	}
}

// TestTheSignersOfThisTree: ssh-keygen reads the file that users verify with; it may have no key yet.
func TestTheSignersOfThisTree(t *testing.T) {
	cmd := exec.Command("ssh-keygen", "-Y", "match-principals", "-f", "../../"+signersFile, "-I", "keywright")
	text := read(t, "../../"+signersFile)
	out, err := output(cmd)
	if has := strings.Contains("\n"+text, "\nkeywright "); has != (err == nil) {
		t.Errorf("%q %v of\n%s", out, err, text)
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, `keywright namespaces="file" ssh-ed25519 AAAA`) {
			t.Errorf("%q is no line as make release wants it", line)
		}
	}
}
