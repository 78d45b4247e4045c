// Package tracing makes a span of each operation of a keywright client with the
// OpenTelemetry API. It is a module of its own: who does not use it does not get
// OpenTelemetry.
//
//	client, err := keywright.Open(ctx, url, keywright.Options{Hooks: []keywright.Hook{tracing.Hook(otel.GetTracerProvider())}})
//
// Spans have the names of the declaration and never a key or a value. The
// attributes are those of the semantic conventions for databases
// (https://opentelemetry.io/docs/specs/semconv/database/redis/), with the entry
// as the collection.
//
// API: may change until 1.0.
package tracing

import (
	"context"

	"github.com/keywright/keywright"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

const name = "github.com/keywright/keywright/tracing"

// Hook makes spans by the provider's tracer. An operation that found nothing is
// no error; one that failed has the class of its error as its status.
func Hook(p trace.TracerProvider) keywright.Hook {
	tracer := p.Tracer(name)
	return keywright.Hook{
		Start: func(ctx context.Context, call keywright.Call) context.Context {
			attributes := []attribute.KeyValue{attribute.String("db.system.name", "redis"),
				attribute.String("db.operation.name", call.Op)}
			if call.Entry != "" {
				attributes = append(attributes, attribute.String("db.collection.name", call.Entry))
			}
			if call.Size > 1 {
				attributes = append(attributes, attribute.Int("db.operation.batch.size", call.Size))
			}
			ctx, _ = tracer.Start(ctx, title(call), trace.WithSpanKind(trace.SpanKindClient),
				trace.WithAttributes(attributes...))
			return ctx
		},
		Done: func(ctx context.Context, _ keywright.Call, o keywright.Outcome) {
			span := trace.SpanFromContext(ctx)
			if o.Attempts > 1 {
				span.SetAttributes(attribute.Int("keywright.attempts", o.Attempts))
			}
			if o.Err != nil && o.Err != keywright.ErrNotFound {
				kind := o.Kind()
				span.SetAttributes(attribute.String("error.type", kind))
				span.SetStatus(codes.Error, kind)
			}
			span.End()
		},
	}
}

func title(call keywright.Call) string {
	if call.Entry == "" {
		return call.Op
	}
	return call.Op + " " + call.Entry
}
