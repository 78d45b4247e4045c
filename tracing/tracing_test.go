package tracing_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/tracing"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestHook(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c, err := keywright.Open(t.Context(), s.URL(),
		keywright.Options{Hooks: []keywright.Hook{tracing.Hook(trace.NewTracerProvider(trace.WithSpanProcessor(recorder)))}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	codec := value.Text(0)
	e := keywright.Entry{Name: "note",
		TTL: keywright.TTL{Policy: keywright.Expires, Default: time.Minute, Min: time.Minute, Max: time.Minute}}
	note := typed.NewString(keywright.Binding{Client: c, Entry: &e, Key: "note:secret"}, &codec)
	if err := note.Set("secret").Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Do("DEL", "note:secret")
	s.Do("SADD", "note:secret", "secret")
	_, _ = note.Get().Do(t.Context())
	var b keywright.Batch
	keywright.Queue(&b, note.Peek())
	keywright.Queue(&b, note.Delete())
	_ = b.Run(t.Context())
	var got []string
	for _, span := range recorder.Ended() {
		got = append(got, fmt.Sprintf("%s %s %v", span.Name(), span.Status().Description, span.Attributes()))
	}
	text := strings.Join(got, "\n")
	if len(got) != 3 || !strings.HasPrefix(got[0], "set note ") || !strings.HasPrefix(got[1], "get note refused") ||
		!strings.HasPrefix(got[2], "batch refused") || strings.Contains(text, "secret") {
		t.Errorf("%s", text)
	}
}
