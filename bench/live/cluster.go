package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// slots lists those of a cluster.
const slots = 16384

// StartCluster runs a cluster of several primaries, and waits until all of them say
// that it works.
func StartCluster(ctx context.Context, binary string, primaries int) (nodes []*Server, err error) {
	stop := func(err error) ([]*Server, error) {
		for _, s := range nodes {
			s.Stop()
		}
		return nil, fmt.Errorf("start a cluster of %s: %w", binary, err)
	}
	for i := range primaries {
		bus, err := freePort()
		if err != nil {
			return stop(err)
		}
		s, err := Start(ctx, binary, "--cluster-enabled", "yes", "--cluster-port", bus)
		if err != nil {
			return stop(err)
		}
		nodes = append(nodes, s)
		first, last := slots*i/primaries, slots*(i+1)/primaries-1
		if err = s.Do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last)); err != nil {
			return stop(err)
		}
		if host, port, _ := net.SplitHostPort(s.Addr); i > 0 {
			_, firstPort, _ := net.SplitHostPort(nodes[0].Addr)
			if err = nodes[0].Do("CLUSTER", "MEET", host, port, bus); err != nil {
				return stop(fmt.Errorf("%s meets %s: %w", firstPort, port, err))
			}
		}
	}
	for _, s := range nodes {
		if err := s.joined(ctx); err != nil {
			return stop(err)
		}
	}
	return nodes, nil
}

// joined waits until a node says that the cluster works: it knows all slots.
func (s *Server) joined(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var last error
	err := Until(ctx, 20*time.Millisecond, func() (bool, error) {
		// Of a key in any slot it says where it is, or has it; before that CLUSTERDOWN.
		last = s.Do("GET", "x")
		return last == nil || strings.Contains(last.Error(), "MOVED"), nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}
