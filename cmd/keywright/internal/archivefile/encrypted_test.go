//go:build unix

package archivefile_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"filippo.io/age"
	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/value/seal"
)

// encrypted writes an archive of some keys for a recipient.
func encrypted(t *testing.T, to ...age.Recipient) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.kwa")
	f, err := archivefile.Create(path, false)
	must(t, err)
	must(t, f.Encrypt(to))
	w, err := archive.NewWriter(f, archive.Meta{ID: "00"}, archivefile.Zstd)
	must(t, err)
	for i := range 3 {
		must(t, w.Add(&archive.Record{Entry: archive.Undeclared, Key: fmt.Append(nil, "secret name ", i), Kind: source.String,
			Form: archive.Dump, RDB: 10, Payload: []byte("\x00\x05value")}))
	}
	_, err = w.Close()
	must(t, err)
	must(t, f.Finish())
	return path
}

// verify reads all of a file.
func verify(path string, keys archivefile.Keys) error {
	in, err := archivefile.Stream(path, keys)
	if err != nil {
		return err
	}
	defer in.Close()
	_, _, err = archive.Verify(in, archivefile.Codecs()...)
	return err
}

func with(identities ...age.Identity) archivefile.Keys {
	return func() ([]age.Identity, error) { return identities, nil }
}

func ring(t *testing.T) archivefile.Ring {
	t.Helper()
	text, _, err := seal.Generate()
	must(t, err)
	r, err := seal.Parse(text)
	must(t, err)
	return archivefile.Ring{Ring: r}
}

// An encrypted archive opens with each of its keys and with no other, and shows nothing
// without. Each flipped bit and each cut is found.
func TestEncrypted(t *testing.T) {
	own, err := age.GenerateX25519Identity()
	must(t, err)
	other, err := age.GenerateX25519Identity()
	must(t, err)
	keys := ring(t)
	path := encrypted(t, own.Recipient(), keys)
	text, err := os.ReadFile(path)
	must(t, err)
	for _, plain := range []string{"secret", "KWARCH", "value"} {
		if bytes.Contains(text, []byte(plain)) {
			t.Errorf("the file shows %q", plain)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	must(t, byIndex(path, with(own)))
	for name, k := range map[string]archivefile.Keys{"own": with(own), "ring": with(keys),
		"one of two": with(other, own)} {
		if err := verify(path, k); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		in, err := archivefile.Open(path, k)
		must(t, err)
		if n, _ := in.Index.Totals(); n != 3 || !in.Encrypted || in.Cut != nil {
			t.Errorf("%s: %d keys, %v", name, n, in.Cut)
		}
		must(t, in.Close())
	}
	for name, k := range map[string]archivefile.Keys{"other": with(other), "another ring": with(ring(t))} {
		if err := verify(path, k); !errors.Is(err, archivefile.ErrNoKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := verify(path, nil); !errors.Is(err, archivefile.ErrEncrypted) {
		t.Errorf("no key: %v", err)
	}
	broken := filepath.Join(t.TempDir(), "b.kwa")
	for bit := 0; bit < len(text)*8; bit += 3 {
		damaged := bytes.Clone(text)
		damaged[bit/8] ^= 1 << (bit % 8)
		must(t, os.WriteFile(broken, damaged, 0o600))
		if verify(broken, with(keys)) == nil || byIndex(broken, with(keys)) == nil {
			t.Fatalf("bit %d of byte %d", bit%8, bit/8)
		}
	}
	for n := range text {
		must(t, os.WriteFile(broken, text[:n], 0o600))
		if verify(broken, with(keys)) == nil || byIndex(broken, with(keys)) == nil {
			t.Fatalf("%d of %d bytes", n, len(text))
		}
	}
	must(t, os.WriteFile(broken, append(text, 0), 0o600))
	if verify(broken, with(keys)) == nil {
		t.Fatal("a byte more")
	}
}

// byIndex reads an archive as verbs that need its index do.
func byIndex(path string, keys archivefile.Keys) error {
	in, err := archivefile.Open(path, keys)
	if err != nil {
		return err
	}
	defer in.Close()
	chain, err := archive.NewChain(in.Archive)
	if err != nil || in.Cut != nil {
		return errors.Join(err, in.Cut)
	}
	order, _ := chain.Databases()
	for _, db := range order {
		for _, err := range chain.Values(db, nil) {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// A table holds what was put, however many keys there are, and refuses more than it was
// made for. Its file has no name.
func TestTable(t *testing.T) {
	dir := t.TempDir()
	table, err := archivefile.NewTable(dir, 5000)
	must(t, err)
	defer table.Close()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v", left)
	}
	for i := range int64(5000) {
		must(t, table.Put(int(i%3), fmt.Append(nil, i), archivefile.Slot{Expires: i, Mark: i % 3, Digest: [16]byte{byte(i)}}))
	}
	for i := range int64(5000) {
		s, there, err := table.Get(int(i%3), fmt.Append(nil, i))
		if err != nil || !there || s.Expires != i || s.Mark != i%3 || s.Digest[0] != byte(i) {
			t.Fatal(i, s, there, err)
		}
		if _, there, _ := table.Get(int(i%3)+1, fmt.Append(nil, i)); there {
			t.Fatal(i, "is in another database")
		}
	}
	for i := 0; err == nil && i < 1<<20; i++ {
		err = table.Put(9, fmt.Append(nil, i), archivefile.Slot{})
	}
	if !errors.Is(err, archivefile.ErrCrowded) {
		t.Errorf("%v", err)
	}
}
