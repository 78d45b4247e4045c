package finding

import (
	"bytes"
	"fmt"
	"strconv"
)

// maxKeptName bounds the bytes that a report keeps of a name: a server takes names of
// 512 MiB, and a report has thousands.
const maxKeptName = 4096

// The end of a kept name that is a beginning only.
const (
	cutMark = "… ("
	cutEnd  = " bytes)"
)

// Cut returns a name as a report keeps it: of a very long one the beginning and its length,
// which Key and the JSON form tell. A name that is cut already, or is short, is returned
// as it is, without a copy.
func Cut(name []byte) []byte {
	if _, length := uncut(name); length > 0 || len(name) <= maxKeptName {
		return name
	}
	return fmt.Appendf(bytes.Clone(name[:maxKeptName]), "%s%d%s", cutMark, len(name), cutEnd)
}

// uncut returns the beginning of a name that Cut has cut, and its length; 0: it is whole.
func uncut(name []byte) (begin []byte, length int) {
	if len(name) <= maxKeptName {
		return name, 0
	}
	text, marked := bytes.CutPrefix(name[maxKeptName:], []byte(cutMark))
	text, ended := bytes.CutSuffix(text, []byte(cutEnd))
	n, err := strconv.Atoi(string(text))
	if !marked || !ended || err != nil || n <= maxKeptName {
		return name, 0
	}
	return name[:maxKeptName], n
}
