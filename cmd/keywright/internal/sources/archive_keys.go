package sources

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/source/archive"
	"github.com/spf13/cobra"
)

// Unlocking holds the flags of verbs that read archives.
type Unlocking struct {
	Identities []string
	Keyring    Ringing
}

// UnlockHelp explains them.
const UnlockHelp = `An archive that is encrypted is read with --identity FILE (age identities, as
age-keygen writes them), or with the key ring of --keys-file or KEYWRIGHT_KEY_RING.`

func (o *Unlocking) Flags(c *cobra.Command) {
	o.IdentityFlag(c)
	c.Flags().StringVar(&o.Keyring.KeysFile, "keys-file", "", "the file with the key ring")
}

func (o *Unlocking) IdentityFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&o.Identities, "identity", nil,
		"a file with age identities that open an encrypted archive (again: this one, too)")
}

// ArchiveKeys reads what opens archives, when there is an encrypted one.
func ArchiveKeys(ctx context.Context, a *cli.App, o *Unlocking) archivefile.Keys {
	return func() (out []age.Identity, err error) {
		for _, path := range o.Identities {
			f, err := os.Open(path)
			if err != nil {
				return nil, cli.Usage("name a file that age-keygen wrote", "no identity: %v", withoutSecret(err, path))
			}
			some, err := age.ParseIdentities(f)
			_ = f.Close()
			if err != nil {
				// the error may quote a secret
				return nil, cli.Usage("name a file that age-keygen wrote", "%s has no identities of age", path)
			}
			out = append(out, some...)
		}
		if o.Keyring.Given() || a.Getenv(cli.RingVariable) != "" {
			ring, err := KeyRing(ctx, a, &o.Keyring)
			if err != nil {
				return nil, err
			}
			out = append(out, archivefile.Ring{Ring: ring})
		}
		return out, nil
	}
}

// secretPrefix begins the text of an age identity.
const secretPrefix = "AGE-SECRET-KEY-"

// withoutSecret keeps a secret that was given in place of a file out of an error.
func withoutSecret(err error, path string) error {
	if strings.HasPrefix(strings.ToUpper(path), "AGE-") {
		return errors.New(
			"--identity takes the name of a file: a key in an argument can be seen by every user of the machine")
	}
	return err
}

// NewMeta returns what an archive that is begun says of itself, whatever is in it.
func NewMeta(taken time.Time, moment archive.Consistency) archive.Meta {
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	return archive.Meta{ID: hex.EncodeToString(id), Tool: "keywright " + cli.Version().Version, Taken: taken,
		Consistency: moment}
}

// Encrypting holds the flags of verbs that write archives.
type Encrypting struct {
	Recipients     []string
	RecipientsFile string
	Encrypt        bool
	KeysFile       string
}

// LockHelp explains them.
const LockHelp = `With --recipient age1… or --recipients-file FILE the archive is encrypted for these
keys of age, with --encrypt for the key ring of --keys-file or KEYWRIGHT_KEY_RING
(see keywright seal). Names of keys are encrypted, too.`

func (o *Encrypting) Flags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&o.Recipients, "recipient", nil, "encrypt for this public key of age (again: for this one, too)")
	f.StringVar(&o.RecipientsFile, "recipients-file", "", "encrypt for the public keys of age in this file, one a line")
	f.BoolVar(&o.Encrypt, "encrypt", false, "encrypt for the active key of the key ring")
	f.StringVar(&o.KeysFile, "keys-file", "", "the file with the key ring")
}

// ArchiveRecipients returns those that an archive is encrypted for; none: it is not.
func ArchiveRecipients(ctx context.Context, a *cli.App, o *Encrypting) (out []age.Recipient, err error) {
	for i, text := range o.Recipients {
		if strings.HasPrefix(strings.ToUpper(text), secretPrefix) {
			return nil, cli.Usage("give the public key, which begins with age1",
				"--recipient %d is a secret key: who holds the archive needs the public one", i+1)
		}
		some, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, cli.Usage("write --recipient age1…", "--recipient %d is no public key of age", i+1)
		}
		out = append(out, some...)
	}
	if o.RecipientsFile != "" {
		f, err := os.Open(o.RecipientsFile)
		if err != nil {
			return nil, cli.Usage("name a file with public keys of age, one a line", "no recipients: %v", err)
		}
		some, err := age.ParseRecipients(f)
		_ = f.Close()
		if err != nil {
			return nil, cli.Usage("name a file with public keys of age, one a line", "%s has no recipients of age",
				o.RecipientsFile)
		}
		out = append(out, some...)
	}
	if o.Encrypt {
		ring, err := KeyRing(ctx, a, &Ringing{KeysFile: o.KeysFile})
		if err != nil {
			return nil, err
		}
		out = append(out, archivefile.Ring{Ring: ring})
	} else if o.KeysFile != "" && !a.Given("since") {
		return nil, cli.Usage("write --encrypt, too", "--keys-file alone does not encrypt")
	}
	return out, nil
}

// NoArchive explains an archive that cannot be opened.
func NoArchive(path string, err error) error {
	var known *cli.Exit
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, fs.ErrNotExist) && begun(path) != nil:
		return begun(path)
	case errors.Is(err, archivefile.ErrEncrypted):
		return cli.Usage("name what opens it with --identity FILE, or --keys-file FILE", "%s is encrypted", path)
	case errors.Is(err, archivefile.ErrNoKey):
		return cli.Usage("name another --identity", "%s is encrypted for other keys", path)
	case errors.Is(err, archive.ErrDamaged), errors.As(err, new(*archive.CutError)):
		return cli.Partial("take another copy of the archive: nothing of this one can be read", "NOT WHOLE: %v",
			nameFile(path, err))
	}
	return cli.Usage("an archive is what `keywright backup` writes, of a server or of an RDB file", "%v",
		nameFile(path, err))
}

// begun says of an archive that is not there that its backup has not ended; nil: there is none
// that has begun.
func begun(path string) error {
	part := path + archivefile.Part
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || !archivefile.Is(part) {
		return nil
	}
	return cli.Usage("run the backup again (--resume goes on with it), or wait for it if it runs; "+
		"`keywright archive info "+cli.ShellWord(part)+"` says what that file has, and it can be read as far as it is good",
		"there is no archive %s: its backup has not ended, and %s has what was saved until then", path, part)
}

// nameFile returns an error that names its file, once.
func nameFile(path string, err error) error {
	if strings.Contains(err.Error(), path) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}
