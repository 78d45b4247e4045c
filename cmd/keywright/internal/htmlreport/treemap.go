package htmlreport

import (
	"cmp"
	"fmt"
	"slices"
)

// tile represents one rectangle of a treemap.
type tile struct {
	Name, Kind, Note string
	X, Y, W, H       string
	Mark             string // tells its kind to those that see no colours
	Anchor           string // of its row in a table
	Labelled, Tall   bool   // there is room for its name, and for what it has
	size             float64
}

// The picture: its size in units of SVG, and how many tiles it has at most. One more
// tile is all that is left.
const (
	mapWidth  = 960.0
	mapHeight = 360.0
	maxTiles  = 150
)

// treemap divides the picture among tiles by their sizes. Those without a size are not in
// it, and the smallest become one where there are too many.
func treemap(all []tile, what func(float64) string) []tile {
	all = slices.DeleteFunc(slices.Clone(all), func(t tile) bool { return t.size <= 0 })
	slices.SortStableFunc(all, func(a, b tile) int { return cmp.Compare(b.size, a.size) })
	if len(all) > maxTiles {
		rest := tile{Name: fmt.Sprintf("%d more", len(all)-maxTiles), Kind: "rest"}
		for _, t := range all[maxTiles:] {
			rest.size += t.size
		}
		rest.Note = what(rest.size)
		all = append(all[:maxTiles:maxTiles], rest)
	}
	total := 0.0
	for _, t := range all {
		total += t.size
	}
	for i := range all {
		all[i].size *= mapWidth * mapHeight / total // an area from here on
	}
	divide(all, 0, 0, mapWidth, mapHeight)
	return all
}

// divide lays tiles out in rows along the shorter side, as nearly square as it can
// (Bruls, Huizing, van Wijk: Squarified Treemaps, 2000).
func divide(tiles []tile, x, y, w, h float64) {
	for len(tiles) > 0 {
		short := min(w, h)
		n := 1
		for n < len(tiles) && worst(tiles[:n+1], short) <= worst(tiles[:n], short) {
			n++
		}
		area := sum(tiles[:n])
		deep, at := area/short, 0.0
		for i := range tiles[:n] {
			long := tiles[i].size / deep
			if w >= h {
				tiles[i].place(x, y+at, deep, long)
			} else {
				tiles[i].place(x+at, y, long, deep)
			}
			at += long
		}
		if w >= h {
			x, w = x+deep, max(w-deep, 1e-6)
		} else {
			y, h = y+deep, max(h-deep, 1e-6)
		}
		tiles = tiles[n:]
	}
}

func (t *tile) place(x, y, w, h float64) {
	t.X, t.Y, t.W, t.H = units(x), units(y), units(w), units(h)
	t.Labelled, t.Tall = w >= 48 && h >= 20, w >= 90 && h >= 38
	t.Mark = map[string]string{"violated": "! ", "undeclared": "? "}[t.Kind]
}

func units(f float64) string { return fmt.Sprintf("%.1f", f) }

func sum(tiles []tile) (area float64) {
	for _, t := range tiles {
		area += t.size
	}
	return area
}

// worst returns how far the least square of a row's tiles is from a square.
func worst(row []tile, short float64) float64 {
	area := sum(row)
	first, last := row[0].size, row[len(row)-1].size
	return max(short*short*first/(area*area), area*area/(short*short*last))
}
