// Package typo finds what someone probably meant to write: the word of a list
// that is the least mistyped. It is for proposals in messages; nothing may be
// decided by it.
package typo

import "strings"

// Nearest returns the candidate within a third of the word's bytes (at least one,
// never all of them), the first of the nearest; "" if none comes near. Case
// makes no difference.
func Nearest(word string, candidates []string) string {
	best, limit := "", min(max(1, len(word)/3), len(word)-1)
	for _, c := range candidates {
		if len(c)-len(word) > limit || len(word)-len(c) > limit {
			continue
		}
		if d := Distance(strings.ToLower(word), strings.ToLower(c)); d <= limit {
			best, limit = c, d-1
		}
	}
	return best
}

// Distance returns how many bytes must be added, removed, changed or swapped with
// their neighbour to make b of a (Damerau's distance, of adjacent swaps). It
// takes time in the product of the lengths.
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
