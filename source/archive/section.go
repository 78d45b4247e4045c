package archive

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Kinds of sections.
const (
	kindHeader = 'H'
	kindBlock  = 'B'
	kindIndex  = 'I'
	kindFooter = 'F'

	kindLibrary = 'L'
)

// headLen is the length of a section's head.
const headLen = 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Codec compresses the bodies of sections. ID is written into the file.
type Codec struct {
	ID   byte
	Name string
	// Pack appends the compressed src to dst.
	Pack func(dst, src []byte) ([]byte, error)
	// Unpack appends the decompressed src to dst. It fails if that takes more than
	// max bytes, and takes no memory for them before.
	Unpack func(dst, src []byte, max int) ([]byte, error)
}

// Plain and Deflate are the codecs that need the standard library only.
var (
	Plain   = Codec{0, "none", appendTo, appendMax}
	Deflate = Codec{1, "deflate", deflate, inflate}
)

func appendTo(dst, src []byte) ([]byte, error) { return append(dst, src...), nil }

func appendMax(dst, src []byte, max int) ([]byte, error) {
	if len(src) > max {
		return dst, ErrTooLarge
	}
	return append(dst, src...), nil
}

func deflate(dst, src []byte) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	w, err := flate.NewWriter(out, flate.BestSpeed)
	if err != nil {
		return dst, err
	}
	_, err = w.Write(src)
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

func inflate(dst, src []byte, max int) ([]byte, error) {
	before := len(dst)
	out := bytes.NewBuffer(dst)
	_, err := io.Copy(out, io.LimitReader(flate.NewReader(bytes.NewReader(src)), int64(max)+1))
	if err == nil && out.Len()-before > max {
		err = ErrTooLarge
	}
	return out.Bytes(), err
}

// head represents the head of a section.
type head struct {
	kind, codec byte
	stored, raw uint32
	crc         uint32
}

func (h *head) encode() (b [headLen]byte) {
	b[0], b[1] = h.kind, h.codec
	binary.LittleEndian.PutUint32(b[4:], h.stored)
	binary.LittleEndian.PutUint32(b[8:], h.raw)
	binary.LittleEndian.PutUint32(b[12:], h.crc)
	return b
}

func decodeHead(b []byte) (h head, err error) {
	h = head{b[0], b[1], binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:]),
		binary.LittleEndian.Uint32(b[12:])}
	if h.stored > MaxSection || h.raw > MaxSection {
		return h, ErrTooLarge
	}
	return h, nil
}

// sum returns the checksum of a head, whose own is not counted, and its body.
func (h *head) sum(body []byte) uint32 {
	b := h.encode()
	return crc32.Update(crc32.Update(0, castagnoli, b[:12]), castagnoli, body)
}

// section represents one that was read.
type section struct {
	kind byte
	body []byte // decompressed; valid until the next is read
}

// sections reads one section after the other and checks each.
type sections struct {
	in     io.Reader
	codecs []Codec
	offset int64 // of the next section
	stored bytes.Buffer
	raw    []byte
	seen   io.Writer // gets the bytes of each good section but the footer; may be nil
}

// next reads a section. It returns io.EOF if the input ends before it.
func (s *sections) next() (section, error) {
	var fixed [headLen]byte
	if n, err := io.ReadFull(s.in, fixed[:]); err != nil {
		if n > 0 && err == io.ErrUnexpectedEOF {
			err = ErrEnds
		}
		return section{}, err
	}
	h, err := decodeHead(fixed[:])
	if err != nil {
		return section{}, err
	}
	s.stored.Reset()
	// The buffer grows with what has come, not with what the head promises.
	if n, err := io.CopyN(&s.stored, s.in, int64(h.stored)); err != nil {
		if err == io.EOF {
			err = ErrEnds
		}
		return section{}, fmt.Errorf("after %d of %d bytes: %w", n, h.stored, err)
	}
	if h.sum(s.stored.Bytes()) != h.crc || fixed[2] != 0 || fixed[3] != 0 {
		return section{}, ErrDamaged
	}
	if s.seen != nil && h.kind != kindFooter {
		_, _ = s.seen.Write(fixed[:])
		_, _ = s.seen.Write(s.stored.Bytes())
	}
	if s.raw, err = s.unpack(h, s.stored.Bytes()); err != nil {
		return section{}, err
	}
	s.offset += headLen + int64(h.stored)
	return section{h.kind, s.raw}, nil
}

func (s *sections) unpack(h head, stored []byte) ([]byte, error) {
	for _, c := range s.codecs {
		if c.ID != h.codec {
			continue
		}
		raw, err := c.Unpack(s.raw[:0], stored, int(h.raw))
		if err == nil && len(raw) != int(h.raw) {
			err = fmt.Errorf("%w: %d bytes, not %d", ErrSense, len(raw), h.raw)
		}
		return raw, err
	}
	return nil, fmt.Errorf("%w (codec %d)", ErrCodec, h.codec)
}

// most bounds the values of the JSON in a header, and in an index beside its blocks: what
// honest archives have is far below it.
const most = 12 * MaxEntries

// fromJSON decodes a header or an index. Small values take many times their length in
// memory: how many there may be is bounded, blocks extra.
func fromJSON(text []byte, blocks int64, into any) error {
	if int64(bytes.Count(text, []byte{','})) > most+4*blocks {
		return ErrTooLarge
	}
	return json.Unmarshal(text, into)
}
