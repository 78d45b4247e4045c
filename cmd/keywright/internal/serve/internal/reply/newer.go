package reply

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash/maphash"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// RowsOnly names, in A-IM and IM (RFC 3229), an answer whose lists have only the rows that the client does not have.
const RowsOnly = "rows"

// newer holds what is other in an answer than in the one that a client has: it was sent with If-None-Match and
// `A-IM: rows`, and its status is 226.
type newer struct {
	// by name of a list: a row, or [from, to] for those that the client has there in its own list
	Rows map[string][]json.RawMessage `json:"rows"`
	Rest map[string]json.RawMessage   `json:"rest"` // all that is no list of rows
}

// Respond answers with a document, or with what the client does not have of it. Each answer has an ETag.
func (b *Bases) Respond(w http.ResponseWriter, r *http.Request, document any) {
	status, text := encoded(http.StatusOK, document)
	if status != http.StatusOK {
		sendJSON(w, status, text)
		return
	}
	digest := sha256.Sum256(text)
	tag := `W/"` + hex.EncodeToString(digest[:12]) + `"`
	w.Header().Set("ETag", tag)
	has := headerWords(r.Header.Values("If-None-Match"))
	if slices.Contains(has, tag) {
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if slices.Contains(headerWords(r.Header.Values("A-IM")), RowsOnly) {
		if base, less := b.newer(tag, has, text); less != nil {
			w.Header().Set("IM", RowsOnly)
			w.Header().Set("Delta-Base", base)
			status, text = http.StatusIMUsed, less
		}
	}
	sendJSON(w, status, text)
}

// headerWords returns what is listed in a header.
func headerWords(lines []string) (out []string) {
	for _, line := range lines {
		for word := range strings.SplitSeq(line, ",") {
			out = append(out, strings.TrimSpace(word))
		}
	}
	return out
}

// Bases holds digests of the rows of answers that clients have, by ETag. What has no room any more costs its client one
// whole answer. The zero value is ready.
type Bases struct {
	mu    sync.Mutex
	lists map[string]map[string][]uint64
	order []string // ETags, the oldest first
	rows  int
}

// maxBaseRows bounds what is held: 8 bytes for each.
const maxBaseRows = 200_000

// fewRows is how many rows a list has that is sent whole in any case.
const fewRows = 8

var rowSeed = maphash.MakeSeed()

// newer returns what an answer has that one of those which a client has does not have; nil where that is not less.
func (b *Bases) newer(tag string, has []string, text []byte) (base string, less []byte) {
	var of newer
	if json.Unmarshal(text, &of.Rest) != nil {
		return "", nil
	}
	of.Rows = map[string][]json.RawMessage{}
	now := map[string][]uint64{}
	for name, list := range of.Rest {
		var rows []json.RawMessage
		if !bytes.HasPrefix(list, []byte("[{")) || json.Unmarshal(list, &rows) != nil || len(rows) < fewRows {
			continue
		}
		for _, row := range rows {
			now[name] = append(now[name], maphash.Bytes(rowSeed, row))
		}
		of.Rows[name] = rows
		delete(of.Rest, name)
	}
	base, then := b.swap(tag, has, now)
	if then == nil {
		return "", nil
	}
	for name, rows := range of.Rows {
		of.Rows[name] = spans(rows, now[name], then[name])
	}
	less, err := json.Marshal(of)
	if err != nil || len(less) >= len(text) {
		return "", nil
	}
	return base, append(less, '\n')
}

// swap keeps the digests of an answer, and returns those of one that the client has.
func (b *Bases) swap(tag string, has []string, now map[string][]uint64) (base string, then map[string][]uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, base = range has {
		if then = b.lists[base]; then != nil {
			break
		}
	}
	if b.lists[tag] != nil {
		return base, then
	}
	if b.lists == nil {
		b.lists = map[string]map[string][]uint64{}
	}
	b.lists[tag], b.order, b.rows = now, append(b.order, tag), b.rows+rowsIn(now)
	for len(b.order) > 1 && b.rows > maxBaseRows {
		b.rows -= rowsIn(b.lists[b.order[0]])
		delete(b.lists, b.order[0])
		b.order = b.order[1:]
	}
	return base, then
}

// rowsIn counts digests; an answer without rows takes room, too.
func rowsIn(lists map[string][]uint64) int {
	n := 16
	for _, l := range lists {
		n += len(l)
	}
	return n
}

// spans returns rows, with [from, to] for those that are in the list of then.
func spans(rows []json.RawMessage, now, then []uint64) (out []json.RawMessage) {
	at := make(map[uint64]int, len(then))
	for i, digest := range then {
		at[digest] = i
	}
	for i := 0; i < len(rows); {
		from, known := at[now[i]]
		if !known {
			out = append(out, rows[i])
			i++
			continue
		}
		to := from
		for i++; i < len(rows) && to+1 < len(then) && now[i] == then[to+1]; i++ {
			to++
		}
		out = append(out, json.RawMessage("["+strconv.Itoa(from)+","+strconv.Itoa(to)+"]"))
	}
	return out
}
