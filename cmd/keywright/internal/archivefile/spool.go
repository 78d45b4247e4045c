package archivefile

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// Spool holds texts until it is known whether they are wanted: in a file without a name,
// encrypted with a key that is only in memory. It is for one goroutine.
type Spool struct {
	file   *os.File
	out    *bufio.Writer
	cipher cipher.Block
}

// NewSpool makes a spool in a folder.
func NewSpool(folder string) (*Spool, error) {
	f, err := os.CreateTemp(folder, ".keywright-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // some systems only do that in Close
	s := &Spool{file: f}
	return s, s.Reset()
}

// Reset forgets all texts.
func (s *Spool) Reset() (err error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	if s.cipher, err = aes.NewCipher(key); err != nil {
		return err
	}
	if _, err = s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	s.out = bufio.NewWriterSize(cipher.StreamWriter{S: s.stream(), W: s.file}, 1<<16)
	return s.file.Truncate(0)
}

// stream is never used twice for other texts: each Reset has a key of its own.
func (s *Spool) stream() cipher.Stream { return cipher.NewCTR(s.cipher, make([]byte, aes.BlockSize)) }

// Add adds a text at the end.
func (s *Spool) Add(text []byte) error {
	var head [binary.MaxVarintLen64]byte
	_, err := s.out.Write(binary.AppendUvarint(head[:0], uint64(len(text))))
	if err == nil {
		_, err = s.out.Write(text)
	}
	return err
}

// Each calls each with the texts, in their order. A text is valid until the next one.
func (s *Spool) Each(each func(text []byte) error) error {
	if err := s.out.Flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReaderSize(cipher.StreamReader{S: s.stream(), R: s.file}, 1<<16)
	var text []byte
	for {
		n, err := binary.ReadUvarint(in)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if uint64(cap(text)) < n {
			text = make([]byte, n)
		}
		text = text[:n]
		if _, err := io.ReadFull(in, text); err != nil {
			return err
		}
		if err := each(text); err != nil {
			return err
		}
	}
}

func (s *Spool) Close() error {
	err := s.file.Close()
	if gone := os.Remove(s.file.Name()); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
