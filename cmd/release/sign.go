package main

import (
	"context"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

const (
	// signersFile is the file of the repository with the keys of releases, in the form that ssh-keygen reads.
	signersFile = "docs/allowed_signers"
	// signer is the name of the keys there.
	signer = "keywright"
	// namespace is what ssh-keygen calls a signature of a file.
	namespace = "file"
	sumsFile  = "SHA256SUMS"
)

// useKey reads the key to sign with, if there is one. It refuses what users could not verify, before anything is built.
func (r *release) useKey() (err error) {
	if r.keyFile == "" {
		return nil
	}
	if !filepath.IsAbs(r.keyFile) {
		r.keyFile = filepath.Join(r.repo, r.keyFile)
	}
	if r.key, err = readKey(r.keyFile); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(r.repo, signersFile))
	if err != nil {
		return err
	}
	if public := publicText(r.key); !namesKey(string(text), public) {
		return fmt.Errorf("%s of the tree does not have the public key of %s, so no user could verify: is it the right "+
			"key? A new one is committed before its first release, as this line:\n%s namespaces=%q %s", signersFile, r.keyFile,
			signer, namespace, public)
	}
	return nil
}

// readKey reads a private key of the form that ssh-keygen writes.
func readKey(name string) (ssh.Signer, error) {
	if about, err := os.Stat(name); err == nil && !about.Mode().IsRegular() {
		return nil, fmt.Errorf("the key to sign with cannot be read: %s is no file", name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("the key to sign with cannot be read: %w", err)
	}
	if _, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
		return nil, fmt.Errorf("%s is a public key; the private one is needed, whose file has no .pub", name)
	}
	key, err := ssh.ParsePrivateKey(text)
	if missing := (*ssh.PassphraseMissingError)(nil); errors.As(err, &missing) {
		return nil, fmt.Errorf("%s has a passphrase, and a release asks for nothing. Make the release without a key, then "+
			"sign: ssh-keygen -Y sign -n %s -f %[1]s dist/VERSION/%[3]s gives the same bytes", name, namespace, sumsFile)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is no private key that ssh-keygen wrote: %w", name, err)
	}
	if kind := key.PublicKey().Type(); kind != ssh.KeyAlgoED25519 {
		return nil, fmt.Errorf("%s is a key of the type %s; it must be ssh-ed25519, whose signatures are the same each "+
			"time: ssh-keygen -t ed25519 makes one", name, kind)
	}
	return key, nil
}

// publicText returns the public key as files of OpenSSH have it.
func publicText(key ssh.Signer) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey())))
}

// namesKey tells whether a file of allowed signers has a key in the one form that is known to verify: under our name,
// for files, without other conditions.
func namesKey(text, public string) bool {
	want := append([]string{signer, fmt.Sprintf("namespaces=%q", namespace)}, strings.Fields(public)[:2]...)
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) >= len(want) && slices.Equal(words[:len(want)], want) {
			return true
		}
	}
	return false
}

// sign signs the checksums, and so all files: what ssh-keygen -Y verify reads. No other file depends on it.
func (r *release) sign(context.Context) error {
	if r.key == nil {
		fmt.Fprintln(r.out, "no key was given: the release is not signed")
		return nil
	}
	data, err := os.ReadFile(filepath.Join(r.part, sumsFile))
	if err != nil {
		return err
	}
	text, err := signature(r.key, data)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.part, sumsFile+".sig"), text, 0o644)
}

// signature returns the signature of a file in the form SSHSIG: the same bytes as those of ssh-keygen.
func signature(key ssh.Signer, data []byte) ([]byte, error) {
	const magic, hash = "SSHSIG", "sha512"
	sum := sha512.Sum512(data)
	signed := append([]byte(magic), ssh.Marshal(struct{ Namespace, Reserved, Hash, Sum string }{namespace, "", hash,
		string(sum[:])})...)
	s, err := key.Sign(rand.Reader, signed)
	if err != nil {
		return nil, err
	}
	whole := append([]byte(magic), ssh.Marshal(struct {
		Version                                      uint32
		Public, Namespace, Reserved, Hash, Signature string
	}{1, string(key.PublicKey().Marshal()), namespace, "", hash, string(ssh.Marshal(s))})...)
	var out strings.Builder
	out.WriteString("-----BEGIN SSH SIGNATURE-----\n")
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString(whole)), 70) {
		fmt.Fprintf(&out, "%s\n", line)
	}
	out.WriteString("-----END SSH SIGNATURE-----\n")
	return []byte(out.String()), nil
}

// signedBy says for the end of a release whether it is signed, and how one looks.
func (r *release) signedBy() string {
	if r.key == nil {
		return "The release is not signed: no key was given (make release SIGN_KEY=FILE).\n"
	}
	return fmt.Sprintf("%s is signed by the key %s. To verify, in the folder of the files:\n"+
		"  ssh-keygen -Y verify -f %s -I %s -n %s -s %[1]s.sig <%[1]s\n", sumsFile, ssh.FingerprintSHA256(r.key.PublicKey()),
		filepath.Join(r.repo, signersFile), signer, namespace)
}
