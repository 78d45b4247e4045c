package wire

import (
	"bytes"
	"net"
)

// sentinelMessage represents the message of a sentinel that is being read: rueidis splits it into words, and
// ends the program if there are too few.
type sentinelMessage struct {
	texts [][]byte // of the elements that are complete
	text  []byte   // of the one that is not
}

// mostHeard says how much of a text is looked at.
const mostHeard = 1 << 10

// GuardSentinel is Guard for a connection to a sentinel.
func GuardSentinel(nc net.Conn) *Guarded {
	g := Guard(nc)
	g.heard = &sentinelMessage{}
	return g
}

// mayBeMessage reports whether the elements that are read are those of what may be a message of a
// sentinel.
func (g *Guarded) mayBeMessage() bool { return g.heard != nil && g.push != 0 && len(g.open) == 1 }

func (h *sentinelMessage) begin() { h.texts, h.text = h.texts[:0], h.text[:0] }

func (h *sentinelMessage) add(p []byte) {
	h.text = append(h.text, p[:min(len(p), mostHeard-len(h.text))]...)
}

// isMessage reports whether the first element that was read says so.
func (h *sentinelMessage) isMessage() bool {
	return len(h.texts) > 0 && string(h.texts[0]) == "message"
}

// announced notes that an element is complete which is a bulk string.
func (g *Guarded) announced() error {
	if !g.mayBeMessage() {
		return nil
	}
	h := g.heard
	if len(h.texts) < 3 {
		h.texts = append(h.texts, bytes.Clone(h.text))
	}
	if h.text = h.text[:0]; len(h.texts) == 3 && h.isMessage() && !enough(string(h.texts[1]), h.texts[2]) {
		return g.refused(h.texts[2], "more words of a message on "+string(h.texts[1]))
	}
	return nil
}

// words says how many words rueidis reads of a message, by its channel. Of a replica, which
// sentinels call a slave, it reads six.
var words = map[string]int{"+sentinel": 4, "+switch-master": 5, "+reboot": 4, "+slave": 1, "+sdown": 1, "-sdown": 1}

func enough(channel string, message []byte) bool {
	n, known := words[channel]
	if known && n < 5 && channel != "+sentinel" && bytes.HasPrefix(message, []byte("slave ")) {
		n = 6
	}
	return bytes.Count(message, []byte(" "))+1 >= n
}
