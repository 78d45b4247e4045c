package githubbroker

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Issue represents an issue, or a pull request, which GitHub's API lists among the issues. It has
// what the broker decides by; Raw is all of it, as GitHub sent it.
type Issue struct {
	Number      int64
	Title       string
	Author      string
	Labels      []string
	PullRequest bool
	Updated     time.Time
	Raw         json.RawMessage
}

// needsReview is the label of issues that wait for a review.
const needsReview = "needs-review"

// Kind returns what is to be done about an issue.
func (i Issue) Kind() Kind {
	if slices.Contains(i.Labels, needsReview) {
		return ReviewTask
	}
	return Development
}

// label is one of an issue: an object with a name, in some answers the name alone.
type label string

func (l *label) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, (*string)(l))
	}
	var object struct{ Name string }
	err := json.Unmarshal(text, &object)
	*l = label(object.Name)
	return err
}

type user struct {
	Login string `json:"login"`
}

func parseIssue(raw json.RawMessage) (Issue, error) {
	var v struct {
		Number      int64            `json:"number"`
		Title       string           `json:"title"`
		User        *user            `json:"user"` // null of an account that was deleted
		Labels      []label          `json:"labels"`
		PullRequest *json.RawMessage `json:"pull_request"`
		Updated     time.Time        `json:"updated_at"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return Issue{}, fmt.Errorf("an issue cannot be read: %w", err)
	}
	if v.Number < 1 {
		return Issue{}, errors.New("an issue of GitHub has no number")
	}
	i := Issue{Number: v.Number, Title: v.Title, PullRequest: v.PullRequest != nil, Updated: v.Updated, Raw: raw}
	if v.User != nil {
		i.Author = v.User.Login
	}
	for _, l := range v.Labels {
		i.Labels = append(i.Labels, string(l))
	}
	return i, nil
}

// Comment represents a review comment: on a line of a pull request.
type Comment struct {
	ID     int64  `json:"id"` // grows: a later comment has a greater one
	Author string `json:"author"`
	Path   string `json:"path"`
	Line   int    `json:"line,omitempty"` // 0: of a line that is no longer there
	Body   string `json:"body"`
	URL    string `json:"url"`
}

func parseComment(raw json.RawMessage) (Comment, error) {
	var v struct {
		ID   int64  `json:"id"`
		User *user  `json:"user"`
		Path string `json:"path"`
		Line *int   `json:"line"`
		Body string `json:"body"`
		URL  string `json:"html_url"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return Comment{}, fmt.Errorf("a review comment cannot be read: %w", err)
	}
	if v.ID < 1 {
		return Comment{}, errors.New("a review comment of GitHub has no id")
	}
	c := Comment{ID: v.ID, Path: v.Path, Body: v.Body, URL: v.URL}
	if v.User != nil {
		c.Author = v.User.Login
	}
	if v.Line != nil {
		c.Line = *v.Line
	}
	return c, nil
}
