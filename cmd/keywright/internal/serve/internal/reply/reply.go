// Package reply sends what the API answers: documents as JSON, as a table, compressed, or as what is newer in them than
// in the answer that a client has; and problems.
//
// It knows no route and no document.
package reply

import (
	"encoding/json"
	"net/http"

	"github.com/keywright/keywright/keyspace/finding"
)

// Problem represents an error.
type Problem struct {
	Error ProblemText `json:"error"`
}

// ProblemText says what went wrong and what to do.
type ProblemText struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Failure represents an error with a status.
type Failure struct {
	status int
	ProblemText
}

func (f *Failure) Error() string { return f.Message }

// Fail returns a failure with the code, the text and the hint of its problem.
func Fail(status int, code, message, hint string) *Failure {
	return &Failure{status, ProblemText{code, message, hint}}
}

// Away returns the failure of a request that could not ask the server.
func Away(err error) *Failure {
	return Fail(http.StatusServiceUnavailable, "server-away", finding.Printable(err.Error()), "look at the server")
}

// Refuse answers with a problem.
func Refuse(w http.ResponseWriter, f *Failure) {
	if f.status == http.StatusTooManyRequests || f.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="keywright"`)
	}
	Respond(w, f.status, Problem{f.ProblemText})
}

// Respond writes a document. Names of keys in it cannot steer what shows it.
func Respond(w http.ResponseWriter, status int, document any) {
	status, text := encoded(status, document)
	sendJSON(w, status, text)
}

// encoded returns a document as it is sent; one that is no JSON is an answer of its own.
func encoded(status int, document any) (int, []byte) {
	text, err := json.Marshal(document)
	if err != nil {
		status, text = http.StatusInternalServerError,
			[]byte(`{"error":{"code":"bug","message":"this is a bug in keywright: the answer is no JSON"}}`)
	}
	return status, append(finding.EscapeJSON(text), '\n')
}

func sendJSON(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// Page represents a part of a list.
type Page struct {
	Total int64  `json:"total"`            // of all items, also of those that are not in the answer
	Cut   bool   `json:"cut"`              // there are more items
	Next  string `json:"cursor,omitempty"` // the cursor of the following part
}
