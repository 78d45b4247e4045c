package paging

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

var errNoIndex = errors.New("a query without an index: say Of which one")

// Check refuses a query that no page answers.
func (q *Query) Check() error {
	all := append([]IndexKey{q.Of}, q.And...)
	for _, of := range all {
		if of.Err != nil {
			return of.Err
		}
		if of.Index == nil {
			return errNoIndex
		}
	}
	if q.Of.Index.Score == "" && (q.From != "" || q.To != "" || q.Newest) {
		return fmt.Errorf("the index %s has no scores", q.Of.Index.Name)
	}
	if q.Limit < 0 || q.Limit > LargestLimit {
		return fmt.Errorf("a page of %d items; at most %d are given at once", q.Limit, LargestLimit)
	}
	if err := span(q.From, q.To); err != nil {
		return err
	}
	return place(q.After)
}

// span refuses bounds that no score is between, and what is no score: to the server NaN is an error of
// its own, and bounds in the wrong order are an empty page.
func span(from, to string) error {
	low, err := readBound("From", from, math.Inf(-1))
	if err != nil {
		return err
	}
	high, err := readBound("To", to, math.Inf(1))
	if err != nil {
		return err
	}
	if low > high {
		return fmt.Errorf("no score is between From %s and To %s; From is the lowest, with Newest too", from, to)
	}
	return nil
}

// readBound reads one of them.
func readBound(name, text string, otherwise float64) (float64, error) {
	if text == "" {
		return otherwise, nil
	}
	f, err := strconv.ParseFloat(strings.TrimPrefix(text, "("), 64)
	if err != nil || math.IsNaN(f) {
		return 0, fmt.Errorf("%s is %q, which is no score; give a number like 5, (5 for what is beyond it, or none", name,
			text)
	}
	return f, nil
}

// place refuses what is no Next of a page: a score and an id.
func place(after string) error {
	score, id, ok := strings.Cut(after, "\x00")
	if f, err := strconv.ParseFloat(score, 64); after != "" && (!ok || id == "" || err != nil || math.IsNaN(f)) {
		return errors.New("the page begins after what is no Next of a page; give what the page before had")
	}
	return nil
}

func (q *Query) order() string {
	if q.Newest {
		return "down"
	}
	return "up"
}
