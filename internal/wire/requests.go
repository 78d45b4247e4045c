package wire

import "bytes"

// requests counts the commands in what is written to a server, in pieces of any size.
type requests struct {
	skip int64 // bytes of an argument that are still to come, with its end
	size int   // of the line that has begun
	head [24]byte
}

// look is how many commands begin in a piece. An argument is passed by its length.
func (r *requests) look(p []byte) (begun int64) {
	for len(p) > 0 {
		if r.skip > 0 {
			n := min(r.skip, int64(len(p)))
			p, r.skip = p[n:], r.skip-n
			continue
		}
		n := bytes.IndexByte(p, '\n') + 1
		part := p
		if n > 0 {
			part = p[:n]
		}
		if r.size < len(r.head) {
			copy(r.head[r.size:], part)
		}
		r.size += len(part)
		if p = p[len(part):]; n == 0 {
			continue
		}
		if r.head[0] == '*' {
			begun++
		} else if length, err := parseInt(r.head[1:max(1, min(r.size, len(r.head))-2)]); err == nil && r.head[0] == '$' {
			r.skip = length + 2
		}
		r.size = 0
	}
	return begun
}
