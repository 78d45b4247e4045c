package scrape

import (
	"bytes"
	"net/http"

	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/keyspace/finding"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// maxSeries bounds what one scrape gets; how many are left out is a series of its own.
const maxSeries = 20_000

// exposition represents what Prometheus reads, family by family.
type exposition struct {
	families map[string]*dto.MetricFamily
	order    []string
	keyspace string // of what is added now; "": of none
	series   int
	left     int
}

// count adds one series of a counter.
func (x *exposition) count(name, help string, value float64, labels ...string) {
	if f := x.family(name, help, dto.MetricType_COUNTER); f != nil {
		f.Metric = append(f.Metric, &dto.Metric{Label: x.labels(labels), Counter: &dto.Counter{Value: &value}})
	}
}

// add adds one series of a gauge: labels are names and values by turns.
func (x *exposition) add(name, help string, value float64, labels ...string) {
	if f := x.family(name, help, dto.MetricType_GAUGE); f != nil {
		f.Metric = append(f.Metric, &dto.Metric{Label: x.labels(labels), Gauge: &dto.Gauge{Value: &value}})
	}
}

// family returns the family of one more series; nil: there are as many as there may be.
func (x *exposition) family(name, help string, kind dto.MetricType) *dto.MetricFamily {
	if x.series >= maxSeries {
		x.left++
		return nil
	}
	x.series++
	f := x.families[name]
	if f == nil {
		f = &dto.MetricFamily{Name: &name, Help: &help, Type: &kind}
		x.families[name] = f
		x.order = append(x.order, name)
	}
	return f
}

func (x *exposition) labels(pairs []string) []*dto.LabelPair {
	out := make([]*dto.LabelPair, 0, len(pairs)/2+1)
	if x.keyspace != "" {
		out = append(out, &dto.LabelPair{Name: new("keyspace"), Value: new(x.keyspace)})
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, &dto.LabelPair{Name: new(pairs[i]), Value: new(pairs[i+1])})
	}
	return out
}

// write encodes all families in the form that the client asks for: text, OpenMetrics or protocol buffers.
func (x *exposition) write(w http.ResponseWriter, r *http.Request) {
	form := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
	var text bytes.Buffer // written at once: how long an answer is decides whether it is compressed
	to := expfmt.NewEncoder(&text, form)
	for _, name := range x.order {
		if err := to.Encode(x.families[name]); err != nil {
			reply.Refuse(w, reply.Fail(http.StatusInternalServerError, "failed", finding.Printable(err.Error()), ""))
			return
		}
	}
	if end, ok := to.(expfmt.Closer); ok {
		_ = end.Close() // to memory
	}
	w.Header().Set("Content-Type", string(form))
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(text.Bytes())
}
