package peers

import (
	"context"

	"github.com/redis/rueidis"
)

// Rueidis scans and asks for the details of each page in one DoMulti.
func Rueidis(ctx context.Context, l Load) (Tally, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{l.Addr}, ForceSingleClient: true, DisableCache: true, AlwaysPipelining: true,
	})
	if err != nil {
		return Tally{}, err
	}
	defer client.Close()
	var t Tally
	var details rueidis.Commands
	for cursor := uint64(0); ; {
		page, err := client.Do(ctx, client.B().Scan().Cursor(cursor).Count(int64(l.Count)).Build()).AsScanEntry()
		if err != nil {
			return t, err
		}
		details = details[:0]
		for _, key := range page.Elements {
			details = appendDetails(details, client.B(), l, key)
		}
		t.Keys += int64(len(page.Elements))
		if err := t.readDetails(client.DoMulti(ctx, details...), l); err != nil {
			return t, err
		}
		if cursor = page.Cursor; cursor == 0 {
			return t, nil
		}
	}
}

func appendDetails(to rueidis.Commands, b rueidis.Builder, l Load, key string) rueidis.Commands {
	to = append(to, b.Type().Key(key).Build(), b.Pttl().Key(key).Build())
	switch usage := b.MemoryUsage().Key(key); {
	case !l.Memory:
		return to
	case l.Samples < 0:
		return append(to, usage.Build())
	default:
		return append(to, usage.Samples(int64(l.Samples)).Build())
	}
}

func (t *Tally) readDetails(replies []rueidis.RedisResult, l Load) error {
	for i, reply := range replies {
		if err := reply.Error(); err != nil {
			return err
		}
		if l.Memory && i%3 == 2 {
			bytes, err := reply.AsInt64()
			if err != nil {
				return err
			}
			t.Bytes += bytes
		}
	}
	return nil
}
