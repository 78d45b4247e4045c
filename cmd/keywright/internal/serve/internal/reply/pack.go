package reply

import (
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

// leastPacked is the size from which on an answer is compressed.
const leastPacked = 1 << 10

var packers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is one that there is
	return w
}}

// packed compresses an answer, where its first part is large enough and it is whole.
type packed struct {
	http.ResponseWriter
	status int
	gzip   *gzip.Writer // nil: it is sent as it is
	begun  bool
}

// Pack answers a request by a handler, compressed where the client takes that, but for answers that are plain.
func Pack(h http.Handler, w http.ResponseWriter, r *http.Request, plain bool) {
	w.Header().Add("Vary", "Accept-Encoding")
	if r.Method == http.MethodHead || plain || !takesGzip(r.Header.Get("Accept-Encoding")) {
		h.ServeHTTP(w, r)
		return
	}
	p := &packed{ResponseWriter: w, status: http.StatusOK}
	defer p.close()
	h.ServeHTTP(p, r)
}

// takesGzip reports whether a client takes gzip; with q=0 it says that it does not.
func takesGzip(accept string) bool {
	for one := range strings.SplitSeq(accept, ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(one), ";")
		if strings.TrimSpace(name) == "gzip" {
			return strings.Trim(strings.TrimSpace(quality), "q=0.") != "" || strings.TrimSpace(quality) == ""
		}
	}
	return false
}

// WriteHeader keeps the status until it is known how the answer is sent.
func (p *packed) WriteHeader(status int) { p.status = status }

func (p *packed) Write(text []byte) (int, error) {
	p.begin(len(text))
	if p.gzip != nil {
		return p.gzip.Write(text)
	}
	return p.ResponseWriter.Write(text)
}

// begin sends the header, once.
func (p *packed) begin(size int) {
	if p.begun {
		return
	}
	p.begun = true
	whole := p.status == http.StatusOK || p.status == http.StatusIMUsed
	if h := p.Header(); size >= leastPacked && whole && h.Get("Content-Encoding") == "" {
		h.Set("Content-Encoding", "gzip")
		h.Del("Content-Length")
		p.gzip = packers.Get().(*gzip.Writer)
		p.gzip.Reset(p.ResponseWriter)
	}
	p.ResponseWriter.WriteHeader(p.status)
}

func (p *packed) close() {
	p.begin(0)
	if p.gzip != nil {
		_ = p.gzip.Close()
		packers.Put(p.gzip)
	}
}
