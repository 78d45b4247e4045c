package githubbroker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// HTTP is GitHub, or what stands in for it: GET BASE/issues is a list of open
// issues, POST BASE/done tells that work was done.
type HTTP struct {
	Base   string
	Client *http.Client
}

// OpenIssues implements GitHub.
func (h HTTP) OpenIssues(ctx context.Context) (issues []Issue, err error) {
	err = h.call(ctx, http.MethodGet, "/issues", nil, &issues)
	return issues, err
}

// Report is what an agent tells of its work. Fence is that of its assignment:
// one that is smaller than a fence seen before must be refused.
type Report struct {
	Agent string `json:"agent"`
	Kind  Kind   `json:"kind"`
	ID    int64  `json:"id"`
	Fence int64  `json:"fence"`
}

// Done tells that work was done.
func (h HTTP) Done(ctx context.Context, r Report) error {
	return h.call(ctx, http.MethodPost, "/done", r, nil)
}

func (h HTTP) call(ctx context.Context, method, path string, send, receive any) error {
	body, err := json.Marshal(send)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, h.Base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := h.Client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, response.Status)
	}
	if receive == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(receive)
}
