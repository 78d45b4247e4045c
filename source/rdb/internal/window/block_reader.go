package window

import (
	"io"

	"github.com/keywright/keywright/source/rdb/internal/crc"
)

// Blocks are read ahead, and summed while they are in the cache of who read
// them: reading, the checksum and the parse go on side by side. A block grows
// from the first size to the last while the input fills it. Before its bytes
// there is room for what the parser had left of the block before.
const (
	firstBlock = 8 << 10
	lastBlock  = 256 << 10
	headroom   = 4 << 10
	Buffers    = 3 // one is parsed, one is ready, one is filled
)

// block represents a piece of the input: buf[headroom:end].
type block struct {
	buf []byte
	end int
	crc uint64 // of all that came before it
	err error  // why there is no block after it
}

// blockReader reads blocks until the input ends or it is stopped.
type blockReader struct {
	in    io.Reader
	sums  bool
	ready chan block
	Free  chan []byte
	stop  chan struct{}
	done  chan struct{}
}

// ReadAhead starts reading. end must be called, and waits until the reading has
// stopped: in is not used after it.
func ReadAhead(in io.Reader, sums bool) *blockReader {
	a := &blockReader{in, sums, make(chan block, Buffers), make(chan []byte, Buffers), make(chan struct{}),
		make(chan struct{})}
	for range Buffers {
		a.Free <- nil
	}
	go a.run()
	return a
}

// End stops the reading, and waits for that.
func (a *blockReader) End() {
	close(a.stop)
	<-a.done
}

func (a *blockReader) run() {
	defer close(a.done)
	defer close(a.ready)
	sum, size := uint64(0), firstBlock
	for {
		var b block
		select {
		case b.buf = <-a.Free:
		case <-a.stop:
			return
		}
		if len(b.buf) < headroom+size {
			b.buf = make([]byte, headroom+size)
		}
		n, err := io.ReadAtLeast(a.in, b.buf[headroom:headroom+size], 1)
		b.end, b.crc, b.err = headroom+n, sum, err
		if a.sums {
			sum = crc.Update(sum, b.buf[headroom:b.end])
		}
		a.ready <- b // there is room: as many places as buffers
		if err != nil {
			return
		}
		if n == size {
			size = min(2*size, lastBlock)
		}
	}
}
