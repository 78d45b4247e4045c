package serve_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
)

// TestAnswersAreCompressed: a large answer is, for those that take it; a small one is not, and none that has a secret.
func TestAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const overview = "/api/v1/t/main/overview"
	for _, c := range []struct {
		path, accept, encoding string
	}{
		{overview, "gzip", "gzip"}, {overview, "br, gzip;q=0.5", "gzip"}, {"/metrics", "deflate, gzip", "gzip"},
		{overview, "", ""}, {overview, "gzip;q=0", ""}, {overview, "gzip; q=0.000", ""}, {overview, "br", ""},
		{"/api/v1/me", "gzip", ""}, {"/healthz", "gzip", ""},
	} {
		answer := r.get(200, c.path, "Accept-Encoding", c.accept)
		if got := answer.Header.Get("Content-Encoding"); got != c.encoding || answer.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s for %q is sent as %q, %v", c.path, c.accept, got, answer.Header)
		}
	}
	packed := r.get(200, overview, "Accept-Encoding", "gzip")
	plain, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	var o document.Overview
	if err != nil || json.Unmarshal(text, &o) != nil || len(o.Entries) == 0 {
		t.Errorf("%v: %s", err, text)
	}
}
