package wire

import "bytes"

// requests reads the commands in what is written to a server, in pieces of any size, and
// tells which reply each is to have.
type requests struct {
	answers *answers
	skip    int64 // bytes of an argument that are still to come, with its end
	size    int   // of the line that has begun
	head    [24]byte
	args    int64 // of this command
	left    int64 // of them are to come
	name    [40]byte
	named   int  // bytes of the name, or one more than there is place for
	naming  bool // this argument is, or belongs to, the name
}

// look passes an argument by its length, but for the name of the command: its first word,
// and the second if there are several commands of the first.
func (r *requests) look(p []byte) {
	for len(p) > 0 {
		if r.skip > 0 {
			n := min(r.skip, int64(len(p)))
			if r.naming {
				r.append(p[:min(n, max(r.skip-2, 0))])
			}
			p, r.skip = p[n:], r.skip-n
			if r.skip == 0 {
				r.argument()
			}
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
		length, err := parseInt(r.head[1:max(1, min(r.size, len(r.head))-2)])
		switch r.size = 0; {
		case err != nil:
		case r.head[0] == '*':
			r.args, r.left, r.named, r.naming = length, length, 0, true
		case r.head[0] == '$':
			r.skip = length + 2
		}
	}
}

// append adds to the name, in capital letters.
func (r *requests) append(p []byte) {
	for _, c := range p {
		if r.named == len(r.name) {
			r.named++
		}
		if r.named > len(r.name) {
			return
		}
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		r.name[r.named] = c
		r.named++
	}
}

// argument notes that an argument is complete.
func (r *requests) argument() {
	r.left--
	if r.naming {
		name := string(r.name[:min(r.named, len(r.name))])
		if r.naming = r.left > 0 && r.left == r.args-1 &&
			(name == "CLIENT" || name == "HELLO" || name == "SENTINEL"); r.naming {
			r.append([]byte{' '})
		}
	}
	if r.left == 0 {
		r.answers.ask(r.name[:min(r.named, len(r.name))], int(r.args))
	}
}
