package content

import "math"

// scores describes what is known of the scores of sorted sets.
type scores struct {
	n        int
	min, max float64
	fraction bool
}

func (s *scores) add(v float64) {
	if math.IsNaN(v) {
		return
	}
	if s.n == 0 || v < s.min {
		s.min = v
	}
	if s.n == 0 || v > s.max {
		s.max = v
	}
	s.n++
	s.fraction = s.fraction || v != math.Trunc(v)
}

func (s *scores) merge(o *scores) {
	if o.n == 0 {
		return
	}
	n, fraction := s.n+o.n, s.fraction || o.fraction
	s.add(o.min)
	s.add(o.max)
	s.n, s.fraction = n, fraction
}

// Unix seconds and milliseconds of the years 2014 to 2096: what is between them
// is taken for a time.
const (
	early = 1.4e9
	late  = 4e9
)

// Type returns the type of the scores, as a declaration writes it.
func (s *scores) Type() string {
	switch {
	case s.n == 0:
		return ""
	case s.min >= early && s.max <= late && !s.fraction:
		return "unix_s"
	case s.min >= early*1000 && s.max <= late*1000 && !s.fraction:
		return "unix_ms"
	case s.fraction || math.IsInf(s.min, 0) || math.IsInf(s.max, 0) || math.Abs(s.max) >= 1<<53 ||
		math.Abs(s.min) >= 1<<53:
		return "float"
	}
	return "int"
}

// Scores of a geo set are 52 bits of a geohash. Few are below 2^44 (places at the
// edge of the map); times in milliseconds all are, times in microseconds are of a
// few years.
const (
	leastGeo     = 1 << 44
	mostGeo      = 1 << 52
	microsOf2015 = 1.42e15
	microsOf2035 = 2.05e15
)

// Geo reports whether the scores may be those of GEOADD.
func (s *scores) Geo() bool {
	return s.n > 0 && !s.fraction && s.min >= leastGeo && s.max < mostGeo
}

// Micros reports whether the scores may as well be times in microseconds.
func (s *scores) Micros() bool { return s.min >= microsOf2015 && s.max <= microsOf2035 }
