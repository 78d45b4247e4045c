package archivefile

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"

	"filippo.io/age"
	"github.com/keywright/keywright"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/value/seal"
)

// ageMagic begins files that age encrypted.
const ageMagic = "age-encryption.org/"

// Keys gives the identities that encrypted archives are opened with. It is asked when
// there is one; nil: there are none.
type Keys func() ([]age.Identity, error)

// ErrEncrypted reports an encrypted archive where there is no identity.
var ErrEncrypted = errors.New("the archive is encrypted")

// ErrNoKey is returned where no identity opens an archive.
var ErrNoKey = errors.New("the archive is encrypted for other keys")

// Is reports whether a file is an archive, encrypted or not. A file that cannot be read is
// none.
func Is(path string) bool {
	f, _, err := regular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	first := make([]byte, len(ageMagic))
	n, _ := io.ReadFull(f, first)
	return Begins(first[:n])
}

// Begins reports whether an archive, encrypted or not, begins with these bytes.
func Begins(first []byte) bool { return archive.Is(first) || encrypted(first) }

// Head says how many bytes Begins needs.
const Head = len(ageMagic)

func encrypted(first []byte) bool { return bytes.HasPrefix(first, []byte(ageMagic)) }

type Opened struct {
	*archive.Archive
	Cut       error // why it is not whole; nil: it is
	Encrypted bool
	file      *os.File
}

func (o *Opened) Close() error { return o.file.Close() }

// Open opens an archive by its index. Of one that is not whole it reads what is good, and
// Cut says why it is not. An encrypted one that is not whole is an error: Stream reads it.
func Open(path string, keys Keys) (*Opened, error) {
	f, size, err := regular(path)
	if err != nil {
		return nil, err
	}
	return opened(f, size, path, keys)
}

// Spooled opens an archive that can be read once: it is kept, as it comes, in a file without
// a name.
func Spooled(in io.Reader, name string, keys Keys) (*Opened, error) {
	f, err := os.CreateTemp("", "keywright-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // some systems only do that in Close
	size, err := io.Copy(f, in)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return opened(f, size, name, keys)
}

func opened(f *os.File, size int64, name string, keys Keys) (_ *Opened, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
		}
	}()
	in := io.ReaderAt(f)
	first := make([]byte, len(ageMagic))
	n, _ := f.ReadAt(first, 0)
	o := &Opened{file: f, Encrypted: encrypted(first[:n])}
	if o.Encrypted {
		identities, err := keys.identities()
		if err != nil {
			return nil, err
		}
		if in, size, err = age.DecryptReaderAt(f, size, identities...); err != nil {
			return nil, explained(err)
		}
	}
	if o.Archive, err = archive.Open(in, size, Codecs()...); err == nil {
		return o, nil
	}
	if errors.Is(err, archive.ErrNotArchive) || errors.Is(err, archive.ErrNewer) {
		return nil, err
	}
	var cut *archive.CutError
	o.Archive, err = archive.Recover(in, size, Codecs()...)
	if o.Archive != nil && errors.As(err, &cut) {
		o.Cut = err
		return o, nil
	}
	return nil, err
}

func regular(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", path)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func (k Keys) identities() ([]age.Identity, error) {
	if k == nil {
		return nil, ErrEncrypted
	}
	out, err := k()
	if err == nil && len(out) == 0 {
		err = ErrEncrypted
	}
	return out, err
}

// explained tells a wrong key from a damaged file.
func explained(err error) error {
	if none := (*age.NoIdentityMatchError)(nil); errors.As(err, &none) {
		return ErrNoKey
	}
	return fmt.Errorf("%w: %w", archive.ErrDamaged, err)
}

// Streamed represents an archive that is read from its beginning.
type Streamed struct {
	io.Reader
	io.Closer
	Encrypted bool
}

// Stream opens an archive to be read from its beginning.
func Stream(path string, keys Keys) (*Streamed, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(f, 1<<20)
	if first, _ := in.Peek(len(ageMagic)); !encrypted(first) {
		return &Streamed{in, f, false}, nil
	}
	identities, err := keys.identities()
	if err == nil {
		var plain io.Reader
		if plain, err = age.Decrypt(in, identities...); err == nil {
			return &Streamed{&authentic{plain}, f, true}, nil
		}
		err = explained(err)
	}
	return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
}

// authentic says of an encrypted file that does not open that it is damaged.
type authentic struct{ in io.Reader }

func (a *authentic) Read(p []byte) (int, error) {
	n, err := a.in.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %w", archive.ErrDamaged, err)
	}
	return n, err
}

// ringStanza names the lines of an encrypted file's head that a key ring opens.
const ringStanza = "github.com/keywright/key-ring"

// ringPlace says what a file's key is sealed for.
var ringPlace = keywright.Place{Schema: "keywright", Key: "archive", Field: "file key"}

// Ring encrypts for the active key of a ring, and opens what any of its keys sealed.
type Ring struct{ *seal.Ring }

// Wrap implements age.Recipient.
func (r Ring) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	sealed, err := r.Seal(ringPlace, base64.StdEncoding.EncodeToString(fileKey))
	if err != nil {
		return nil, err
	}
	return []*age.Stanza{{Type: ringStanza, Body: []byte(sealed)}}, nil
}

// Unwrap implements age.Identity.
func (r Ring) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	for _, s := range stanzas {
		if s.Type != ringStanza {
			continue
		}
		if text, err := r.Open(ringPlace, string(s.Body)); err == nil {
			return base64.StdEncoding.DecodeString(text)
		}
	}
	return nil, age.ErrIncorrectIdentity
}

// Encrypt makes what is written to the file readable for the recipients only. Finish and
// Abandon end it.
func (f *File) Encrypt(recipients []age.Recipient) (err error) {
	f.encrypting, err = age.Encrypt(f.file, recipients...)
	return err
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	if f.encrypting != nil {
		return f.encrypting.Write(p)
	}
	return f.file.Write(p)
}

// ended ends the encryption.
func (f *File) ended() error {
	if f.encrypting == nil {
		return nil
	}
	err := f.encrypting.Close()
	f.encrypting = nil
	return err
}
